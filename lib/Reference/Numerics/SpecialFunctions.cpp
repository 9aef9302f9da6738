#include "lib/Reference/Numerics/SpecialFunctions.h"

#include <cmath>
#include <limits>

namespace mlir::st::ref {

double erfInverse(double x) {
  double magnitude = std::fabs(x);
  if (!(magnitude < 1))
    return magnitude == 1 ? std::copysign(std::numeric_limits<double>::infinity(), x)
                          : std::numeric_limits<double>::quiet_NaN();
  if (x == 0)
    return x;
  // Winitzki's approximation (2008), good to two digits, then Newton's method
  // on the complement, whose relative precision survives next to 1. Each step
  // doubles the digits.
  constexpr double kA = 0.147, kPi = 3.14159265358979323846;
  double log = std::log1p(-magnitude * magnitude), half = 2 / (kPi * kA) + log / 2;
  double y = std::sqrt(std::sqrt(half * half - log / kA) - half);
  for (int step = 0; step < 6; ++step) {
    double error = magnitude < 0.5 ? std::erf(y) - magnitude : (1 - magnitude) - std::erfc(y);
    y -= error * std::sqrt(kPi) / 2 * std::exp(y * y);
  }
  return std::copysign(y, x);
}

double digamma(double x) {
  constexpr double kPi = 3.14159265358979323846;
  if (x <= 0) {
    if (std::floor(x) == x)
      return std::numeric_limits<double>::quiet_NaN();
    // Omits the integer part, which would cost the tangent precision near a pole.
    return digamma(1 - x) - kPi / std::tan(kPi * (x - std::round(x)));
  }
  // The recurrence increases x until the asymptotic series (Abramowitz and Stegun 6.3.18) is exact
  // to double precision.
  double result = 0;
  for (; x < 10; x += 1)
    result -= 1 / x;
  double r = 1 / (x * x);
  double series =
      r * (1. / 12 -
           r * (1. / 120 -
                r * (1. / 252 - r * (1. / 240 - r * (1. / 132 - r * (691. / 32760 - r / 12))))));
  return result + std::log(x) - 0.5 / x - series;
}

/// For s > 1 and q > 0, by the Euler-Maclaurin formula: the first terms, then the integral of the
/// rest and corrections by Bernoulli numbers B(2k) / (2k)!.
static double zetaOfPositive(double s, double q) {
  constexpr double kBernoulli[] = {1. / 12,          -1. / 720,
                                   1. / 30240,       -1. / 1209600,
                                   1. / 47900160,    -691. / 1307674368000,
                                   1. / 74724249600, -3617. / 10670622842880000};
  double sum = 0, a = q;
  for (int k = 0; k < 12 || a < 12; ++k, a += 1)
    sum += std::pow(a, -s);
  double power = std::pow(a, -s);
  sum += power * a / (s - 1) + power / 2;
  double factor = s * power / a;
  for (int k = 0; k < 8; ++k) {
    sum += kBernoulli[k] * factor;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (a * a);
  }
  return sum;
}

double zeta(double s, double q) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (s == 1)
    return kInfinity;
  // At a pole the terms on both sides of it agree in sign if s is even. This case comes first, as
  // in XLA.
  bool isPole = q <= 0 && std::floor(q) == q;
  if (isPole && std::fmod(s, 2) == 0)
    return kInfinity;
  // A negative number to a fractional power is not a number either.
  if (isPole || !(s > 1) || (q <= 0 && std::floor(s) != s))
    return std::numeric_limits<double>::quiet_NaN();
  if (q > 0)
    return zetaOfPositive(s, q);
  // With f = q - floor(q), the terms of negative numbers have the magnitudes of positive ones, 1 -
  // f to -q. For odd s they cancel some of the other terms.
  double f = q - std::floor(q), sign = std::fmod(s, 2) == 0 ? 1 : -1;
  return zetaOfPositive(s, f) + sign * zetaOfPositive(s, 1 - f) - sign * zetaOfPositive(s, 1 - q);
}

double polygamma(double n, double x) {
  if (n == 0)
    return digamma(x);
  if (!(n > 0) || std::floor(n) != n)
    return std::numeric_limits<double>::quiet_NaN();
  double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::exp(std::lgamma(n + 1)) * zeta(n + 1, x);
}

double besselI1e(double x) {
  double magnitude = std::fabs(x), sum = 0;
  if (magnitude < 30) {
    // The power series, whose terms are all positive.
    double term = magnitude / 2;
    for (int k = 1; sum + term != sum; ++k) {
      sum += term;
      term *= magnitude * magnitude / 4 / k / (k + 1);
    }
    sum *= std::exp(-magnitude);
  } else {
    // Hankel's asymptotic expansion (Abramowitz and Stegun 9.7.1).
    double term = 1;
    for (int k = 1; k < 30; ++k) {
      sum += term;
      term *= -(4.0 - (2 * k - 1) * (2 * k - 1)) / (8 * magnitude * k);
    }
    sum /= std::sqrt(2 * 3.14159265358979323846 * magnitude);
  }
  return std::copysign(sum, x);
}

} // namespace mlir::st::ref
