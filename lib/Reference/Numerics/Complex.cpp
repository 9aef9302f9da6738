#include "lib/Reference/Numerics/Complex.h"

#include "lib/Reference/Numerics/DataMovement.h"
#include "lib/Reference/Numerics/ElementwiseLoops.h"

#include <cmath>
#include <limits>

namespace mlir::st::ref {
namespace {

using Complex = std::complex<double>;

/// Calls `fn` with a value of the C++ type of a complex element type.
template <class Fn> Tensor dispatchComplex(ElementType type, Fn fn) {
  return type == ElementType::C64 ? fn(std::complex<float>()) : fn(Complex());
}

Complex expMinusOne(Complex z) {
  // exp(x) cos(y) - 1, without cancellation where both are small.
  double half = std::sin(z.imag() / 2);
  double real = std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half;
  return {real, std::exp(z.real()) * std::sin(z.imag())};
}

Complex logPlusOne(Complex z) {
  double x = z.real(), y = z.imag();
  // log |1 + z|; next to zero the square of the modulus is 1 plus little.
  double real = std::fabs(x) < 0.5 && std::fabs(y) < 0.5 ? std::log1p(x * (2 + x) + y * y) / 2
                                                         : std::log(std::abs(1.0 + z));
  return {real, std::atan2(y, 1 + x)};
}

Complex sign(Complex z) { return z == 0.0 ? z : z / std::abs(z); }

Complex power(Complex x, Complex y) {
  if (x == 0.0) {
    if (y == 0.0)
      return 1.0;
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    return y.imag() == 0 && y.real() > 0 ? Complex(0) : Complex(kNan, kNan);
  }
  return std::exp(y * std::log(x));
}

Complex evaluate(UnaryKind kind, Complex z) {
  switch (kind) {
  case UnaryKind::Acos:
    return std::acos(z);
  case UnaryKind::Acosh:
    return std::acosh(z);
  case UnaryKind::Asin:
    return std::asin(z);
  case UnaryKind::Asinh:
    return std::asinh(z);
  case UnaryKind::Atan:
    return std::atan(z);
  case UnaryKind::Atanh:
    return std::atanh(z);
  case UnaryKind::Cbrt:
    return power(z, 1.0 / 3);
  case UnaryKind::Conj:
    return std::conj(z);
  case UnaryKind::Cos:
    return std::cos(z);
  case UnaryKind::Cosh:
    return std::cosh(z);
  case UnaryKind::Exp:
    return std::exp(z);
  case UnaryKind::Expm1:
    return expMinusOne(z);
  case UnaryKind::Log:
    return std::log(z);
  case UnaryKind::Log1p:
    return logPlusOne(z);
  case UnaryKind::Logistic:
    return 1.0 / (1.0 + std::exp(-z));
  case UnaryKind::Neg:
    return -z;
  case UnaryKind::Rsqrt:
    return 1.0 / std::sqrt(z);
  case UnaryKind::Sign:
    return sign(z);
  case UnaryKind::Sin:
    return std::sin(z);
  case UnaryKind::Sinh:
    return std::sinh(z);
  case UnaryKind::Sqrt:
    return std::sqrt(z);
  case UnaryKind::Square:
    return z * z;
  case UnaryKind::Tan:
    return std::tan(z);
  default:
    return std::tanh(z);
  }
}

bool isDefined(UnaryKind kind) {
  switch (kind) {
  case UnaryKind::BesselI1e:
  case UnaryKind::Ceil:
  case UnaryKind::CountLeadingZeros:
  case UnaryKind::Digamma:
  case UnaryKind::Erf:
  case UnaryKind::ErfInv:
  case UnaryKind::Erfc:
  case UnaryKind::Floor:
  case UnaryKind::Lgamma:
  case UnaryKind::Not:
  case UnaryKind::PopulationCount:
  case UnaryKind::RoundAwayFromZero:
  case UnaryKind::RoundToEven:
    return false;
  default:
    return true;
  }
}

// Returns true if x comes before y: by real, then by imaginary part.
bool precedes(Complex x, Complex y) {
  return x.real() != y.real() ? x.real() < y.real() : x.imag() < y.imag();
}

// -i log(u / sqrt(q)) with u = x + i y and q = x^2 + y^2. Its parts are computed as differences, so
// that rounding never moves a value across the branch cut. Where y is i x or -i x there is none.
Complex atan2(Complex y, Complex x) {
  constexpr double kPi = llvm::numbers::pi, kRounding = 1e-5;
  Complex u(x.real() - y.imag(), x.imag() + y.real()), q = x * x + y * y;
  double angle = std::arg(u) - std::arg(q) / 2;
  if (std::fabs(angle) > kPi + kRounding)
    angle -= std::copysign(2 * kPi, angle);
  if (q == 0.0)
    angle = std::numeric_limits<double>::quiet_NaN();
  return {angle, std::log(std::abs(q)) / 2 - std::log(std::abs(u))};
}

Complex evaluate(BinaryKind kind, Complex x, Complex y) {
  switch (kind) {
  case BinaryKind::Add:
    return x + y;
  case BinaryKind::Atan2:
    return atan2(x, y);
  case BinaryKind::Div:
    return x / y;
  case BinaryKind::Max:
    return precedes(x, y) ? y : x;
  case BinaryKind::Min:
    return precedes(y, x) ? y : x;
  case BinaryKind::Mul:
    return x * y;
  case BinaryKind::Pow:
    return power(x, y);
  default:
    return x - y;
  }
}

bool isDefined(BinaryKind kind) {
  switch (kind) {
  case BinaryKind::Add:
  case BinaryKind::Atan2:
  case BinaryKind::Div:
  case BinaryKind::Max:
  case BinaryKind::Min:
  case BinaryKind::Mul:
  case BinaryKind::Pow:
  case BinaryKind::Sub:
    return true;
  default:
    return false;
  }
}

/// Applies `fn`, from a complex number to one of its parts, to every element.
template <class Fn> Tensor mapToPart(const Tensor &x, Fn fn) {
  return dispatchComplex(x.getType(), [&](auto tag) {
    using T = decltype(tag);
    using Part = typename T::value_type;
    return mapUnary<Part, T>(sizeof(Part) == 4 ? ElementType::F32 : ElementType::F64, x, fn);
  });
}

} // namespace

Tensor complexUnary(UnaryKind kind, const Tensor &x) {
  if (kind == UnaryKind::Abs)
    return mapToPart(x, [](Complex z) { return std::abs(z); });
  if (!isDefined(kind))
    return Tensor();
  return dispatchComplex(x.getType(), [&](auto tag) {
    using T = decltype(tag);
    return mapUnary<T, T>(x.getType(), x, [kind](Complex z) { return evaluate(kind, z); });
  });
}

Tensor complexBinary(BinaryKind kind, const Tensor &x, const Tensor &y) {
  if (!isDefined(kind))
    return Tensor();
  return dispatchComplex(x.getType(), [&](auto tag) {
    using T = decltype(tag);
    return mapBinary<T, T>(x.getType(), x, y,
                           [kind](Complex a, Complex b) { return evaluate(kind, a, b); });
  });
}

Tensor complexCompare(CompareKind kind, const Tensor &x, const Tensor &y) {
  if (kind != CompareKind::EQ && kind != CompareKind::NE)
    return Tensor();
  return dispatchComplex(x.getType(), [&](auto tag) {
    return mapBinary<bool, decltype(tag)>(ElementType::BOOL, x, y, [kind](auto a, auto b) {
      return (a == b) == (kind == CompareKind::EQ);
    });
  });
}

Tensor realPart(const Tensor &operand) {
  if (!isComplexType(operand.getType()))
    return isFloatType(operand.getType()) ? operand : Tensor();
  return mapToPart(operand, [](auto z) { return z.real(); });
}

Tensor imaginaryPart(const Tensor &operand) {
  if (isComplexType(operand.getType()))
    return mapToPart(operand, [](auto z) { return z.imag(); });
  if (!isFloatType(operand.getType()))
    return Tensor();
  return splat(convert(Tensor::scalar(ElementType::F64, 0.0), operand.getType()),
               operand.getShape());
}

Tensor makeComplex(const Tensor &real, const Tensor &imaginary) {
  if (real.getType() == ElementType::F32)
    return mapBinary<std::complex<float>, float>(
        ElementType::C64, real, imaginary,
        [](float a, float b) { return std::complex<float>(a, b); });
  if (real.getType() != ElementType::F64)
    return Tensor();
  return mapBinary<Complex, double>(ElementType::C128, real, imaginary,
                                    [](double a, double b) { return Complex(a, b); });
}

} // namespace mlir::st::ref
