// From planned programs to the Executable that a runner takes.
#pragma once

#include "backends/cuda/codegen/lowering/Ptx.h"
#include "lib/Proto/executable.pb.h"

namespace mlir::cuda {

/// Generates the kernels of planned programs for the chip of their GPU's description (PTX, beside
/// it a cubin where ptxas is found; for "host" a shared object) and the command lists of their
/// tasks. The module is consumed. Fails with a diagnostic.
FailureOr<::st::proto::Executable> buildExecutable(ModuleOp module);

} // namespace mlir::cuda
