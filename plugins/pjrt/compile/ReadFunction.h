// Reads a function from JAX as a module.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace st::pjrt {

/// The dialects of functions and of programs for a target. The first call also registers the
/// passes; the first call for a GPU registers those for GPUs.
const mlir::DialectRegistry &functionDialects(const std::string &target);

/// Reads text or bytecode. Null, with a diagnostic, if it is neither or invalid.
mlir::OwningOpRef<mlir::ModuleOp> readFunction(llvm::StringRef code, mlir::MLIRContext *context);

} // namespace st::pjrt
