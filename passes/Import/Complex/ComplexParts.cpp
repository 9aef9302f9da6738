// Functions of complex numbers, in terms of their parts.

#include "passes/Import/Complex/ComplexParts.h"
#include "dialects/StableHLO/ChloOps.h"

using namespace mlir;
using namespace mlir::st;
using Direction = stablehlo::ComparisonDirection;

/// Scaled by the larger part, so that no square overflows.
Value ComplexEmitter::magnitude(Parts a) {
  Value x = emit.abs(a.re), y = emit.abs(a.im), large = emit.max(x, y), small = emit.min(x, y);
  Value isZero = emit.compare(Direction::EQ, large, emit.zerosLike(large));
  Value ratio = emit.div(small, emit.select(isZero, emit.splatLike(large, 1.0), large));
  Value length = emit.mul(large, emit.sqrt(emit.offset(emit.mul(ratio, ratio), 1.0)));
  Value infinite = emit.compare(Direction::EQ, large,
                                emit.splatLike(large, std::numeric_limits<double>::infinity()));
  return emit.select(infinite, large, length);
}

/// A real number stays real even if its exponential overflows: no infinity times sine of 0.
Parts ComplexEmitter::exponential(Parts z) {
  Parts result = polar(emit.exp(z.re), z.im);
  Value isReal = emit.compare(Direction::EQ, z.im, emit.zerosLike(z.im));
  return {result.re, emit.select(isReal, z.im, result.im)};
}

/// An infinity over a number and a number over an infinity, whose parts would be NaN (C's Annex G):
/// an infinite part counts as 1 with its sign, the others as 0.
Parts ComplexEmitter::divInfinite(Parts a, Parts b) {
  const double infinity = std::numeric_limits<double>::infinity();
  auto isInfinite = [&](Value x) {
    return emit.compare(Direction::EQ, emit.abs(x), emit.splatLike(x, infinity));
  };
  auto box = [&](Value x) { return emit.select(isInfinite(x), emit.sign(x), emit.zerosLike(x)); };
  Value isFinite = emit.compare(Direction::LT, emit.max(emit.abs(b.re), emit.abs(b.im)),
                                emit.splatLike(b.re, infinity));
  Parts far = mul({box(a.re), box(a.im)}, conjugate(b));
  Parts near = mul(a, conjugate({box(b.re), box(b.im)}));
  return {emit.select(isFinite, emit.scale(far.re, infinity), emit.scale(near.re, 0)),
          emit.select(isFinite, emit.scale(far.im, infinity), emit.scale(near.im, 0))};
}

/// Scaled by the divisor's larger part; divides each part by zero if both are zero.
Parts ComplexEmitter::div(Parts a, Parts b) {
  Value larger = emit.max(emit.abs(b.re), emit.abs(b.im));
  Value isZero = emit.compare(Direction::EQ, larger, emit.zerosLike(larger));
  Value scale = emit.select(isZero, emit.splatLike(larger, 1.0), larger);
  Value c = emit.div(b.re, scale), d = emit.div(b.im, scale);
  Value square = emit.mul(scale, emit.add(emit.mul(c, c), emit.mul(d, d)));
  Parts top = mul(a, {c, emit.neg(d)}), infinite = divInfinite(a, b);
  Value re = emit.select(isZero, emit.div(a.re, b.re), emit.div(top.re, square));
  Value im = emit.select(isZero, emit.div(a.im, b.re), emit.div(top.im, square));
  Value isNone =
      emit.bitAnd(emit.compare(Direction::NE, re, re), emit.compare(Direction::NE, im, im));
  return {emit.select(isNone, infinite.re, re), emit.select(isNone, infinite.im, im)};
}

/// e^(b log a); for a = 0 the result is 1, 0 or NaN.
Parts ComplexEmitter::power(Parts a, Parts b) {
  auto isNone = [&](Value x) { return emit.compare(Direction::EQ, x, emit.zerosLike(x)); };
  auto choose = [&](Value predicate, Value x, double other) {
    return emit.select(predicate, x, emit.splatLike(x, other));
  };
  Value isZero = emit.bitAnd(isNone(a.re), isNone(a.im)), isReal = isNone(b.im);
  Value base = emit.select(isZero, emit.splatLike(a.re, 1.0), a.re);
  Parts result = exponential(mul(b, logarithm({base, a.im})));
  Value isPositive = emit.bitAnd(isReal, emit.compare(Direction::GT, b.re, emit.zerosLike(b.re)));
  Value ofZero = emit.select(
      emit.bitAnd(isReal, isNone(b.re)), emit.splatLike(a.re, 1.0),
      choose(isPositive, emit.zerosLike(a.re), std::numeric_limits<double>::quiet_NaN()));
  Value isNumber = emit.compare(Direction::EQ, ofZero, ofZero);
  return {
      emit.select(isZero, ofZero, result.re),
      emit.select(isZero,
                  choose(isNumber, emit.zerosLike(a.im), std::numeric_limits<double>::quiet_NaN()),
                  result.im)};
}

Value ComplexEmitter::precedes(Parts a, Parts b) {
  Value isSame = emit.compare(Direction::EQ, a.re, b.re);
  return emit.select(isSame, emit.compare(Direction::LT, a.im, b.im),
                     emit.compare(Direction::LT, a.re, b.re));
}

/// -i log(u / root(q)) with u = x + i y and q = x^2 + y^2. The parts are differences of angles and
/// of logarithms, so values near the branch cut stay on their side and nothing overflows.
Parts ComplexEmitter::angle(Parts y, Parts x) {
  // Rounding changes an angle by less than this, in f32 as well.
  constexpr double kPi = llvm::numbers::pi, kRounding = 1e-5;
  Value scale =
      emit.max(emit.max(emit.abs(x.re), emit.abs(x.im)), emit.max(emit.abs(y.re), emit.abs(y.im)));
  scale = emit.select(emit.compare(Direction::EQ, scale, emit.zerosLike(scale)),
                      emit.splatLike(scale, 1), scale);
  for (Value *part : {&x.re, &x.im, &y.re, &y.im})
    *part = emit.div(*part, scale);
  Parts u = add(x, timesI(y)), q = add(mul(x, x), mul(y, y));
  Value length = magnitude(q), turn = emit.splatLike(scale, 2 * kPi);
  Value re = emit.sub(atan2(u.im, u.re), emit.scale(atan2(q.im, q.re), 0.5));
  Value maximum = emit.splatLike(scale, kPi + kRounding);
  re = emit.select(emit.compare(Direction::GT, re, maximum), emit.sub(re, turn), re);
  re = emit.select(emit.compare(Direction::LT, re, emit.neg(maximum)), emit.add(re, turn), re);
  // If y is i x or -i x, there is no angle.
  Value isPole = emit.compare(Direction::EQ, length, emit.zerosLike(length));
  re = emit.select(isPole, emit.splatLike(re, std::numeric_limits<double>::quiet_NaN()), re);
  return {re, emit.sub(emit.scale(emit.log(length), 0.5), emit.log(magnitude(u)))};
}

// ---- inverse functions, from roots of 1 - z and 1 + z, which do not cancel (Kahan: Branch Cuts
// for Complex Elementary Functions, 1987) ---------------------------------------------------------

/// Returns where a number is negative or -0.
Value ComplexEmitter::isBelowZero(Value x) {
  return emit.compare(Direction::LT, atan2(x, emit.splatLike(x, -1)), emit.zerosLike(x));
}

Value ComplexEmitter::withSignOf(Value positive, Value sign) {
  return emit.select(isBelowZero(sign), emit.neg(positive), positive);
}

/// The number's larger part. Where it is this large, the inverse functions are the first terms of
/// their series in 1 / z, and squares of parts overflow.
Value ComplexEmitter::isHuge(Parts z, Value &larger, Value &ratio) {
  constexpr double kHuge = 1e18;
  Value x = emit.abs(z.re), y = emit.abs(z.im);
  larger = emit.max(x, y);
  Value isInfinite = emit.compare(Direction::EQ, larger,
                                  emit.splatLike(larger, std::numeric_limits<double>::infinity()));
  ratio = emit.select(isInfinite, emit.zerosLike(larger), emit.div(emit.min(x, y), larger));
  return emit.compare(Direction::GT, larger, emit.splatLike(larger, kHuge));
}

/// log |2 z|.
Value ComplexEmitter::logOfTwice(Value larger, Value ratio) {
  Value rest = emit.scale(real<stablehlo::Log1pOp>(emit.mul(ratio, ratio)), 0.5);
  return emit.add(emit.offset(emit.log(larger), llvm::numbers::ln2), rest);
}

Parts ComplexEmitter::asin(Parts z) {
  Parts below = root({emit.sub(emit.splatLike(z.re, 1), z.re), emit.neg(z.im)}),
        above = root({emit.offset(z.re, 1), z.im});
  Value larger, ratio, huge = isHuge(z, larger, ratio);
  return {emit.select(huge, atan2(z.re, emit.abs(z.im)), atan2(z.re, mul(below, above).re)),
          emit.select(huge, withSignOf(logOfTwice(larger, ratio), z.im),
                      real<chlo::AsinhOp>(mul(conjugate(below), above).im))};
}

Parts ComplexEmitter::acos(Parts z) {
  Parts below = root({emit.sub(emit.splatLike(z.re, 1), z.re), emit.neg(z.im)}),
        above = root({emit.offset(z.re, 1), z.im});
  Value larger, ratio, huge = isHuge(z, larger, ratio);
  return {emit.select(huge, atan2(emit.abs(z.im), z.re), emit.scale(atan2(below.re, above.re), 2)),
          emit.select(huge, withSignOf(logOfTwice(larger, ratio), emit.neg(z.im)),
                      real<chlo::AsinhOp>(mul(conjugate(above), below).im))};
}

/// i acos z or -i acos z, the one whose real part is not negative.
Parts ComplexEmitter::acosh(Parts z) {
  Parts angle = acos(z);
  return {emit.abs(angle.im), withSignOf(angle.re, z.im)};
}

Parts ComplexEmitter::atanh(Parts z) {
  // If the square of the distance to a pole underflows, only one logarithm remains.
  constexpr double kNear = 1e-15;
  Value x = emit.abs(z.re), below = emit.sub(emit.splatLike(x, 1), x), above = emit.offset(x, 1);
  Value square = emit.mul(z.im, z.im), distance = magnitude({below, z.im});
  Value quotient = emit.div(emit.scale(x, 4), emit.add(emit.mul(below, below), square));
  Value near = emit.scale(emit.log(emit.div(emit.splatLike(x, 2), distance)), 0.5);
  Value isNear = emit.compare(Direction::LT, distance, emit.splatLike(x, kNear));
  Value re = emit.select(isNear, near, emit.scale(real<stablehlo::Log1pOp>(quotient), 0.25));
  Value angle =
      emit.scale(atan2(emit.scale(z.im, 2), emit.sub(emit.mul(below, above), square)), 0.5);
  // The real part of 1 / z, and a right angle.
  Value larger, ratio, huge = isHuge(z, larger, ratio);
  Value share = emit.select(emit.compare(Direction::LT, x, larger), ratio, emit.splatLike(x, 1));
  Value inverse = emit.div(emit.div(share, emit.offset(emit.mul(ratio, ratio), 1)), larger);
  re = emit.select(huge, inverse, re);
  Value right = withSignOf(emit.splatLike(x, llvm::numbers::pi / 2), z.im);
  Value isNegative = emit.compare(Direction::LT, z.re, emit.zerosLike(x));
  return {emit.select(isNegative, emit.neg(re), re), emit.select(huge, right, angle)};
}
