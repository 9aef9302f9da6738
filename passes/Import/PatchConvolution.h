// Convolutions with non-overlapping windows, as products.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"

namespace mlir::st {

/// The convolution as one dot_general of the reshaped input, if one window reads each element of
/// the input: adjacent windows (the stride equals the kernel's size), or kernels spread over the
/// full input (the dilation equals the result's size: the gradient of such a convolution). Null for
/// any other convolution.
Value emitPatchConvolution(Emitter &emit, stablehlo::ConvolutionOp op);

} // namespace mlir::st
