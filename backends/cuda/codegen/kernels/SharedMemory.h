// Shared memory of blocks beyond what is static.
#pragma once

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::cuda {

/// Static shared memory that a block may have, in bytes; more of it a launch asks for.
constexpr int64_t kMostStaticShared = 48 << 10;

/// What a block may have at all, by the target of the module that an op is in; without one what
/// compute capability 8.0 has.
int64_t getSharedBytes(Operation *op);

/// Where each buffer of a kernel's shared memory begins, one behind the other; the end of all.
SmallVector<int64_t> getSharedOffsets(gpu::GPUFuncOp kernel);

/// What a launch of a kernel asks for: 0 where static memory is enough.
int64_t getDynamicSharedBytes(gpu::GPUFuncOp kernel);

} // namespace mlir::cuda
