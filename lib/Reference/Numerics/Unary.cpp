#include "lib/Reference/Numerics/Complex.h"
#include "lib/Reference/Numerics/Elementwise.h"
#include "lib/Reference/Numerics/ElementwiseLoops.h"
#include "lib/Reference/Numerics/SpecialFunctions.h"
#include "llvm/ADT/bit.h"

#include <cmath>

namespace mlir::st::ref {
namespace {

template <class Fn> Tensor floatMap(const Tensor &x, Fn fn) {
  return dispatchAll(x.getType(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (isFloat<T>)
      return mapUnary<T, T>(x.getType(), x, fn);
    else
      return Tensor();
  });
}

// For transcendental functions: evaluated in double, rounded to the result.
template <class Fn> Tensor accurateMap(const Tensor &x, Fn fn) {
  return floatMap(x, [fn](auto v) { return fn(static_cast<double>(v)); });
}

template <class Fn> Tensor integerMap(const Tensor &x, Fn fn) {
  return dispatchAll(x.getType(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (isInteger<T>)
      return mapUnary<T, T>(x.getType(), x, fn);
    else
      return Tensor();
  });
}

// Arithmetic on the unsigned type wraps instead of being undefined.
struct Negate {
  template <class T> T operator()(T v) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(v));
    else
      return -v;
  }
};

struct Absolute {
  template <class T> T operator()(T v) const {
    if constexpr (std::is_integral_v<T>)
      return v < 0 ? Negate()(v) : v;
    else
      return std::fabs(v);
  }
};

struct Sign {
  template <class T> T operator()(T v) const {
    return v > T(0) ? T(1) : v < T(0) ? T(-1) : v; // NaN and both zeros stay
  }
};

struct Square {
  template <class T> T operator()(T v) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(v) * static_cast<uint64_t>(v));
    else
      return v * v;
  }
};

double logistic(double v) {
  // The exponential never overflows.
  double e = std::exp(-std::fabs(v));
  return v >= 0 ? 1 / (1 + e) : e / (1 + e);
}

template <class Fn> Tensor numericMap(const Tensor &x, Fn fn) {
  return isFloatType(x.getType()) ? floatMap(x, fn) : integerMap(x, fn);
}

Tensor logicalNot(const Tensor &x) {
  if (x.getType() == ElementType::BOOL)
    return mapUnary<bool, bool>(x.getType(), x, [](bool v) { return !v; });
  return integerMap(x, [](auto v) { return static_cast<decltype(v)>(~v); });
}

Tensor countBits(UnaryKind kind, const Tensor &x) {
  return integerMap(x, [kind](auto v) {
    auto bits = static_cast<std::make_unsigned_t<decltype(v)>>(v);
    return static_cast<decltype(v)>(kind == UnaryKind::PopulationCount ? llvm::popcount(bits)
                                                                       : llvm::countl_zero(bits));
  });
}

Tensor rounding(UnaryKind kind, const Tensor &x) {
  switch (kind) {
  case UnaryKind::Ceil:
    return floatMap(x, [](auto v) { return std::ceil(v); });
  case UnaryKind::Floor:
    return floatMap(x, [](auto v) { return std::floor(v); });
  case UnaryKind::RoundAwayFromZero:
    return floatMap(x, [](auto v) { return std::round(v); });
  default:
    return floatMap(x, [](auto v) { return std::nearbyint(v); });
  }
}

Tensor transcendental(UnaryKind kind, const Tensor &x) {
  switch (kind) {
  case UnaryKind::Acos:
    return accurateMap(x, [](double v) { return std::acos(v); });
  case UnaryKind::Acosh:
    return accurateMap(x, [](double v) { return std::acosh(v); });
  case UnaryKind::Asin:
    return accurateMap(x, [](double v) { return std::asin(v); });
  case UnaryKind::Asinh:
    return accurateMap(x, [](double v) { return std::asinh(v); });
  case UnaryKind::Atan:
    return accurateMap(x, [](double v) { return std::atan(v); });
  case UnaryKind::Atanh:
    return accurateMap(x, [](double v) { return std::atanh(v); });
  case UnaryKind::BesselI1e:
    return accurateMap(x, besselI1e);
  case UnaryKind::Cbrt:
    return accurateMap(x, [](double v) { return std::cbrt(v); });
  case UnaryKind::Cos:
    return accurateMap(x, [](double v) { return std::cos(v); });
  case UnaryKind::Cosh:
    return accurateMap(x, [](double v) { return std::cosh(v); });
  case UnaryKind::Digamma:
    return accurateMap(x, digamma);
  case UnaryKind::Erf:
    return accurateMap(x, [](double v) { return std::erf(v); });
  case UnaryKind::ErfInv:
    return accurateMap(x, erfInverse);
  case UnaryKind::Erfc:
    return accurateMap(x, [](double v) { return std::erfc(v); });
  case UnaryKind::Exp:
    return accurateMap(x, [](double v) { return std::exp(v); });
  case UnaryKind::Expm1:
    return accurateMap(x, [](double v) { return std::expm1(v); });
  case UnaryKind::Lgamma:
    return accurateMap(x, [](double v) { return std::lgamma(v); });
  case UnaryKind::Log:
    return accurateMap(x, [](double v) { return std::log(v); });
  case UnaryKind::Log1p:
    return accurateMap(x, [](double v) { return std::log1p(v); });
  case UnaryKind::Logistic:
    return accurateMap(x, logistic);
  case UnaryKind::Rsqrt:
    return accurateMap(x, [](double v) { return 1 / std::sqrt(v); });
  case UnaryKind::Sin:
    return accurateMap(x, [](double v) { return std::sin(v); });
  case UnaryKind::Sinh:
    return accurateMap(x, [](double v) { return std::sinh(v); });
  case UnaryKind::Tan:
    return accurateMap(x, [](double v) { return std::tan(v); });
  case UnaryKind::Tanh:
    return accurateMap(x, [](double v) { return std::tanh(v); });
  default:
    return Tensor();
  }
}

} // namespace

Tensor unary(UnaryKind kind, const Tensor &operand) {
  if (isComplexType(operand.getType()))
    return complexUnary(kind, operand);
  switch (kind) {
  case UnaryKind::Abs:
    return numericMap(operand, Absolute());
  case UnaryKind::Neg:
    return numericMap(operand, Negate());
  case UnaryKind::Sign:
    return numericMap(operand, Sign());
  case UnaryKind::Square:
    return numericMap(operand, Square());
  case UnaryKind::Conj:
    return isFloatType(operand.getType()) ? operand : Tensor();
  case UnaryKind::Not:
    return logicalNot(operand);
  case UnaryKind::CountLeadingZeros:
  case UnaryKind::PopulationCount:
    return countBits(kind, operand);
  case UnaryKind::Ceil:
  case UnaryKind::Floor:
  case UnaryKind::RoundAwayFromZero:
  case UnaryKind::RoundToEven:
    return rounding(kind, operand);
  case UnaryKind::Sqrt:
    // Correctly rounded in every format, unlike the transcendental functions.
    return floatMap(operand, [](auto v) { return std::sqrt(v); });
  default:
    return transcendental(kind, operand);
  }
}

Tensor isFinite(const Tensor &operand) {
  return dispatchAll(operand.getType(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (isFloat<T>)
      return mapUnary<bool, T>(ElementType::BOOL, operand, [](auto v) { return std::isfinite(v); });
    else
      return Tensor();
  });
}

} // namespace mlir::st::ref
