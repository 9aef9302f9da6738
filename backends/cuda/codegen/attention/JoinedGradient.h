// The two kernels of attention's gradient joined to one, whose blocks take turns.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::cuda {

/// Of both attention kernels of a gradient that cuDNN may compute, and of what becomes of them: the
/// scale of scores, an f64. Sums of rows are not among what it computes any more.
constexpr llvm::StringLiteral kGradientScaleAttr = "cuda.gradient_scale";

/// Whether the attention kernel of the gradient of queries, and the one behind it, of the gradients
/// of keys and values, could be one kernel but for sums of rows.
bool canJoinGradientKernels(st::KernelOp rows, st::KernelOp columns);

/// One kernel with the results of both, where the second one is, which stay as they are.
st::KernelOp joinGradientKernels(st::KernelOp rows, st::KernelOp columns);

} // namespace mlir::cuda
