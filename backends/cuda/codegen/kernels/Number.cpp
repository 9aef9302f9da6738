#include "backends/cuda/codegen/kernels/Number.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::cuda;

Type mlir::cuda::withShapeOf(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}

// ---- constants ----------------------------------------------------------------------------------

Number Number::constant(double number) const {
  Type type = element();
  TypedAttr attribute;
  if (isFloat())
    attribute = builder->getFloatAttr(type, number);
  else
    attribute = builder->getIntegerAttr(type, static_cast<int64_t>(number));
  return with(arith::ConstantOp::create(*builder, loc, attribute));
}

Number Number::zeroOf(Type element) const {
  return with(arith::ConstantOp::create(*builder, loc, builder->getZeroAttr(element)));
}

Number Number::bitsConstant(uint64_t bits) const {
  Type type = element();
  APInt integer(width(), bits, /*isSigned=*/false, /*implicitTrunc=*/true);
  TypedAttr attribute;
  if (auto floating = dyn_cast<FloatType>(type))
    attribute = builder->getFloatAttr(type, APFloat(floating.getFloatSemantics(), integer));
  else
    attribute = builder->getIntegerAttr(type, integer);
  return with(arith::ConstantOp::create(*builder, loc, attribute));
}

Number Number::extreme(bool largest, bool isUnsigned) const {
  if (isFloat())
    return constant(largest ? std::numeric_limits<double>::infinity()
                            : -std::numeric_limits<double>::infinity());
  APInt value = isUnsigned ? (largest ? APInt::getMaxValue(width()) : APInt::getMinValue(width()))
                           : (largest ? APInt::getSignedMaxValue(width())
                                      : APInt::getSignedMinValue(width()));
  return bitsConstant(value.getZExtValue());
}

Number Number::splat(int64_t elements) const {
  if (isa<VectorType>(value.getType()))
    return *this;
  return with(
      vector::BroadcastOp::create(*builder, loc, VectorType::get({elements}, element()), value));
}

Number mlir::cuda::joinElements(ArrayRef<Number> elements) {
  const Number &first = elements[0];
  SmallVector<Value> values;
  for (const Number &element : elements)
    values.push_back(element.value);
  auto type = VectorType::get({static_cast<int64_t>(values.size())}, first.element());
  return first.with(vector::FromElementsOp::create(*first.builder, first.loc, type, values));
}

Number Number::lanes(int64_t elements) const {
  SmallVector<Attribute> list;
  for (int64_t i = 0; i < elements; ++i)
    list.push_back(builder->getIntegerAttr(element(), i));
  auto type = VectorType::get({elements}, element());
  return with(arith::ConstantOp::create(*builder, loc, DenseElementsAttr::get(type, list)));
}

Number Number::extract(int64_t element) const {
  return with(vector::ExtractOp::create(*builder, loc, value, element));
}

SmallVector<Number> mlir::cuda::elementsOf(const Number &vector) {
  SmallVector<Number> list;
  for (int64_t i = 0, end = cast<VectorType>(vector.value.getType()).getNumElements(); i < end; ++i)
    list.push_back(vector.extract(i));
  return list;
}

std::pair<Value, Value> Number::unify(Number other) const {
  auto left = dyn_cast<VectorType>(value.getType()),
       right = dyn_cast<VectorType>(other.value.getType());
  if (left && !right)
    return {value, other.splat(left.getNumElements()).value};
  if (right && !left)
    return {splat(right.getNumElements()).value, other.value};
  return {value, other.value};
}

// ---- operators ----------------------------------------------------------------------------------

template <typename Float, typename Integer> Number Number::binary(Number other) const {
  auto [a, b] = unify(other);
  if (isFloat())
    return with(Float::create(*builder, loc, a, b));
  return with(Integer::create(*builder, loc, a, b));
}

Number Number::operator+(Number other) const { return binary<arith::AddFOp, arith::AddIOp>(other); }
Number Number::operator-(Number other) const { return binary<arith::SubFOp, arith::SubIOp>(other); }
Number Number::operator*(Number other) const { return binary<arith::MulFOp, arith::MulIOp>(other); }
Number Number::operator/(Number other) const {
  return binary<arith::DivFOp, arith::DivSIOp>(other);
}
Number Number::operator-() const { return isFloat() ? call<arith::NegFOp>() : constant(0) - *this; }
Number Number::operator&(Number other) const { return binaryOp<arith::AndIOp>(other); }
Number Number::operator|(Number other) const { return binaryOp<arith::OrIOp>(other); }
Number Number::operator^(Number other) const { return binaryOp<arith::XOrIOp>(other); }
Number Number::operator~() const { return *this ^ bitsConstant(~uint64_t(0)); }
Number Number::operator<<(uint64_t bits) const {
  return binaryOp<arith::ShLIOp>(bitsConstant(bits));
}
Number Number::operator>>(uint64_t bits) const {
  return binaryOp<arith::ShRSIOp>(bitsConstant(bits));
}
Number Number::shiftLogical(uint64_t bits) const {
  return binaryOp<arith::ShRUIOp>(bitsConstant(bits));
}

static Value compare(OpBuilder &builder, Location loc, bool isFloat, arith::CmpFPredicate ofFloats,
                     arith::CmpIPredicate ofIntegers, std::pair<Value, Value> operands) {
  if (isFloat)
    return arith::CmpFOp::create(builder, loc, ofFloats, operands.first, operands.second);
  return arith::CmpIOp::create(builder, loc, ofIntegers, operands.first, operands.second);
}

Number Number::operator<(Number other) const {
  return with(compare(*builder, loc, isFloat(), arith::CmpFPredicate::OLT,
                      arith::CmpIPredicate::slt, unify(other)));
}
Number Number::operator<=(Number other) const {
  return with(compare(*builder, loc, isFloat(), arith::CmpFPredicate::OLE,
                      arith::CmpIPredicate::sle, unify(other)));
}
Number Number::operator==(Number other) const {
  return with(compare(*builder, loc, isFloat(), arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq,
                      unify(other)));
}
Number Number::operator!=(Number other) const {
  return with(compare(*builder, loc, isFloat(), arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne,
                      unify(other)));
}
Number Number::lessUnsigned(Number other) const {
  auto [a, b] = unify(other);
  return with(arith::CmpIOp::create(*builder, loc, arith::CmpIPredicate::ult, a, b));
}

Number Number::select(Number onTrue, Number onFalse) const {
  auto [a, b] = onTrue.unify(onFalse);
  Value condition = value;
  // A vector of conditions selects between vectors; a single one may select between vectors too.
  if (auto shape = dyn_cast<VectorType>(condition.getType())) {
    a = with(a).splat(shape.getNumElements()).value;
    b = with(b).splat(shape.getNumElements()).value;
  }
  return with(arith::SelectOp::create(*builder, loc, condition, a, b));
}

// ---- floats -------------------------------------------------------------------------------------

Number Number::fma(Number factor, Number addend) const {
  int64_t elements = 0;
  for (Value operand : {value, factor.value, addend.value})
    if (auto vector = dyn_cast<VectorType>(operand.getType()))
      elements = vector.getNumElements();
  auto shaped = [&](Number n) { return elements ? n.splat(elements).value : n.value; };
  return with(math::FmaOp::create(*builder, loc, shaped(*this), shaped(factor), shaped(addend)));
}
Number Number::abs() const { return call<math::AbsFOp>(); }
Number Number::sqrt() const { return call<math::SqrtOp>(); }
Number Number::floor() const { return call<math::FloorOp>(); }
Number Number::ceil() const { return call<math::CeilOp>(); }
Number Number::roundAway() const { return call<math::RoundOp>(); }
Number Number::roundEven() const { return call<math::RoundEvenOp>(); }
Number Number::copySign(Number sign) const { return binaryOp<math::CopySignOp>(sign); }

// ---- conversions --------------------------------------------------------------------------------

template <typename Op> Number Number::convertWith(Type element) const {
  return with(Op::create(*builder, loc, withShapeOf(value.getType(), element), value));
}

Number Number::bits() const {
  return convertWith<arith::BitcastOp>(builder->getIntegerType(width()));
}

Number Number::asFloat() const {
  return convertWith<arith::BitcastOp>(width() == 64 ? Type(builder->getF64Type())
                                                     : builder->getF32Type());
}

Number Number::bitcast(Type element) const { return convertWith<arith::BitcastOp>(element); }

Number Number::toFloat(Type type) const {
  if (element() == type)
    return *this;
  unsigned to = type.getIntOrFloatBitWidth();
  if (to == width())
    return toFloat(builder->getF32Type()).toFloat(type);
  if (to > width())
    return convertWith<arith::ExtFOp>(type);
  return convertWith<arith::TruncFOp>(type);
}

Number Number::toInteger(unsigned bits, bool isUnsigned) const {
  Type type = builder->getIntegerType(bits);
  if (bits == width())
    return *this;
  if (bits < width())
    return convertWith<arith::TruncIOp>(type);
  return isUnsigned ? convertWith<arith::ExtUIOp>(type) : convertWith<arith::ExtSIOp>(type);
}

Number Number::integerToFloat(Type type, bool isUnsigned) const {
  return isUnsigned ? convertWith<arith::UIToFPOp>(type) : convertWith<arith::SIToFPOp>(type);
}

Number Number::floatToInteger(unsigned bits, bool isUnsigned) const {
  Type type = builder->getIntegerType(bits);
  return isUnsigned ? convertWith<arith::FPToUIOp>(type) : convertWith<arith::FPToSIOp>(type);
}
