// Elementary functions of f32 that a compiler vectorises: no branches, no calls.
// Every operation is written out (fused where it says fma, not otherwise), so
// each host instruction set computes the same bits. Polynomials are
// near-minimax fits, weighted for relative error; test/unit/Dtu/VectorMathTest.cpp
// holds each function to its bound.
//
// Included only by translation units that are compiled for one instruction set
// each; everything here has internal linkage so that the linker cannot pick one
// set's copy for another.
#pragma once

#include <cstdint>

namespace {

#define ST_INLINE static inline __attribute__((always_inline))

ST_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
ST_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
ST_INLINE uint32_t bitsOf(float x) { return __builtin_bit_cast(uint32_t, x); }
ST_INLINE uint64_t bitsOf(double x) { return __builtin_bit_cast(uint64_t, x); }
ST_INLINE float floatOf(uint32_t x) { return __builtin_bit_cast(float, x); }
ST_INLINE double doubleOf(uint64_t x) { return __builtin_bit_cast(double, x); }

constexpr float kInfinity = __builtin_inff();
constexpr float kNaN = __builtin_nanf("");

// ---- f32 throughout: the functions that training spends time in ---------------

/// exp, 1 ulp. exp(x) = 2^n exp(r), |r| <= ln(2)/2; 2^n in two factors, so that
/// denormal results round once.
ST_INLINE float expf32(float x) {
  // Beyond these the result is 0 or infinite, and n stays an integer of 8 bits.
  float y = x < -105.0f ? -105.0f : x;
  y = y > 89.0f ? 89.0f : y;
  constexpr float magic = 12582912.0f; // 1.5 * 2^23: adding it rounds to an integer
  float shifted = fma(y, 1.44269504f, magic);
  float n = shifted - magic;
  float r = fma(n, -0.693145752f, y); // ln(2), high and low part
  r = fma(n, -1.42860677e-6f, r);
  float q = 0.001382130547426641f;
  q = fma(q, r, 0.008368668146431446f);
  q = fma(q, r, 0.04166825860738754f);
  q = fma(q, r, 0.1666652113199234f);
  q = fma(q, r, 0.4999999403953552f);
  float p = fma(r * r, q, r) + 1.0f;
  int32_t e = static_cast<int32_t>(bitsOf(shifted) - bitsOf(magic));
  int32_t half = e >> 1;
  float scale1 = floatOf(static_cast<uint32_t>(half + 127) << 23);
  float scale2 = floatOf(static_cast<uint32_t>(e - half + 127) << 23);
  float result = p * scale1 * scale2;
  return x != x ? x : result;
}

/// tanh, 2 ulp: an odd polynomial near 0, 1 - 2 / (exp(2|x|) + 1) elsewhere.
ST_INLINE float tanhf32(float x) {
  float t = __builtin_fabsf(x);
  float s = t * t;
  float p = 0.002205986762419343f;
  p = fma(p, s, -0.008239871822297573f);
  p = fma(p, s, 0.021723400801420212f);
  p = fma(p, s, -0.05395043268799782f);
  p = fma(p, s, 0.13333231210708618f);
  p = fma(p, s, -0.3333333134651184f);
  float near = fma(t * s, p, t);
  float far = 1.0f - 2.0f / (expf32(2.0f * t) + 1.0f);
  float result = __builtin_copysignf(t < 0.6f ? near : far, x);
  return x != x ? x : result;
}

/// erf, 2 ulp: an odd polynomial near 0, 1 - exp(polynomial) elsewhere.
ST_INLINE float erff32(float x) {
  float t = __builtin_fabsf(x);
  float s = t * t;
  float p = 8.281156624434516e-05f;
  p = fma(p, s, -0.0008120567072182894f);
  p = fma(p, s, 0.00519894203171134f);
  p = fma(p, s, -0.026858465746045113f);
  p = fma(p, s, 0.11283675581216812f);
  p = fma(p, s, -0.37612631916999817f);
  p = fma(p, s, 0.12837916612625122f);
  float near = fma(p, t, t);
  float u = t > 3.95f ? 3.95f : t;
  float q = 2.10977959795855e-05f;
  q = fma(q, u, -0.00043449949589557946f);
  q = fma(q, u, 0.004171260166913271f);
  q = fma(q, u, -0.025119975209236145f);
  q = fma(q, u, 0.10828094929456711f);
  q = fma(q, u, 0.6333461403846741f);
  q = fma(q, u, 1.129515290260315f);
  q = fma(q, u, -0.0001747533679008484f);
  float far = 1.0f - expf32(-q);
  float result = __builtin_copysignf(t < 0.92f ? near : far, x);
  return x != x ? x : result;
}

/// 1 / (1 + exp(-x)), 3 ulp; small results keep their precision.
ST_INLINE float logisticf32(float x) {
  float e = expf32(-__builtin_fabsf(x));
  float result = (x < 0.0f ? e : 1.0f) / (1.0f + e);
  return x != x ? x : result;
}

ST_INLINE float rsqrtf32(float x) { return 1.0f / __builtin_sqrtf(x); }

// ---- through f64: rarer functions, accurate to the rounding at the end --------

/// Rounds to the nearest integer, for |x| < 2^51.
ST_INLINE double nearest(double x) {
  constexpr double magic = 6755399441055744.0;
  return (x + magic) - magic;
}

/// 2^n for integer n in [-1022, 1023].
ST_INLINE double power2(double n) {
  constexpr double magic = 6755399441055744.0;
  uint64_t e = bitsOf(n + magic) - bitsOf(magic);
  return doubleOf((e + 1023) << 52);
}

/// exp(x) + offset to 1e-13 relative, offset being -1 or 0, for |x| <= 700 (beyond, the
/// bound's value).
ST_INLINE double expf64(double x, double offset) {
  double y = x < -700.0 ? -700.0 : x;
  y = y > 700.0 ? 700.0 : y;
  double n = nearest(y * 1.4426950408889634);
  double r = fma(n, -0.6931471805599453, y);
  r = fma(n, -2.319046813846299e-17, r);
  double q = 2.7640163854073027e-06;
  q = fma(q, r, 2.4876165743319548e-05);
  q = fma(q, r, 0.00019841172574842607);
  q = fma(q, r, 0.0013888821674013585);
  q = fma(q, r, 0.008333333380878957);
  q = fma(q, r, 0.04166666689097872);
  q = fma(q, r, 0.16666666666583055);
  q = fma(q, r, 0.499999999997979);
  q = fma(q, r, 1.0000000000000024);
  double scale = power2(n);
  double result = fma(scale, r * q, scale + offset);
  return x != x ? x : result;
}

/// log(x) for positive normal x. If `small`, x = 1 + f is near 1 and f is exact; then this is log(1
/// + f) without cancellation.
ST_INLINE double logCore(double x, double f, bool small) {
  // m in [sqrt(1/2), sqrt(2)), x = m 2^e.
  uint64_t shifted = bitsOf(x) - 0x3fe6a09e667f3bcdull;
  int64_t e = static_cast<int64_t>(shifted) >> 52;
  double m = doubleOf((shifted & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
  constexpr double magic = 6755399441055744.0;
  double n = doubleOf(static_cast<uint64_t>(e) + bitsOf(magic)) - magic;
  double g = small ? f : m - 1.0;
  n = small ? 0.0 : n;
  double s = g / (2.0 + g), z = s * s;
  double p = 1.0 / 19;
  p = fma(p, z, 1.0 / 17);
  p = fma(p, z, 1.0 / 15);
  p = fma(p, z, 1.0 / 13);
  p = fma(p, z, 1.0 / 11);
  p = fma(p, z, 1.0 / 9);
  p = fma(p, z, 1.0 / 7);
  p = fma(p, z, 1.0 / 5);
  p = fma(p, z, 1.0 / 3);
  double log1 = fma(2.0 * s * z, p, 2.0 * s);
  return fma(n, 0.6931471805599453, log1);
}

ST_INLINE float logf32(float x) {
  float result = static_cast<float>(logCore(static_cast<double>(x), 0.0, false));
  result = x == kInfinity ? kInfinity : result;
  result = x == 0.0f ? -kInfinity : result;
  result = x < 0.0f ? kNaN : result;
  return x != x ? x : result;
}

ST_INLINE float log1pf32(float x) {
  double f = static_cast<double>(x);
  bool small = f > -0.25 && f < 0.375;
  float result = static_cast<float>(logCore(1.0 + f, f, small));
  result = x == kInfinity ? kInfinity : result;
  result = x == -1.0f ? -kInfinity : result;
  result = x < -1.0f ? kNaN : result;
  // Also keeps the sign of zero.
  return x != x || x == 0.0f ? x : result;
}

ST_INLINE float expm1f32(float x) {
  float result = static_cast<float>(expf64(static_cast<double>(x), -1.0));
  return x == 0.0f ? x : result;
}

/// 1 - erf(x), relatively exact in its tail: for z = |x| and t = 1 / (1 + z/2), erfc(z) is
/// t exp(-z^2 + p(t)), the polynomial p being a fit for z <= 10.5, beyond which f32 has only 0.
ST_INLINE float erfcf32(float x) {
  double z = static_cast<double>(__builtin_fabsf(x));
  z = z > 10.5 ? 10.5 : z;
  double t = 1.0 / fma(z, 0.5, 1.0);
  double p = 0.18581162904241894;
  p = fma(p, t, -1.372349356810524);
  p = fma(p, t, 4.391175937026148);
  p = fma(p, t, -7.86634715098157);
  p = fma(p, t, 8.517235103954073);
  p = fma(p, t, -5.732661634872424);
  p = fma(p, t, 2.6492574368121176);
  p = fma(p, t, -1.0656824869742485);
  p = fma(p, t, 0.13302170314195727);
  p = fma(p, t, 0.047425368155549416);
  p = fma(p, t, 0.3788636305326202);
  p = fma(p, t, 0.9997550215258242);
  p = fma(p, t, -1.2655052003795886);
  double tail = t * expf64(fma(-z, z, p), 0.0);
  float result = static_cast<float>(x < 0.0f ? 2.0 - tail : tail);
  return x != x ? x : result;
}

/// sin (quadrant 0) or cos (quadrant 1) of x, for |x| < 2^30.
ST_INLINE float sincosf32(float x, uint64_t quadrant) {
  double y = static_cast<double>(x);
  double n = nearest(y * 0.6366197723675814);
  double r = fma(n, -1.5707963267948966, y);
  r = fma(n, -6.123233995736766e-17, r);
  double s = r * r;
  double sine = -2.4758805929757412e-08;
  sine = fma(sine, s, 2.7555319063479336e-06);
  sine = fma(sine, s, -0.00019841263643926394);
  sine = fma(sine, s, 0.0083333333249504);
  sine = fma(sine, s, -0.16666666666629837);
  sine = fma(r * s, sine, r);
  double cosine = 2.063116678904974e-09;
  cosine = fma(cosine, s, -2.755525576930587e-07);
  cosine = fma(cosine, s, 2.480157876549545e-05);
  cosine = fma(cosine, s, -0.0013888888871029883);
  cosine = fma(cosine, s, 0.04166666666649486);
  cosine = fma(cosine, s, -0.4999999999999945);
  cosine = fma(cosine, s, 1.0);
  constexpr double magic = 6755399441055744.0;
  uint64_t q = bitsOf(n + magic) + quadrant;
  double value = q & 1 ? cosine : sine;
  float result = static_cast<float>(q & 2 ? -value : value);
  return quadrant == 0 && x == 0.0f ? x : result;
}

/// Cube root: a guess from the exponent, then Newton steps.
ST_INLINE float cbrtf32(float x) {
  double a = static_cast<double>(__builtin_fabsf(x));
  double y = doubleOf(bitsOf(a) / 3 + 0x2a9f7893782da1ceull);
  for (int i = 0; i < 4; ++i)
    y = y - (y - a / (y * y)) * (1.0 / 3);
  float result = __builtin_copysignf(static_cast<float>(y), x);
  return x != x || x == 0.0f || a == static_cast<double>(kInfinity) ? x : result;
}

/// pow as IEEE 754 defines it.
ST_INLINE float powf32(float x, float y) {
  double a = static_cast<double>(__builtin_fabsf(x));
  double b = static_cast<double>(y);
  float magnitude = static_cast<float>(expf64(b * logCore(a, 0.0, false), 0.0));
  float ay = __builtin_fabsf(y);
  // Integers beyond 2^24 are even.
  float clipped = ay < 16777216.0f ? ay : 16777216.0f;
  int32_t truncated = static_cast<int32_t>(clipped);
  bool isInteger = static_cast<float>(truncated) == clipped;
  bool isOdd = isInteger && (truncated & 1);
  bool isZero = x == 0.0f, isInfinite = a == static_cast<double>(kInfinity);
  magnitude = isZero ? (y < 0.0f ? kInfinity : 0.0f) : magnitude;
  magnitude = isInfinite ? (y < 0.0f ? 0.0f : kInfinity) : magnitude;
  bool grows = (a > 1.0) == (y > 0.0f);
  magnitude = ay == kInfinity ? (a == 1.0 ? 1.0f : grows ? kInfinity : 0.0f) : magnitude;
  bool negative = (bitsOf(x) >> 31) != 0;
  float result = negative && isOdd ? -magnitude : magnitude;
  result = negative && !isZero && !isInfinite && !isInteger ? kNaN : result;
  result = x != x || y != y ? x + y : result;
  return y == 0.0f || x == 1.0f ? 1.0f : result;
}

} // namespace
