// A function as JAX gives it, as a module.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace st::pjrt {

/// The dialects that functions and programs are in. The first call registers the passes as well.
const mlir::DialectRegistry &functionDialects();

/// Reads text or bytecode. Null, with a diagnostic, where it is neither, or is not valid.
mlir::OwningOpRef<mlir::ModuleOp> readFunction(llvm::StringRef code, mlir::MLIRContext *context);

} // namespace st::pjrt
