// Values of a softmax's rows that a later maximum or sum merely scales.
#pragma once

#include "backends/cuda/codegen/kernels/ElementValues.h"

namespace mlir::cuda {

/// Of a sum of exp(x - the maximum of x) along rows, as softmax has it, the number of that maximum
/// among others. Nothing where it is no such sum.
std::optional<size_t> findMaximum(const ElementValues::Sum &sum,
                                  ArrayRef<ElementValues::Sum> maxima);

/// How a value of tiles depends on a softmax: it is e = exp(x - the maximum of x) times what
/// depends on neither maximum nor sum, divided by the sum of e or not.
struct SoftmaxScale {
  size_t sum; ///< its number among the sums
  bool isDivided;
};

/// Nothing where the value depends on one of the sums or maxima in another way. A product that
/// reads a value with a scale may add up tiles with the maximum so far and without the sum:
/// multiplying with exp(old maximum - new one) when that rises, and dividing at last, gives the
/// same but for rounding (Dao, "FlashAttention-2", 2023, section 3.1). As e is at most one, nothing
/// of it overflows that would not with the sum.
std::optional<SoftmaxScale> findSoftmaxScale(Value value, ArrayRef<ElementValues::Sum> sums);

} // namespace mlir::cuda
