// Dynamic shared memory of blocks.
#pragma once

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::cuda {

/// Maximum static shared memory of a block in bytes; a launch requests more.
constexpr int64_t kMaxStaticShared = 48 << 10;

/// Maximum shared memory of a block on the target of the module around an op, by default that of
/// compute capability 8.0.
int64_t getSharedBytes(Operation *op);

/// Offset of each buffer of a kernel's shared memory, one after the other; last the total size.
SmallVector<int64_t> getSharedOffsets(gpu::GPUFuncOp kernel);

/// Dynamic shared memory that a kernel's launch requests: 0 if static memory suffices.
int64_t getDynamicSharedBytes(gpu::GPUFuncOp kernel);

} // namespace mlir::cuda
