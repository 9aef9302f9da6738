// Sums of exponentials below a row's maximum, added up while the maximum is looked for.
#pragma once

#include "backends/cuda/codegen/kernels/ElementValues.h"

#include <optional>

namespace mlir::cuda {

/// Of a sum whose every term is exp(x - m), times what does not depend on the maximum m, or zero,
/// where x is at most m: the number of m among the `maxima`, which are reductions of the level
/// before, and the exponential. Below another number m' the sum is exp(m' - m) times that below m,
/// so that one pass finds both (Milakov and Gimelshein, "Online normalizer calculation for
/// softmax", 2018).
struct OnlineSum {
  size_t maximum;
  stablehlo::ExpOp exponential;
};

/// Nothing where the sum depends on one of them in another way.
std::optional<OnlineSum> findOnlineSum(const ElementValues::Sum &sum,
                                       ArrayRef<ElementValues::Sum> maxima);

/// What exponentials are taken below, of the greatest number so far: nothing is below an infinite
/// one but itself.
Number getBelow(Number greatest);

} // namespace mlir::cuda
