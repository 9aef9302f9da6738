// Asynchronous copies of a kernel's threads, executed on the host.
#pragma once

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::cuda {

/// Replaces nvgpu.device_async_copy, and nvvm.cp.async's commit and wait, by synchronous code of
/// each thread. Hardware may copy at any time between the op and the next wait of its thread.
/// With `late` the code copies at the wait, otherwise at the op, so a missing wait makes the two
/// results differ. Supports only copies of 16 bytes and waits for all copies; others are errors.
LogicalResult makeCopiesOfThreads(gpu::GPUFuncOp kernel, int64_t threads, bool late);

} // namespace mlir::cuda
