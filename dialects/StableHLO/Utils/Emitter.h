//===- Emitter.h - Shorthands for emitting stablehlo -----------*- C++ -*-===//
//
// Code that writes tensor programs (the front end, differentiation, the
// optimizer) reads as formulas through this class: every method builds one op
// whose result type follows from its operands.
//
//===----------------------------------------------------------------------===//

#ifndef ST_DIALECTS_STABLEHLO_UTILS_EMITTER_H
#define ST_DIALECTS_STABLEHLO_UTILS_EMITTER_H

#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::st {

/// The dimension numbers of a dot_general. The result has the batch dimensions
/// first, then the free ones of the left operand, then those of the right.
struct DotDims {
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsContract, rhsContract;
};

/// The dimensions in [0, rank) that are in neither list, ascending.
SmallVector<int64_t> remainingDims(int64_t rank, ArrayRef<int64_t> taken,
                                   ArrayRef<int64_t> alsoTaken = {});

/// Emits stablehlo at the builder's insertion point. Constants are pooled at the start of `block`,
/// one op per distinct value, so a formula may request the same constant repeatedly.
class Emitter {
public:
  Emitter(OpBuilder &builder, Block *block, Location loc)
      : builder(builder), loc(loc), block(block) {}

  OpBuilder &builder;
  /// The location of the following ops.
  Location loc;

  // Constants.
  Value constant(DenseElementsAttr value);
  /// A constant of `type` with all elements equal to `value`. Integer types round the value towards
  /// zero.
  Value splat(RankedTensorType type, double value);
  Value zerosLike(Value x) { return splatLike(x, 0.0); }
  Value splatLike(Value x, double value);
  Value iota(ArrayRef<int64_t> shape, Type elementType, int64_t dim);

  // Elementwise.
  Value add(Value lhs, Value rhs);
  Value sub(Value lhs, Value rhs);
  Value mul(Value lhs, Value rhs);
  Value div(Value lhs, Value rhs);
  Value max(Value lhs, Value rhs);
  Value min(Value lhs, Value rhs);
  Value bitAnd(Value lhs, Value rhs);
  Value bitOr(Value lhs, Value rhs);
  Value bitXor(Value lhs, Value rhs);
  Value shiftLeft(Value lhs, Value rhs);
  Value shiftRightLogical(Value lhs, Value rhs);
  Value pow(Value lhs, Value rhs);
  /// x * value, x + value.
  Value scale(Value x, double value) { return mul(x, splatLike(x, value)); }
  Value offset(Value x, double value) { return add(x, splatLike(x, value)); }
  Value neg(Value x);
  Value abs(Value x);
  Value sign(Value x);
  Value exp(Value x);
  Value expm1(Value x);
  Value log(Value x);
  Value sqrt(Value x);
  Value rsqrt(Value x);
  Value tanh(Value x);
  Value logistic(Value x);
  Value sine(Value x);
  Value cosine(Value x);
  Value erf(Value x);
  Value select(Value predicate, Value onTrue, Value onFalse);
  Value clamp(Value low, Value x, Value high);
  Value compare(stablehlo::ComparisonDirection direction, Value lhs, Value rhs);
  Value convert(Value x, Type elementType);

  // Shapes.
  /// Operand dimension i becomes dimension dims[i] of `shape`. A constant of
  /// equal elements becomes another such constant.
  Value broadcast(Value x, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape);
  Value reshape(Value x, ArrayRef<int64_t> shape);
  /// Result dimension i is operand dimension permutation[i]. The identity
  /// emits nothing.
  Value transpose(Value x, ArrayRef<int64_t> permutation);
  Value slice(Value x, ArrayRef<int64_t> starts, ArrayRef<int64_t> limits,
              ArrayRef<int64_t> strides = {});
  /// Elements [start, limit) of dimension `dim`.
  Value sliceDim(Value x, int64_t dim, int64_t start, int64_t limit);
  Value pad(Value x, Value paddingValue, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
            ArrayRef<int64_t> interior);
  Value concatenate(ValueRange xs, int64_t dim);
  Value reverse(Value x, ArrayRef<int64_t> dims);
  Value dynamicSlice(Value x, ValueRange starts, ArrayRef<int64_t> sizes);
  Value dynamicUpdateSlice(Value x, Value update, ValueRange starts);

  // Reductions and products.
  Value reduceAdd(Value x, ArrayRef<int64_t> dims);
  Value reduceMax(Value x, ArrayRef<int64_t> dims);
  /// Folds a transpose of an operand into the dimension numbers if that does not change the order
  /// of the result's dimensions.
  Value dot(Value lhs, Value rhs, DotDims dims, ArrayAttr precision = {},
            Type resultElementType = {});

  static RankedTensorType typeOf(Value x) { return cast<RankedTensorType>(x.getType()); }
  static ArrayRef<int64_t> shapeOf(Value x) { return typeOf(x).getShape(); }

private:
  template <typename OpTy> Value unary(Value x);
  template <typename OpTy> Value binary(Value lhs, Value rhs);
  template <typename BodyOp> Value reduce(Value x, Value init, ArrayRef<int64_t> dims);

  Block *block;
  /// The last pooled constant, after which the next one is inserted.
  Operation *lastConstant = nullptr;
  DenseMap<Attribute, Value> constants;
};

} // namespace mlir::st

#endif // ST_DIALECTS_STABLEHLO_UTILS_EMITTER_H
