#include "backends/cuda/codegen/kernels/ElementaryFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;
using namespace mlir::cuda;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Adding this to a small number rounds the number to an integer, which is then in the low bits.
static constexpr double kRoundF64 = 6755399441055744.0; // 1.5 * 2^52
static constexpr uint64_t kRoundF64Bits = 0x4338000000000000;
static constexpr double kRoundF32 = 12582912.0; // 1.5 * 2^23
static constexpr uint64_t kRoundF32Bits = 0x4b400000;

static Type f64(Number x) { return Float64Type::get(x.value.getContext()); }
static Type f32(Number x) { return Float32Type::get(x.value.getContext()); }

/// Evaluates the polynomial with these coefficients, highest power first, with fused steps.
static Number polynomial(Number x, std::initializer_list<double> coefficients) {
  const double *next = coefficients.begin();
  Number sum = x.constant(*next++);
  for (; next != coefficients.end(); ++next)
    sum = sum.fma(x, x.constant(*next));
  return sum;
}

static Number keepNan(Number x, Number result) { return x.isNan().select(x, result); }

// ---- in f32 -------------------------------------------------------------------------------------

/// 2^n exp(r), |r| <= ln(2) / 2, with 2^n in two factors, so that denormal results round once.
/// `shifted` is n + kRoundF32.
static Number scaledExp(Number r, Number shifted) {
  Number q = polynomial(r, {0.001382130547426641, 0.008368668146431446, 0.04166825860738754,
                            0.1666652113199234, 0.4999999403953552});
  Number p = (r * r).fma(q, r) + 1;
  Number bits = shifted.bits();
  Number e = bits - bits.bitsConstant(kRoundF32Bits), half = e >> 1;
  auto powerOf2 = [](Number exponent) { return ((exponent + 127) << 23).asFloat(); };
  return p * powerOf2(half) * powerOf2(e - half);
}

static Number expF32(Number x) {
  // Beyond these bounds the result is 0 or infinite; within them n fits 8 bits.
  Number y = (x < -105).select(x.constant(-105), x);
  y = (y > 89).select(y.constant(89), y);
  Number shifted = y.fma(1.44269504, y.constant(kRoundF32));
  Number n = shifted - kRoundF32;
  Number r = n.fma(-0.693145752, y); // ln(2), high and low part
  r = n.fma(-1.42860677e-6, r);
  return keepNan(x, scaledExp(r, shifted));
}

/// The instruction is scalar.
Number mlir::cuda::approximate(Approximation function, Number x) {
  auto ofScalar = [&](Number scalar) { return scalar.call<ApproximateOp>(function); };
  if (!isa<VectorType>(x.value.getType()))
    return ofScalar(x);
  return joinElements(llvm::map_to_vector(elementsOf(x), ofScalar));
}

Number mlir::cuda::approximateOnHost(ApproximateOp op, double error) {
  OpBuilder builder(op);
  Number x(builder, op.getLoc(), op.getOperand()), result = x;
  const double minimum = std::numeric_limits<float>::min();
  auto flush = [&](Number n) { return (n.abs() < minimum).select(n.constant(0).copySign(n), n); };
  if (op.getFunction() == Approximation::Exp2) {
    Number y = (x < -127).select(x.constant(-127), x);
    y = (y > 129).select(y.constant(129), y);
    Number shifted = y + kRoundF32, n = shifted - kRoundF32;
    result = keepNan(x, scaledExp((y - n) * 0.6931471805599453, shifted));
  } else {
    result = x.constant(1) / flush(x);
  }
  if (error != 0) {
    // Chooses the sign of the error by a hash of the operand's bits.
    Number bits = x.bits();
    Number isUp =
        ((bits * bits.bitsConstant(0x9E3779B1)) & bits.bitsConstant(1 << 20)) != bits.constant(0);
    result = result * isUp.select(x.constant(1 + error), x.constant(1 - error));
  }
  return flush(result);
}

static Number exponential(Number x, Accuracy accuracy) {
  return accuracy == Accuracy::F32 ? expF32(x)
                                   : approximate(Approximation::Exp2, x * 1.4426950408889634);
}

/// 1 / x for x of at least 1.
static Number reciprocal(Number x, Accuracy accuracy) {
  return accuracy == Accuracy::F32 ? x.constant(1) / x : approximate(Approximation::Reciprocal, x);
}

/// An odd polynomial near 0, 1 - 2 / (exp(2|x|) + 1) elsewhere.
static Number tanhF32(Number x, Accuracy accuracy) {
  Number t = x.abs(), s = t * t;
  Number p = polynomial(s, {0.002205986762419343, -0.008239871822297573, 0.021723400801420212,
                            -0.05395043268799782, 0.13333231210708618, -0.3333333134651184});
  Number near = (t * s).fma(p, t);
  Number e = exponential(t * 2, accuracy) + 1;
  Number ratio = accuracy == Accuracy::F32 ? x.constant(2) / e : reciprocal(e, accuracy) * 2;
  Number far = x.constant(1) - ratio;
  return keepNan(x, (t < 0.6).select(near, far).copySign(x));
}

/// An odd polynomial near 0, 1 - exp(polynomial) elsewhere.
static Number erfF32(Number x, Accuracy accuracy) {
  Number t = x.abs(), s = t * t;
  Number p = polynomial(s, {8.281156624434516e-05, -0.0008120567072182894, 0.00519894203171134,
                            -0.026858465746045113, 0.11283675581216812, -0.37612631916999817,
                            0.12837916612625122});
  Number near = p.fma(t, t);
  Number u = (t > 3.95).select(t.constant(3.95), t);
  Number q = polynomial(u, {2.10977959795855e-05, -0.00043449949589557946, 0.004171260166913271,
                            -0.025119975209236145, 0.10828094929456711, 0.6333461403846741,
                            1.129515290260315, -0.0001747533679008484});
  Number far = x.constant(1) - exponential(-q, accuracy);
  return keepNan(x, (t < 0.92).select(near, far).copySign(x));
}

/// 1 / (1 + exp(-x)); small results keep their precision.
static Number logisticF32(Number x, Accuracy accuracy) {
  Number e = exponential(-x.abs(), accuracy);
  Number top = (x < 0).select(e, x.constant(1));
  Number result = accuracy == Accuracy::F32 ? top / (e + 1) : top * reciprocal(e + 1, accuracy);
  return keepNan(x, result);
}

// ---- through f64, accurate to the rounding at the end -------------------------------------------

static Number nearest(Number x) { return (x + kRoundF64) - kRoundF64; }

/// exp(x) + offset, with offset -1 or 0, to a relative 1e-13; |x| is clamped to
/// 700.
static Number expF64(Number x, double offset) {
  Number y = (x < -700).select(x.constant(-700), x);
  y = (y > 700).select(y.constant(700), y);
  Number n = nearest(y * 1.4426950408889634);
  Number r = n.fma(-0.6931471805599453, y);
  r = n.fma(-2.319046813846299e-17, r);
  Number q = polynomial(r, {2.7640163854073027e-06, 2.4876165743319548e-05, 0.00019841172574842607,
                            0.0013888821674013585, 0.008333333380878957, 0.04166666689097872,
                            0.16666666666583055, 0.499999999997979, 1.0000000000000024});
  Number bits = (n + kRoundF64).bits();
  Number e = bits - bits.bitsConstant(kRoundF64Bits);
  Number scale = ((e + 1023) << 52).asFloat();
  return keepNan(x, scale.fma(r * q, scale + offset));
}

/// log(x) of positive normal x. Where `isSmall` (an i1) is true, x = 1 + f is near 1 and f is
/// exact, and log(1 + f) is computed without cancellation.
static Number logF64(Number x, std::optional<Number> f = {}, std::optional<Number> isSmall = {}) {
  // m in [sqrt(1/2), sqrt(2)), x = m 2^e.
  Number bits = x.bits(), root = bits.bitsConstant(0x3fe6a09e667f3bcd);
  Number shifted = bits - root, e = shifted >> 52;
  Number m = ((shifted & bits.bitsConstant(0x000fffffffffffff)) + root).asFloat();
  Number n = (e + bits.bitsConstant(kRoundF64Bits)).asFloat() - kRoundF64;
  Number g = m - 1;
  if (f) {
    g = isSmall->select(*f, g);
    n = isSmall->select(n.constant(0), n);
  }
  Number s = g / (g + 2), z = s * s;
  Number p = polynomial(
      z, {1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3});
  Number twice = s * 2;
  return n.fma(0.6931471805599453, (twice * z).fma(p, twice));
}

/// Handles the ends of log and log1p: the result is -inf at `pole` and NaN below it.
static Number atEnds(Number x, Number result, double pole) {
  result = (x == kInfinity).select(x, result);
  result = (x == pole).select(x.constant(-kInfinity), result);
  result = (x < pole).select(x.constant(kNaN), result);
  return keepNan(x, result);
}

static Number logF32(Number x) { return atEnds(x, logF64(x.toFloat(f64(x))).toFloat(f32(x)), 0); }

static Number log1pF32(Number x) {
  Number f = x.toFloat(f64(x));
  Number isSmall = (f > -0.25) & (f < 0.375);
  Number result = atEnds(x, logF64(f + 1, f, isSmall).toFloat(f32(x)), -1);
  return (x == 0).select(x, result); // keeps the sign of zero
}

static Number expm1F32(Number x) {
  return (x == 0).select(x, expF64(x.toFloat(f64(x)), -1).toFloat(f32(x)));
}

/// 1 - erf(x) with a small relative error in its tail. For z = |x| and t = 1 / (1 + z/2), erfc(z)
/// is t exp(-z^2 + p(t)), where the polynomial p is a fit for z <= 10.5. Beyond, f32 has only 0.
static Number erfcF32(Number x) {
  Number z = x.abs().toFloat(f64(x));
  z = (z > 10.5).select(z.constant(10.5), z);
  Number t = z.constant(1) / z.fma(0.5, z.constant(1));
  Number p =
      polynomial(t, {0.18581162904241894, -1.372349356810524, 4.391175937026148, -7.86634715098157,
                     8.517235103954073, -5.732661634872424, 2.6492574368121176, -1.0656824869742485,
                     0.13302170314195727, 0.047425368155549416, 0.3788636305326202,
                     0.9997550215258242, -1.2655052003795886});
  Number tail = t * expF64((-z).fma(z, p), 0);
  Number result = (x < 0).select(tail.constant(2) - tail, tail).toFloat(f32(x));
  return keepNan(x, result);
}

/// The first 256 bits of 2 / pi after the binary point.
static constexpr uint64_t kTwoOverPi[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                          0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};

/// Reduces an angle above 2^30 to a number of quarter turns, valid in its last two bits, and the
/// remainder in radians.
///
/// With |x| = m 2^k, the product of m and the bits of 2 / pi from the (k - 2)-th on is the angle in
/// turns, modulo 1 (Payne and Hanek). 128 of these bits are more precise than f32 even next to a
/// zero.
static std::pair<Number, Number> reduceLargeAngle(Number x) {
  Number bits = x.abs().bits().toInteger(64, /*isUnsigned=*/true);
  Number m = (bits & bits.bitsConstant(0x7fffff)) | bits.bitsConstant(0x800000);
  Number first = bits.shiftLogical(23) - 152; // k - 2
  Number word = first.shiftLogical(5), shift = first & bits.bitsConstant(31);
  Number low32 = bits.bitsConstant(0xffffffff);
  // Words of the table from `word` on, shifted by `shift` bits.
  auto entry = [&](int i) {
    Number value = bits.bitsConstant(kTwoOverPi[i]);
    for (int from = 1; from <= 3; ++from)
      value = (word == from).select(bits.bitsConstant(kTwoOverPi[i + from]), value);
    return value;
  };
  SmallVector<Number> window;
  for (int i = 0; i < 4; ++i) {
    Number both = (entry(i) << 32) | entry(i + 1);
    window.push_back(both.binaryOp<arith::ShLIOp>(shift).shiftLogical(32));
  }
  Number tail = (m * window[3]).shiftLogical(32) + m * window[2];
  Number middle = m * window[1] + tail.shiftLogical(32);
  Number high = m * window[0] + middle.shiftLogical(32);
  Number turns = (high << 32) | (middle & low32); // in units of 2^-64
  Number quarter = (turns << 2) | (tail & low32).shiftLogical(30);
  // Rounds to the nearest quarter, so that the remainder is signed.
  Number isNegative = quarter < quarter.constant(0);
  Number count = turns.shiftLogical(62) + isNegative.toInteger(64, /*isUnsigned=*/true);
  Number rest = quarter.integerToFloat(f64(x), /*isUnsigned=*/false) * 8.515303950216386e-20;
  Number isLeft = x < 0;
  return {isLeft.select(-count, count), isLeft.select(-rest, rest)};
}

/// sin (quadrant 0) or cos (quadrant 1).
static Number sinCosF32(Number x, uint64_t quadrant) {
  Number y = x.toFloat(f64(x)), n = nearest(y * 0.6366197723675814);
  Number r = n.fma(-1.5707963267948966, y);
  r = n.fma(-6.123233995736766e-17, r);
  Number q = (n + kRoundF64).bits();
  auto [largeCount, largeRest] = reduceLargeAngle(x);
  Number isLarge = x.abs() >= x.constant(1073741824);
  q = isLarge.select(largeCount, q);
  r = isLarge.select(largeRest, r);
  Number s = r * r;
  Number sine = polynomial(s, {-2.4758805929757412e-08, 2.7555319063479336e-06,
                               -0.00019841263643926394, 0.0083333333249504, -0.16666666666629837});
  sine = (r * s).fma(sine, r);
  Number cosine =
      polynomial(s, {2.063116678904974e-09, -2.755525576930587e-07, 2.480157876549545e-05,
                     -0.0013888888871029883, 0.04166666666649486, -0.4999999999999945, 1.0});
  q = q + q.bitsConstant(quadrant);
  auto hasBit = [&](uint64_t bit) { return (q & q.bitsConstant(bit)) != q.constant(0); };
  Number value = hasBit(1).select(cosine, sine);
  Number result = hasBit(2).select(-value, value).toFloat(f32(x));
  result = (x.abs() < kInfinity).select(result, x - x);
  return quadrant == 0 ? (x == 0).select(x, result) : result;
}

/// An initial guess from the exponent, then Newton steps.
static Number cbrtF32(Number x) {
  Number a = x.abs().toFloat(f64(x)), bits = a.bits();
  // The bits are not negative, so a signed division works.
  Number y = (bits / bits.constant(3) + bits.bitsConstant(0x2a9f7893782da1ce)).asFloat();
  for (int i = 0; i < 4; ++i)
    y = y - (y - a / (y * y)) * (1.0 / 3);
  Number result = y.toFloat(f32(x)).copySign(x);
  Number isItself = x.isNan() | (x == 0) | (a == kInfinity);
  return isItself.select(x, result);
}

Number mlir::cuda::powF32(Number x, Number y) {
  Number a = x.abs().toFloat(f64(x)), ay = y.abs();
  Number magnitude = expF64(y.toFloat(f64(y)) * logF64(a), 0).toFloat(f32(x));
  // Integers beyond 2^24 are even.
  Number clipped = (ay < 16777216).select(ay, ay.constant(16777216));
  Number truncated = clipped.floatToInteger(32, /*isUnsigned=*/false);
  Number isInteger = truncated.integerToFloat(f32(x), /*isUnsigned=*/false) == clipped;
  Number isOdd = isInteger & ((truncated & truncated.constant(1)) != truncated.constant(0));
  Number isZero = x == 0, isInfinite = a == kInfinity, one = x.constant(1), zero = x.constant(0),
         infinity = x.constant(kInfinity), isDown = y < 0;
  magnitude = isZero.select(isDown.select(infinity, zero), magnitude);
  magnitude = isInfinite.select(isDown.select(zero, infinity), magnitude);
  Number grows = ~((a > 1) ^ (y > 0));
  Number atInfinity = (a == 1).select(one, grows.select(infinity, zero));
  magnitude = (ay == kInfinity).select(atInfinity, magnitude);
  Number bits = x.bits(), negative = bits < bits.constant(0);
  Number result = (negative & isOdd).select(-magnitude, magnitude);
  result = (negative & ~isZero & ~isInfinite & ~isInteger).select(x.constant(kNaN), result);
  result = (x.isNan() | y.isNan()).select(x + y, result);
  return ((y == 0) | (x == 1)).select(one, result);
}

Number mlir::cuda::elementaryF32(Function function, Number x, Accuracy accuracy) {
  switch (function) {
  case Function::Exp:
    return exponential(x, accuracy);
  case Function::Expm1:
    return expm1F32(x);
  case Function::Log:
    return logF32(x);
  case Function::Log1p:
    return log1pF32(x);
  case Function::Logistic:
    return logisticF32(x, accuracy);
  case Function::Tanh:
    return tanhF32(x, accuracy);
  case Function::Cbrt:
    return cbrtF32(x);
  case Function::Erf:
    return erfF32(x, accuracy);
  case Function::Erfc:
    return erfcF32(x);
  case Function::Sin:
    return sinCosF32(x, 0);
  case Function::Cos:
    return sinCosF32(x, 1);
  }
  llvm_unreachable("all functions are listed");
}
