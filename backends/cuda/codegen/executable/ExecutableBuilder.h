// Builds the Executable for the runner from planned programs.
#pragma once

#include "backends/cuda/codegen/lowering/Ptx.h"
#include "lib/Proto/executable.pb.h"

namespace mlir::cuda {

/// Generates the command lists of the tasks and the kernels for the chip of the GPU's description:
/// PTX and, if ptxas is found, a cubin; for "host" a shared object. Consumes the module. Fails with
/// a diagnostic.
FailureOr<::st::proto::Executable> buildExecutable(ModuleOp module);

} // namespace mlir::cuda
