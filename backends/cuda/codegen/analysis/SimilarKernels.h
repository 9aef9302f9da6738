// Search for kernels that are equal or nearly so, and for neighbours in a block.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "llvm/ADT/Hashing.h"

namespace mlir::cuda {

/// Hashes a kernel's kind, its types, and the names and result types of its ops. Kernels that
/// differ only in attributes or constants have equal hashes.
llvm::hash_code hashKernel(st::KernelOp kernel);

/// Returns the last kernel of kind "attention" before `op` in its block; null if there is none.
st::KernelOp findAttentionBefore(Operation *op);

} // namespace mlir::cuda
