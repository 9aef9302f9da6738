// One step of a program whose kernels were generated for a GPU, on the host.
#ifndef ST_TOOLS_ST_CUDA_HOST_RUN_HOSTRUN_H
#define ST_TOOLS_ST_CUDA_HOST_RUN_HOSTRUN_H

#include "lib/Reference/TensorFiles.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

struct HostRunOptions {
  bool descending = false;       ///< the last thread and block first
  double approximationError = 0; ///< relative error of GPU approximations
  bool expanded = false;         ///< semaphores and dynamic shared memory as a GPU has them
  int steps = 1;                 ///< later steps skip the launches marked `left_by_update`
};

/// Returns true if kernels of planned programs have semaphores, or need dynamic shared memory:
/// `expanded` then runs other code. Fails with a diagnostic.
FailureOr<bool> hasExpandedCode(ModuleOp module);

/// Generates kernels, lowers them to the host and runs steps with `inputs` as inputs and states.
/// The module, planned programs, is consumed; it must have one program on one device with one
/// micro-batch. Results are the outputs, and the states that a task writes. Fails with a
/// diagnostic.
FailureOr<ref::NamedTensors> runOnHost(ModuleOp module, const ref::NamedTensors &inputs,
                                       const HostRunOptions &options);

} // namespace mlir::st

#endif // ST_TOOLS_ST_CUDA_HOST_RUN_HOSTRUN_H
