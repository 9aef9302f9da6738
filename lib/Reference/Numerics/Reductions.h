// Reductions by a scalar computation.
//
// Each function returns false if the computation fails. `inputs` and `inits` correspond: a
// reduction of several tensors has one of each per tensor.
#ifndef ST_REFERENCE_REDUCTIONS_H
#define ST_REFERENCE_REDUCTIONS_H

#include "lib/Reference/Evaluation/ScalarComputation.h"

namespace mlir::st::ref {

/// Reduces dimensions `dims` as a balanced tree over their elements in row-major order; the initial
/// value is combined last, as the left operand.
bool reduce(ArrayRef<Tensor> inputs, ArrayRef<Tensor> inits, ArrayRef<int64_t> dims,
            const ScalarComputation &body, SmallVectorImpl<Tensor> &results);

/// The movement of a window over a tensor, dimension by dimension.
struct Window {
  Shape size, strides, baseDilations, windowDilations, padLow, padHigh;

  /// The number of positions of the window in `shape`.
  Shape places(ArrayRef<int64_t> shape) const;
};

/// Reduces every window, its elements in row-major order; padding is the
/// initial value.
bool reduceWindow(ArrayRef<Tensor> inputs, ArrayRef<Tensor> inits, const Window &window,
                  const ScalarComputation &body, SmallVectorImpl<Tensor> &results);

/// Adds each element of `source`, by `scatter`, to the element of a tensor of
/// initial values that `selects` picks from the operand's window.
bool selectAndScatter(const Tensor &operand, const Tensor &source, const Tensor &init,
                      const Window &window, const ScalarComputation &selects,
                      const ScalarComputation &scatter, Tensor &result);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_REDUCTIONS_H
