// From a module of dtu programs to the Executable that a runner takes.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "lib/Proto/executable.pb.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dtu {

/// The Executable of a module as `convert-to-dtu` leaves it (backends/common/ProgramToExecutable.h
/// says what of the model it holds). Fails with a diagnostic.
FailureOr<::st::proto::Executable> buildExecutable(ModuleOp module);

} // namespace mlir::dtu
