#include "lib/Reference/Numerics/Normalization.h"

#include "lib/Reference/Numerics/DataMovement.h"
#include "lib/Reference/Numerics/Reductions.h"

namespace mlir::st::ref {
namespace {

Tensor wide(const Tensor &tensor) { return convert(tensor, ElementType::F64); }
Tensor add(const Tensor &a, const Tensor &b) { return binary(BinaryKind::Add, a, b); }
Tensor sub(const Tensor &a, const Tensor &b) { return binary(BinaryKind::Sub, a, b); }
Tensor mul(const Tensor &a, const Tensor &b) { return binary(BinaryKind::Mul, a, b); }
Tensor div(const Tensor &a, const Tensor &b) { return binary(BinaryKind::Div, a, b); }
Tensor number(double value) { return Tensor::scalar(ElementType::F64, value); }

// Between tensors like the operand and those with one element a feature.
class Features {
public:
  Features(const BatchNorm &norm, const Tensor &operand)
      : norm(norm), shape(operand.getShape()),
        count(number(static_cast<double>(operand.getNumElements()) /
                     static_cast<double>(std::max<int64_t>(shape[norm.feature], 1)))) {}

  Tensor spread(const Tensor &perFeature) const {
    return broadcastInDim(perFeature, shape, {norm.feature});
  }

  Tensor sum(const Tensor &tensor) const {
    Shape dims;
    for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim)
      if (dim != norm.feature)
        dims.push_back(dim);
    SmallVector<Tensor, 1> results;
    reduce(tensor, number(0), dims, BinaryComputation(BinaryKind::Add), results);
    return results[0];
  }

  Tensor mean(const Tensor &tensor) const { return div(sum(tensor), count); }

  /// sqrt(variance + epsilon)
  Tensor deviation(const Tensor &variance) const {
    return unary(UnaryKind::Sqrt, add(wide(variance), number(norm.epsilon)));
  }

private:
  const BatchNorm &norm;
  Shape shape;
  Tensor count;
};

} // namespace

Tensor normalize(const BatchNorm &norm, const Tensor &operand, const Tensor &scale,
                 const Tensor &offset, const Tensor &mean, const Tensor &variance) {
  Features features(norm, operand);
  Tensor centered = sub(wide(operand), features.spread(wide(mean)));
  Tensor normalized = div(centered, features.spread(features.deviation(variance)));
  Tensor scaled = mul(normalized, features.spread(wide(scale)));
  return convert(add(scaled, features.spread(wide(offset))), operand.getType());
}

void batchStatistics(const BatchNorm &norm, const Tensor &operand, Tensor &mean, Tensor &variance) {
  Features features(norm, operand);
  Tensor wideMean = features.mean(wide(operand));
  Tensor centered = sub(wide(operand), features.spread(wideMean));
  mean = convert(wideMean, operand.getType());
  variance = convert(features.mean(mul(centered, centered)), operand.getType());
}

void normalizeGradients(const BatchNorm &norm, const Tensor &operand, const Tensor &scale,
                        const Tensor &mean, const Tensor &variance, const Tensor &gradient,
                        SmallVectorImpl<Tensor> &results) {
  Features features(norm, operand);
  Tensor deviation = features.deviation(variance), dy = wide(gradient);
  Tensor centered = sub(wide(operand), features.spread(wide(mean)));
  Tensor normalized = div(centered, features.spread(deviation));
  Tensor scaleGradient = features.sum(mul(dy, normalized)), offsetGradient = features.sum(dy);
  // Subtracts the gradient's components along the mean and the variance.
  Tensor alongVariance = mul(normalized, features.spread(features.mean(mul(dy, normalized))));
  Tensor free = sub(sub(dy, features.spread(features.mean(dy))), alongVariance);
  Tensor factor = features.spread(div(wide(scale), deviation));
  for (const Tensor &result : {mul(factor, free), scaleGradient, offsetGradient})
    results.push_back(convert(result, operand.getType()));
}

} // namespace mlir::st::ref
