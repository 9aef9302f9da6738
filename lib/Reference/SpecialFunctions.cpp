#include "lib/Reference/SpecialFunctions.h"

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
    return digamma(1 - x) - kPi / std::tan(kPi * x);
  }
  // The recurrence carries x to where the asymptotic series (Abramowitz and
  // Stegun 6.3.18) is exact to double precision.
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

} // namespace mlir::st::ref
