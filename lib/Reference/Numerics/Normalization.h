// Batch normalization, computed in f64 and rounded once.
#ifndef ST_REFERENCE_NORMALIZATION_H
#define ST_REFERENCE_NORMALIZATION_H

#include "lib/Reference/Tensor.h"

namespace mlir::st::ref {

/// The dimension that is not reduced, and the epsilon that is added to variances.
struct BatchNorm {
  int64_t feature;
  double epsilon;
};

/// `scale`, `offset`, `mean` and `variance` have one element per feature.
Tensor normalize(const BatchNorm &norm, const Tensor &operand, const Tensor &scale,
                 const Tensor &offset, const Tensor &mean, const Tensor &variance);

/// The mean and the variance, which divides by the number of elements.
void batchStatistics(const BatchNorm &norm, const Tensor &operand, Tensor &mean, Tensor &variance);

/// The gradients of operand, scale and offset.
void normalizeGradients(const BatchNorm &norm, const Tensor &operand, const Tensor &scale,
                        const Tensor &mean, const Tensor &variance, const Tensor &gradient,
                        SmallVectorImpl<Tensor> &results);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_NORMALIZATION_H
