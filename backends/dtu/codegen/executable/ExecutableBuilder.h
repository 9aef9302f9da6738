// Builds the Executable for the runner from a module of dtu programs.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "lib/Proto/executable.pb.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dtu {

/// The Executable of a module after `convert-to-dtu` (backends/common/ProgramToExecutable.h lists
/// what it holds of the model). Fails with a diagnostic.
FailureOr<::st::proto::Executable> buildExecutable(ModuleOp module);

} // namespace mlir::dtu
