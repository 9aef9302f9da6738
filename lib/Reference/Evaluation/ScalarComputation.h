// The computation in the region of a reduction, scatter, sort or map.
#ifndef ST_REFERENCE_SCALARCOMPUTATION_H
#define ST_REFERENCE_SCALARCOMPUTATION_H

#include "lib/Reference/Numerics/Elementwise.h"

#include <optional>

namespace mlir::st::ref {

/// A function from scalars to scalars that is applied to tensors elementwise.
class ScalarComputation {
public:
  virtual ~ScalarComputation() = default;

  /// Applies the function to the elements of `args`, which have the same shape. Returns false,
  /// after an error message, if it cannot be evaluated.
  virtual bool apply(ArrayRef<Tensor> args, SmallVectorImpl<Tensor> &results) const = 0;

  /// Set when the function is this op on its two arguments.
  virtual std::optional<BinaryKind> asBinary() const { return std::nullopt; }
};

/// One binary op as a computation.
class BinaryComputation : public ScalarComputation {
public:
  explicit BinaryComputation(BinaryKind kind) : kind(kind) {}

  bool apply(ArrayRef<Tensor> args, SmallVectorImpl<Tensor> &results) const override {
    results.push_back(binary(kind, args[0], args[1]));
    return static_cast<bool>(results.back());
  }
  std::optional<BinaryKind> asBinary() const override { return kind; }

private:
  BinaryKind kind;
};

/// Sums and products of floats accumulate in f64 for any type, those of complex numbers in two f64,
/// and are rounded once; everything else uses its own type.
inline ElementType accumulatorType(const ScalarComputation &body, ElementType type) {
  std::optional<BinaryKind> kind = body.asBinary();
  bool isWide = kind == BinaryKind::Add || kind == BinaryKind::Mul;
  if (isWide && isComplexType(type))
    return ElementType::C128;
  return isWide && isFloatType(type) ? ElementType::F64 : type;
}

} // namespace mlir::st::ref

#endif // ST_REFERENCE_SCALARCOMPUTATION_H
