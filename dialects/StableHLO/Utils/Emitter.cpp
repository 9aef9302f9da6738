//===- Emitter.cpp - Shorthands for emitting stablehlo -------------------===//

#include "dialects/StableHLO/Utils/Emitter.h"

#include "dialects/StableHLO/ChloOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

SmallVector<int64_t> st::remainingDims(int64_t rank, ArrayRef<int64_t> taken,
                                       ArrayRef<int64_t> alsoTaken) {
  SmallVector<int64_t> rest;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!is_contained(taken, dim) && !is_contained(alsoTaken, dim))
      rest.push_back(dim);
  return rest;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value Emitter::constant(DenseElementsAttr value) {
  Value &pooled = constants[value];
  if (pooled)
    return pooled;
  OpBuilder::InsertionGuard guard(builder);
  if (lastConstant)
    builder.setInsertionPointAfter(lastConstant);
  else
    builder.setInsertionPointToStart(block);
  auto op = ConstantOp::create(builder, builder.getUnknownLoc(), value);
  lastConstant = op;
  return pooled = op;
}

Value Emitter::splat(RankedTensorType type, double value) {
  Type elementType = type.getElementType();
  if (auto floatType = dyn_cast<FloatType>(elementType))
    return constant(DenseElementsAttr::get(type, FloatAttr::get(floatType, value)));
  if (auto complexType = dyn_cast<ComplexType>(elementType)) {
    auto part = cast<FloatType>(complexType.getElementType());
    APFloat real = FloatAttr::get(part, value).getValue();
    std::complex<APFloat> number(real, APFloat::getZero(real.getSemantics()));
    return constant(DenseElementsAttr::get(type, ArrayRef(number)));
  }
  // Converts through a 64-bit integer, so that all values of ui32 are exact.
  APInt bits(64, static_cast<uint64_t>(static_cast<int64_t>(value)));
  return constant(DenseElementsAttr::get(type, bits.trunc(elementType.getIntOrFloatBitWidth())));
}

Value Emitter::splatLike(Value x, double value) { return splat(typeOf(x), value); }

Value Emitter::iota(ArrayRef<int64_t> shape, Type elementType, int64_t dim) {
  auto type = RankedTensorType::get(shape, elementType);
  return IotaOp::create(builder, loc, type, static_cast<uint64_t>(dim));
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

template <typename OpTy> Value Emitter::unary(Value x) {
  return OpTy::create(builder, loc, x.getType(), x);
}

template <typename OpTy> Value Emitter::binary(Value lhs, Value rhs) {
  return OpTy::create(builder, loc, lhs.getType(), lhs, rhs);
}

Value Emitter::add(Value lhs, Value rhs) { return binary<AddOp>(lhs, rhs); }
Value Emitter::sub(Value lhs, Value rhs) { return binary<SubtractOp>(lhs, rhs); }
Value Emitter::mul(Value lhs, Value rhs) { return binary<MulOp>(lhs, rhs); }
Value Emitter::div(Value lhs, Value rhs) { return binary<DivOp>(lhs, rhs); }
Value Emitter::max(Value lhs, Value rhs) { return binary<MaxOp>(lhs, rhs); }
Value Emitter::min(Value lhs, Value rhs) { return binary<MinOp>(lhs, rhs); }
Value Emitter::bitAnd(Value lhs, Value rhs) { return binary<AndOp>(lhs, rhs); }
Value Emitter::bitOr(Value lhs, Value rhs) { return binary<OrOp>(lhs, rhs); }
Value Emitter::bitXor(Value lhs, Value rhs) { return binary<XorOp>(lhs, rhs); }
Value Emitter::shiftLeft(Value lhs, Value rhs) { return binary<ShiftLeftOp>(lhs, rhs); }
Value Emitter::shiftRightLogical(Value lhs, Value rhs) {
  return binary<ShiftRightLogicalOp>(lhs, rhs);
}
Value Emitter::pow(Value lhs, Value rhs) { return binary<PowOp>(lhs, rhs); }
Value Emitter::neg(Value x) { return unary<NegOp>(x); }
Value Emitter::abs(Value x) { return unary<AbsOp>(x); }
Value Emitter::sign(Value x) { return unary<SignOp>(x); }
Value Emitter::exp(Value x) { return unary<ExpOp>(x); }
Value Emitter::expm1(Value x) { return unary<Expm1Op>(x); }
Value Emitter::log(Value x) { return unary<LogOp>(x); }
Value Emitter::sqrt(Value x) { return unary<SqrtOp>(x); }
Value Emitter::rsqrt(Value x) { return unary<RsqrtOp>(x); }
Value Emitter::tanh(Value x) { return unary<TanhOp>(x); }
Value Emitter::logistic(Value x) { return unary<LogisticOp>(x); }
Value Emitter::sine(Value x) { return unary<SineOp>(x); }
Value Emitter::cosine(Value x) { return unary<CosineOp>(x); }
Value Emitter::erf(Value x) { return unary<chlo::ErfOp>(x); }

Value Emitter::select(Value predicate, Value onTrue, Value onFalse) {
  return SelectOp::create(builder, loc, onTrue.getType(), predicate, onTrue, onFalse);
}

Value Emitter::clamp(Value low, Value x, Value high) {
  return ClampOp::create(builder, loc, x.getType(), low, x, high);
}

/// The comparison type that the element type implies, spelled out as JAX does.
static ComparisonType comparisonTypeOf(Type elementType) {
  if (isa<FloatType, ComplexType>(elementType))
    return ComparisonType::FLOAT;
  return elementType.isUnsignedInteger() || elementType.isInteger(1) ? ComparisonType::UNSIGNED
                                                                     : ComparisonType::SIGNED;
}

Value Emitter::compare(ComparisonDirection direction, Value lhs, Value rhs) {
  return CompareOp::create(builder, loc, lhs, rhs, direction,
                           comparisonTypeOf(typeOf(lhs).getElementType()));
}

Value Emitter::convert(Value x, Type elementType) {
  if (typeOf(x).getElementType() == elementType)
    return x;
  return ConvertOp::create(builder, loc, x, elementType);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Value Emitter::broadcast(Value x, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  auto type = RankedTensorType::get(shape, typeOf(x).getElementType());
  if (DenseElementsAttr value; matchPattern(x, m_Constant(&value)) && value.isSplat())
    return constant(value.resizeSplat(type));
  return BroadcastInDimOp::create(builder, loc, type, x, dims);
}

Value Emitter::reshape(Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  auto type = RankedTensorType::get(shape, typeOf(x).getElementType());
  return ReshapeOp::create(builder, loc, type, x);
}

Value Emitter::transpose(Value x, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return x;
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(shapeOf(x)[dim]);
  auto type = RankedTensorType::get(shape, typeOf(x).getElementType());
  return TransposeOp::create(builder, loc, type, x, permutation);
}

Value Emitter::slice(Value x, ArrayRef<int64_t> starts, ArrayRef<int64_t> limits,
                     ArrayRef<int64_t> strides) {
  SmallVector<int64_t> ones(starts.size(), 1), shape;
  if (strides.empty())
    strides = ones;
  for (auto [start, limit, stride] : llvm::zip_equal(starts, limits, strides))
    shape.push_back(llvm::divideCeil(limit - start, stride));
  if (llvm::equal(shape, shapeOf(x)))
    return x;
  auto type = RankedTensorType::get(shape, typeOf(x).getElementType());
  return SliceOp::create(builder, loc, type, x, starts, limits, strides);
}

Value Emitter::sliceDim(Value x, int64_t dim, int64_t start, int64_t limit) {
  SmallVector<int64_t> starts(typeOf(x).getRank(), 0), limits(shapeOf(x));
  starts[dim] = start;
  limits[dim] = limit;
  return slice(x, starts, limits);
}

Value Emitter::pad(Value x, Value paddingValue, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                   ArrayRef<int64_t> interior) {
  SmallVector<int64_t> shape;
  bool isIdentity = true;
  for (auto [size, l, h, i] : llvm::zip_equal(shapeOf(x), low, high, interior)) {
    shape.push_back(size + l + h + (size > 0 ? (size - 1) * i : 0));
    isIdentity &= l == 0 && h == 0 && shape.back() == size;
  }
  if (isIdentity)
    return x;
  auto type = RankedTensorType::get(shape, typeOf(x).getElementType());
  return PadOp::create(builder, loc, type, x, paddingValue, low, high, interior);
}

Value Emitter::concatenate(ValueRange xs, int64_t dim) {
  SmallVector<int64_t> shape(shapeOf(xs.front()));
  shape[dim] = 0;
  for (Value x : xs)
    shape[dim] += shapeOf(x)[dim];
  auto type = RankedTensorType::get(shape, typeOf(xs.front()).getElementType());
  return ConcatenateOp::create(builder, loc, type, xs, static_cast<uint64_t>(dim));
}

Value Emitter::reverse(Value x, ArrayRef<int64_t> dims) {
  return ReverseOp::create(builder, loc, x.getType(), x, dims);
}

Value Emitter::dynamicSlice(Value x, ValueRange starts, ArrayRef<int64_t> sizes) {
  auto type = RankedTensorType::get(sizes, typeOf(x).getElementType());
  return DynamicSliceOp::create(builder, loc, type, x, starts, sizes);
}

Value Emitter::dynamicUpdateSlice(Value x, Value update, ValueRange starts) {
  return DynamicUpdateSliceOp::create(builder, loc, x.getType(), x, update, starts);
}

//===----------------------------------------------------------------------===//
// Reductions and products
//===----------------------------------------------------------------------===//

template <typename BodyOp> Value Emitter::reduce(Value x, Value init, ArrayRef<int64_t> dims) {
  if (dims.empty())
    return x;
  SmallVector<int64_t> shape;
  for (int64_t dim : remainingDims(typeOf(x).getRank(), dims))
    shape.push_back(shapeOf(x)[dim]);
  Type elementType = typeOf(x).getElementType();
  auto op = ReduceOp::create(builder, loc, TypeRange{RankedTensorType::get(shape, elementType)},
                             ValueRange{x}, ValueRange{init}, dims);
  OpBuilder::InsertionGuard guard(builder);
  auto scalar = RankedTensorType::get({}, elementType);
  Block *body = builder.createBlock(&op.getBody(), {}, {scalar, scalar}, {loc, loc});
  Value result = BodyOp::create(builder, loc, scalar, body->getArgument(0), body->getArgument(1));
  stablehlo::ReturnOp::create(builder, loc, ValueRange{result});
  return op.getResult(0);
}

Value Emitter::reduceAdd(Value x, ArrayRef<int64_t> dims) {
  auto scalar = RankedTensorType::get({}, typeOf(x).getElementType());
  return reduce<AddOp>(x, splat(scalar, 0.0), dims);
}

Value Emitter::reduceMax(Value x, ArrayRef<int64_t> dims) {
  Type type = typeOf(x).getElementType();
  TypedAttr lowest;
  if (auto floatType = dyn_cast<FloatType>(type))
    lowest = FloatAttr::get(type, APFloat::getInf(floatType.getFloatSemantics(), true));
  else
    lowest = IntegerAttr::get(type, type.isUnsignedInteger()
                                        ? APInt::getZero(type.getIntOrFloatBitWidth())
                                        : APInt::getSignedMinValue(type.getIntOrFloatBitWidth()));
  auto init = DenseElementsAttr::get(RankedTensorType::get({}, type), lowest);
  return reduce<MaxOp>(x, constant(init), dims);
}

/// Looks through a transpose of an operand of a product: maps the dimension numbers to the
/// transpose's operand. The free dimensions must keep their order, because the result's dimensions
/// follow it.
static Value foldTranspose(Value x, SmallVectorImpl<int64_t> &batch,
                           SmallVectorImpl<int64_t> &contract) {
  auto op = x.getDefiningOp<TransposeOp>();
  if (!op)
    return x;
  ArrayRef<int64_t> permutation = op.getPermutation();
  SmallVector<int64_t> free = remainingDims(permutation.size(), batch, contract);
  auto map = [&](SmallVectorImpl<int64_t> &dims) {
    for (int64_t &dim : dims)
      dim = permutation[dim];
  };
  map(free);
  if (!llvm::is_sorted(free))
    return x;
  map(batch);
  map(contract);
  return op.getOperand();
}

Value Emitter::dot(Value lhs, Value rhs, DotDims dims, ArrayAttr precision,
                   Type resultElementType) {
  lhs = foldTranspose(lhs, dims.lhsBatch, dims.lhsContract);
  rhs = foldTranspose(rhs, dims.rhsBatch, dims.rhsContract);
  SmallVector<int64_t> shape;
  for (int64_t dim : dims.lhsBatch)
    shape.push_back(shapeOf(lhs)[dim]);
  for (int64_t dim : remainingDims(typeOf(lhs).getRank(), dims.lhsBatch, dims.lhsContract))
    shape.push_back(shapeOf(lhs)[dim]);
  for (int64_t dim : remainingDims(typeOf(rhs).getRank(), dims.rhsBatch, dims.rhsContract))
    shape.push_back(shapeOf(rhs)[dim]);
  if (!resultElementType)
    resultElementType = typeOf(lhs).getElementType();
  auto numbers = DotDimensionNumbersAttr::get(builder.getContext(), dims.lhsBatch, dims.rhsBatch,
                                              dims.lhsContract, dims.rhsContract);
  return DotGeneralOp::create(builder, loc, RankedTensorType::get(shape, resultElementType), lhs,
                              rhs, numbers, precision, DotAlgorithmAttr());
}
