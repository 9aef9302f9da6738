// Functions related to the gamma function, and a Bessel function. Always in f64, because their
// formulas cancel.

#include "passes/Kernels/Lowering/LowerTensorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::st;
using Direction = stablehlo::ComparisonDirection;

static constexpr double kPi = 3.14159265358979323846, kLogPi = 1.14472988584940017414,
                        kHalfLogOf2Pi = 0.91893853320467274178,
                        kInfinity = std::numeric_limits<double>::infinity(),
                        kNan = std::numeric_limits<double>::quiet_NaN();
/// Asymptotic series of the gamma function are exact in f64 from here on.
static constexpr int kFarGamma = 10;
/// The Bessel function uses its power series below and its asymptotic expansion above this.
static constexpr double kFarBessel = 20;
/// B(2k), k = 1, 2, ….
static constexpr double kBernoulli[] = {1. / 6,  -1. / 30,      1. / 42, -1. / 30,
                                        5. / 66, -691. / 2730., 7. / 6,  -3617. / 510};

namespace {
class Functions {
public:
  explicit Functions(Emitter &emit) : emit(emit) {}

  Value logGamma(Value x);
  Value digamma(Value x);
  Value besselI1e(Value x);
  Value zeta(Value s, Value q);
  Value polygamma(Value order, Value x);

private:
  Emitter &emit;

  Value like(Value x, double value) { return emit.splatLike(x, value); }
  Value compare(Direction direction, Value x, double value) {
    return emit.compare(direction, x, like(x, value));
  }
  Value reciprocal(Value x) { return emit.div(like(x, 1), x); }
  /// The sum of coefficients[k] x^k.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = like(x, coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = emit.offset(emit.mul(sum, x), coefficient);
    return sum;
  }
  Value floor(Value x) {
    return stablehlo::FloorOp::create(emit.builder, emit.loc, x.getType(), x);
  }
  Value isInteger(Value x) { return emit.compare(Direction::EQ, floor(x), x); }
  Value isEven(Value x) {
    Value rest = stablehlo::RemOp::create(emit.builder, emit.loc, x.getType(), x, like(x, 2));
    return compare(Direction::EQ, rest, 0);
  }
  Value nan(Value x) { return like(x, kNan); }
  Value zetaOfPositive(Value s, Value q);
  /// x minus the nearest integer, on which functions of period 1 and their poles are exact.
  Value fractionalPart(Value x) { return emit.sub(x, floor(emit.offset(x, 0.5))); }
};
} // namespace

/// Stirling's series (Abramowitz and Stegun 6.1.41), reached by the recurrence for small arguments;
/// by reflection below 1/2.
Value Functions::logGamma(Value x) {
  Value isReflected = compare(Direction::LT, x, 0.5);
  Value z = emit.select(isReflected, emit.sub(like(x, 1), x), x);
  Value isNear = compare(Direction::LT, z, kFarGamma), product = z;
  for (int k = 1; k < kFarGamma; ++k)
    product = emit.mul(product, emit.offset(z, k));
  Value far = emit.select(isNear, emit.offset(z, kFarGamma), z);
  SmallVector<double> series;
  for (auto [i, number] : llvm::enumerate(kBernoulli)) {
    double k = static_cast<double>(i) + 1;
    series.push_back(number / (2 * k * (2 * k - 1)));
  }
  Value inverse = reciprocal(far), log = emit.log(far);
  Value rest = emit.mul(inverse, polynomial(emit.mul(inverse, inverse), series));
  Value result = emit.mul(far, emit.offset(log, -1));
  result = emit.add(emit.sub(result, emit.scale(log, 0.5)), emit.offset(rest, kHalfLogOf2Pi));
  result = emit.sub(result, emit.log(emit.select(isNear, product, like(product, 1))));
  // The function is exactly zero at 1 and 2.
  Value isRoot = emit.bitOr(compare(Direction::EQ, z, 1), compare(Direction::EQ, z, 2));
  result = emit.select(isRoot, emit.zerosLike(result), result);
  Value sine = emit.abs(emit.sine(emit.scale(fractionalPart(x), kPi)));
  Value reflected = emit.sub(emit.sub(like(x, kLogPi), emit.log(sine)), result);
  result = emit.select(isReflected, reflected, result);
  Value isInfinite = emit.bitOr(compare(Direction::EQ, emit.abs(x), kInfinity),
                                emit.bitAnd(isReflected, compare(Direction::EQ, sine, 0)));
  return emit.select(isInfinite, like(x, kInfinity), result);
}

/// The derivative of logGamma (Abramowitz and Stegun 6.3.18); NaN at its poles.
Value Functions::digamma(Value x) {
  Value isReflected = compare(Direction::LE, x, 0);
  Value z = emit.select(isReflected, emit.sub(like(x, 1), x), x);
  Value isNear = compare(Direction::LT, z, kFarGamma), steps = reciprocal(z);
  for (int k = 1; k < kFarGamma; ++k)
    steps = emit.add(steps, reciprocal(emit.offset(z, k)));
  Value far = emit.select(isNear, emit.offset(z, kFarGamma), z);
  SmallVector<double> series;
  for (auto [i, number] : llvm::enumerate(kBernoulli))
    series.push_back(number / (2 * (static_cast<double>(i) + 1)));
  Value inverse = reciprocal(far), square = emit.mul(inverse, inverse);
  Value rest = emit.add(emit.scale(inverse, 0.5), emit.mul(square, polynomial(square, series)));
  Value result = emit.sub(emit.log(far), rest);
  result = emit.sub(result, emit.select(isNear, steps, emit.zerosLike(steps)));
  Value part = fractionalPart(x), angle = emit.scale(part, kPi);
  Value cotangent = emit.div(emit.cosine(angle), emit.sine(angle));
  Value reflected = emit.sub(result, emit.scale(cotangent, kPi));
  Value isPole = compare(Direction::EQ, part, 0);
  reflected = emit.select(isPole, nan(x), reflected);
  return emit.select(isReflected, reflected, result);
}

/// The power series, and Hankel's expansion for large arguments (Abramowitz and Stegun 9.6.10 and
/// 9.7.1). Both are positive; the function is odd.
Value Functions::besselI1e(Value x) {
  Value a = emit.abs(x), isNear = compare(Direction::LT, a, kFarBessel);
  SmallVector<double> near, far;
  double term = 0.5;
  for (int k = 1; k <= 36; ++k) {
    near.push_back(term);
    term /= 4.0 * k * (k + 1);
  }
  term = 1;
  for (int k = 1; k <= 26; ++k) {
    far.push_back(term);
    term *= -(4.0 - (2 * k - 1) * (2 * k - 1)) / (8.0 * k);
  }
  // Outside its range, this series must not overflow.
  Value small = emit.select(isNear, a, emit.zerosLike(a));
  Value large = emit.select(isNear, like(a, kFarBessel), a);
  Value nearby = emit.mul(emit.mul(small, polynomial(emit.mul(small, small), near)),
                          emit.exp(emit.neg(small)));
  Value away = emit.mul(polynomial(reciprocal(large), far), emit.rsqrt(emit.scale(large, 2 * kPi)));
  Value magnitude = emit.select(isNear, nearby, away);
  // True for -0 and NaN as well.
  Value isZero = compare(Direction::EQ, x, 0);
  return emit.select(isZero, x, emit.mul(magnitude, emit.sign(x)));
}

/// The Euler-Maclaurin formula: the first terms, then the integral of the rest and corrections by
/// Bernoulli numbers.
Value Functions::zetaOfPositive(Value s, Value q) {
  constexpr int kTerms = 12;
  Value negative = emit.neg(s), sum = emit.pow(q, negative);
  for (int k = 1; k < kTerms; ++k)
    sum = emit.add(sum, emit.pow(emit.offset(q, k), negative));
  Value a = emit.offset(q, kTerms), power = emit.pow(a, negative);
  sum = emit.add(sum, emit.div(emit.mul(power, a), emit.offset(s, -1)));
  sum = emit.add(sum, emit.scale(power, 0.5));
  Value factor = emit.div(emit.mul(s, power), a), square = emit.mul(a, a);
  double factorial = 1;
  for (auto [i, number] : llvm::enumerate(kBernoulli)) {
    double k = 2 * static_cast<double>(i);
    factorial *= (k + 1) * (k + 2);
    sum = emit.add(sum, emit.scale(factor, number / factorial));
    factor =
        emit.div(emit.mul(factor, emit.mul(emit.offset(s, k + 1), emit.offset(s, k + 2))), square);
  }
  return sum;
}

/// Below zero, with f = q - floor(q), the terms left of zero are those of 1 - f up to -q: zeta(s,
/// q) = zeta(s, f) + (-1)^s (zeta(s, 1 - f) - zeta(s, 1 - q)).
Value Functions::zeta(Value s, Value q) {
  Value isLeft = compare(Direction::LE, q, 0), isPole = emit.bitAnd(isLeft, isInteger(q));
  Value one = like(q, 1), inside = emit.select(isPole, one, q);
  Value part = emit.sub(inside, floor(inside));
  Value right = zetaOfPositive(s, emit.select(isLeft, part, inside));
  Value mirrored = zetaOfPositive(s, emit.select(isLeft, emit.sub(one, part), one)),
        beyond = zetaOfPositive(s, emit.select(isLeft, emit.sub(one, inside), one));
  // Terms that cancel are subtracted first.
  Value even = emit.sub(emit.add(right, mirrored), beyond),
        odd = emit.add(emit.sub(right, mirrored), beyond);
  Value both = emit.select(isEven(s), even, odd);
  Value result = emit.select(isLeft, both, right);
  Value isDefined = compare(Direction::GT, s, 1);
  result = emit.select(isDefined, result, nan(s));
  result =
      emit.select(emit.bitAnd(isLeft, emit.compare(Direction::NE, floor(s), s)), nan(s), result);
  // On both sides of a pole the terms agree in sign if s is even.
  Value atPole = emit.select(isEven(s), like(s, kInfinity), nan(s));
  result = emit.select(isPole, atPole, result);
  return emit.select(compare(Direction::EQ, s, 1), like(s, kInfinity), result);
}

Value Functions::polygamma(Value order, Value x) {
  auto make = [&](auto tag, ValueRange operands) -> Value {
    return decltype(tag)::create(emit.builder, emit.loc, x.getType(), operands);
  };
  Value next = emit.offset(order, 1), factorial = emit.exp(make(chlo::LgammaOp(), next));
  Value magnitude = emit.mul(factorial, make(chlo::ZetaOp(), {next, x}));
  Value result = emit.select(isEven(order), emit.neg(magnitude), magnitude);
  Value isOrder = emit.bitAnd(compare(Direction::GT, order, 0), isInteger(order));
  result = emit.select(isOrder, result, nan(x));
  return emit.select(compare(Direction::EQ, order, 0), make(chlo::DigammaOp(), x), result);
}

Value mlir::st::lowerSpecialFunction(Emitter &emit, Operation *op) {
  if (!isa<chlo::LgammaOp, chlo::DigammaOp, chlo::BesselI1eOp, chlo::ZetaOp, chlo::PolygammaOp>(op))
    return nullptr;
  Type element = Emitter::typeOf(op->getResult(0)).getElementType();
  Type wide = Float64Type::get(element.getContext());
  Value x = emit.convert(op->getOperand(0), wide);
  Functions functions(emit);
  Value result =
      TypeSwitch<Operation *, Value>(op)
          .Case([&](chlo::LgammaOp) { return functions.logGamma(x); })
          .Case([&](chlo::DigammaOp) { return functions.digamma(x); })
          .Case([&](chlo::ZetaOp f) { return functions.zeta(x, emit.convert(f.getRhs(), wide)); })
          .Case([&](chlo::PolygammaOp f) {
            return functions.polygamma(x, emit.convert(f.getRhs(), wide));
          })
          .Default([&](Operation *) { return functions.besselI1e(x); });
  return emit.convert(result, element);
}
