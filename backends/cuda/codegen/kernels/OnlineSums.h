// Sums of exponentials relative to a row's maximum, accumulated while the maximum is computed.
#pragma once

#include "backends/cuda/codegen/kernels/ElementValues.h"

#include <optional>

namespace mlir::cuda {

/// Describes a sum whose terms are zero or exp(x - m) times a factor independent of m, where m is a
/// maximum of the previous level and x is at most m. `maximum` is the index of m in `maxima`.
/// Relative to another number m', the sum is exp(m - m') times the sum relative to m, so that one
/// pass computes both (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018).
struct OnlineSum {
  size_t maximum;
  stablehlo::ExpOp exponential;
};

/// Returns std::nullopt if the sum depends on a maximum in another way.
std::optional<OnlineSum> findOnlineSum(const ElementValues::Sum &sum,
                                       ArrayRef<ElementValues::Sum> maxima);

/// Returns the number to subtract from exponents for a running maximum: the maximum, or 0 if it is
/// minus infinity.
Number getBelow(Number greatest);

} // namespace mlir::cuda
