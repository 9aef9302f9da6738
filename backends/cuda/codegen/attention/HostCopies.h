// Copies that run ahead of a kernel's threads, on the host.
#pragma once

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::cuda {

/// Replaces nvgpu.device_async_copy, and nvvm.cp.async's commit and wait, by what a thread does
/// itself. A copy may be made at any time between the op and the next wait of its thread: `late`
/// makes it at the wait, else at once, so that results of code that does not wait differ between
/// the two. Only a wait for all copies is known, and copies of 16 bytes; others are errors.
LogicalResult makeCopiesOfThreads(gpu::GPUFuncOp kernel, int64_t threads, bool late);

} // namespace mlir::cuda
