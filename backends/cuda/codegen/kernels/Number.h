// Numbers of generated code: an SSA value, scalar or vector, with the operators of its element
// type.
//
// Code that uses it reads as formulas. Only `fma` emits a fused operation.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::cuda {

/// `type` with the shape of `like`: a vector of it if that is a vector.
Type withShapeOf(Type like, Type element);

/// Both operands of an operator have one type, or one is a scalar, which is broadcast. Comparisons
/// of floats are ordered except `!=`. Integers are signless: `/`, `<`, `>` are signed.
class Number {
public:
  Number(OpBuilder &builder, Location loc, Value value)
      : value(value), builder(&builder), loc(loc) {}

  Value value;

  Type element() const { return getElementTypeOrSelf(value.getType()); }
  bool isFloat() const { return isa<FloatType>(element()); }
  unsigned width() const { return element().getIntOrFloatBitWidth(); }

  Number with(Value other) const { return Number(*builder, loc, other); }
  /// A zero of another type.
  Number zeroOf(Type element) const;
  /// A scalar constant of this number's element type.
  Number constant(double number) const;
  Number bitsConstant(uint64_t bits) const;
  /// The smallest or the largest value of the type, infinite for floats.
  Number extreme(bool largest, bool isUnsigned) const;

  Number operator+(Number other) const;
  Number operator-(Number other) const;
  Number operator*(Number other) const;
  Number operator/(Number other) const;
  Number operator-() const;
  Number operator+(double other) const { return *this + constant(other); }
  Number operator-(double other) const { return *this - constant(other); }
  Number operator*(double other) const { return *this * constant(other); }
  Number operator&(Number other) const;
  Number operator|(Number other) const;
  Number operator^(Number other) const;
  Number operator~() const;
  Number operator<<(uint64_t bits) const;
  /// Arithmetic and logical shifts to the right.
  Number operator>>(uint64_t bits) const;
  Number shiftLogical(uint64_t bits) const;

  Number operator<(Number other) const;
  Number operator<=(Number other) const;
  Number operator>(Number other) const { return other < *this; }
  Number operator>=(Number other) const { return other <= *this; }
  Number operator==(Number other) const;
  Number operator!=(Number other) const;
  Number operator<(double other) const { return *this < constant(other); }
  Number operator>(double other) const { return *this > constant(other); }
  Number operator==(double other) const { return *this == constant(other); }
  Number lessUnsigned(Number other) const;
  Number isNan() const { return *this != *this; }

  /// this (an i1) ? onTrue : onFalse.
  Number select(Number onTrue, Number onFalse) const;

  /// Creates an arith or math op for which this class has no operator.
  template <typename Op, typename... Attributes> Number call(Attributes... attributes) const {
    return with(Op::create(*builder, loc, attributes..., value));
  }
  template <typename Op> Number binaryOp(Number other) const {
    auto [a, b] = unify(other);
    return with(Op::create(*builder, loc, a, b));
  }

  /// Floats.
  Number fma(Number factor, Number addend) const;
  Number fma(double factor, Number addend) const { return fma(constant(factor), addend); }
  Number abs() const;
  Number sqrt() const;
  Number floor() const;
  Number ceil() const;
  Number roundAway() const;
  Number roundEven() const;
  Number copySign(Number sign) const;

  /// The bits of a float as an integer and back.
  Number bits() const;
  Number asFloat() const;
  Number bitcast(Type element) const;
  /// A float is widened exactly or rounded to nearest even; an integer is truncated or extended.
  Number toFloat(Type type) const;
  Number toInteger(unsigned bits, bool isUnsigned) const;
  /// An integer as a float, rounded to nearest even.
  Number integerToFloat(Type type, bool isUnsigned) const;
  /// A float within the range of the integer type, rounded towards zero.
  Number floatToInteger(unsigned bits, bool isUnsigned) const;
  /// A vector with `elements` copies; a vector stays as it is.
  Number splat(int64_t elements) const;
  /// [0, 1, ...] of this number's element type.
  Number lanes(int64_t elements) const;
  /// An element of a vector.
  Number extract(int64_t element) const;

private:
  friend Number joinElements(ArrayRef<Number> elements);

  OpBuilder *builder;
  Location loc;

  template <typename Float, typename Integer> Number binary(Number other) const;
  template <typename Op> Number convertWith(Type element) const;
  /// Broadcasts the operands to one shape.
  std::pair<Value, Value> unify(Number other) const;
};

/// Split a vector into its elements, and join elements to a vector.
SmallVector<Number> elementsOf(const Number &vector);
Number joinElements(ArrayRef<Number> elements);

} // namespace mlir::cuda
