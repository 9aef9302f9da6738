// Convolutions whose windows do not overlap are products.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"

namespace mlir::st {

/// The convolution as one dot_general of the reshaped input, where every element of the
/// input is read by one window: windows side by side (the stride is the kernel's size),
/// or kernels spread over the whole input (the dilation is the result's size: the
/// gradient of such a kernel). Null for any other convolution.
Value emitPatchConvolution(Emitter &emit, stablehlo::ConvolutionOp op);

} // namespace mlir::st
