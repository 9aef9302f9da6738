// Joins the two kernels of attention's gradient into one, whose blocks accumulate in a fixed order.
#pragma once

#include "backends/common/ReachingDefinitions.h"

namespace mlir::cuda {

/// Attribute with the scale of the scores, an f64. Marks both kernels of a gradient that cuDNN may
/// compute, and the kernel that replaces them. The replacement does not compute the sums of rows.
constexpr llvm::StringLiteral kGradientScaleAttr = "cuda.gradient_scale";

/// Returns true if the kernel of dQ and the later kernel of dK and dV could be one kernel, apart
/// from sums of rows.
bool canJoinGradientKernels(st::KernelOp rows, st::KernelOp columns,
                            const st::ReachingDefinitions &definitions);

/// Creates one kernel, at the second one, with the results of both; leaves the originals in place.
/// Inputs with one definition become one input.
st::KernelOp joinGradientKernels(st::KernelOp rows, st::KernelOp columns,
                                 const st::ReachingDefinitions &definitions);

} // namespace mlir::cuda
