// Values of softmax rows that an update of the maximum or the sum only scales.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"

#include <optional>

namespace mlir::st {

/// For the sum of exp(x - max(x)) of a softmax, returns the index of that maximum in `maxima`.
/// Returns std::nullopt for other sums.
std::optional<size_t> findMaximum(stablehlo::ReduceOp sum, ArrayRef<stablehlo::ReduceOp> maxima);

/// Dependence of a value of tiles on a softmax: it is e = exp(x - max(x)) times a factor that
/// depends on neither maximum nor sum, optionally divided by the sum of e.
struct SoftmaxScale {
  size_t sum; ///< index among the sums
  bool isDivided;
};

/// Returns std::nullopt if the value depends on one of the sums or maxima in another way. A product
/// of a scaled value may accumulate tiles with the running maximum and without the sum. It
/// multiplies its accumulators by exp(old maximum - new maximum) when the maximum rises, and
/// divides them at the end. The result differs only by rounding (Dao, "FlashAttention-2", 2023,
/// section 3.1). As e is at most one, this overflows only where the original overflows.
std::optional<SoftmaxScale> findSoftmaxScale(Value value, ArrayRef<stablehlo::ReduceOp> sums);

} // namespace mlir::st
