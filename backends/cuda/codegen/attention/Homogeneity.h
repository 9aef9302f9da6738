// Values of a softmax's rows that a later maximum or sum only scales.
#pragma once

#include "backends/cuda/codegen/kernels/ElementValues.h"

namespace mlir::cuda {

/// For the sum of exp(x - max(x)) of a softmax, returns the index of that maximum in `maxima`.
/// Returns nothing for other sums.
std::optional<size_t> findMaximum(const ElementValues::Sum &sum,
                                  ArrayRef<ElementValues::Sum> maxima);

/// Dependence of a value of tiles on a softmax: it is e = exp(x - max(x)) times a factor that
/// depends on neither maximum nor sum, optionally divided by the sum of e.
struct SoftmaxScale {
  size_t sum; ///< index among the sums
  bool isDivided;
};

/// Returns nothing if the value depends on one of the sums or maxima in another way. A product that
/// reads a scaled value may accumulate tiles with the running maximum and without the sum. When the
/// maximum rises, it multiplies by exp(old maximum - new one), and it divides at the end. The
/// result differs only by rounding (Dao, "FlashAttention-2", 2023, section 3.1). As e is at most
/// one, this overflows only where the original would.
std::optional<SoftmaxScale> findSoftmaxScale(Value value, ArrayRef<ElementValues::Sum> sums);

} // namespace mlir::cuda
