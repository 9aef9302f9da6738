#include "lib/Reference/Numerics/Elementwise.h"
#include "lib/Reference/Numerics/ElementwiseLoops.h"

#include <cmath>
#include <limits>

namespace mlir::st::ref {
namespace {

// Toward zero; a value out of range becomes the nearest bound, NaN becomes 0.
template <class To, class From> To truncate(From value) {
  if (std::isnan(value))
    return 0;
  // The first integer past the maximum is a power of two and exact in any float.
  constexpr From kPast = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
  if (value >= kPast)
    return std::numeric_limits<To>::max();
  if (value < static_cast<From>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  return static_cast<To>(value);
}

template <class To, class From> To convertElement(From value) {
  if constexpr (isBool<To>) {
    return value != From(0);
  } else if constexpr (isComplex<From> && !isComplex<To>) {
    return convertElement<To>(value.real());
  } else if constexpr (isComplex<To> && !isComplex<From>) {
    return To(static_cast<typename To::value_type>(value));
  } else if constexpr (isInteger<To> && std::is_floating_point_v<From>) {
    return truncate<To>(value);
  } else if constexpr (isFloat16<To> && std::is_integral_v<From>) {
    // Through a double that is rounded to odd, so that the result is rounded once.
    return To(::st::roundToOdd<double, uint64_t>(static_cast<long double>(value)));
  } else {
    return static_cast<To>(value);
  }
}

// See the header. The rounding acts on the bits, where the exponent field is
// above the mantissa, so that a carry out of the mantissa raises the exponent.
template <class Float, class Bits>
Float reduceElement(Float value, int exponentBits, int mantissaBits) {
  constexpr int kMantissa = std::numeric_limits<Float>::digits - 1;
  constexpr int kExponent = static_cast<int>(sizeof(Float)) * 8 - 1 - kMantissa;
  constexpr Bits kSign = Bits(1) << (sizeof(Bits) * 8 - 1);
  if (!std::isfinite(value))
    return value;
  Bits bits;
  std::memcpy(&bits, &value, sizeof bits);
  Bits sign = bits & kSign, magnitude = bits & ~kSign;
  if (mantissaBits < kMantissa) {
    int dropped = kMantissa - mantissaBits;
    Bits half = (Bits(1) << (dropped - 1)) - 1 + (magnitude >> dropped & 1);
    magnitude = (magnitude + half) >> dropped << dropped;
  }
  if (exponentBits < kExponent) {
    Bits bias = (Bits(1) << (kExponent - 1)) - 1, reducedBias = (Bits(1) << (exponentBits - 1)) - 1;
    Bits exponent = magnitude >> kMantissa;
    if (exponent > bias + reducedBias)
      magnitude = ((Bits(1) << kExponent) - 1) << kMantissa;
    else if (exponent <= bias - reducedBias)
      magnitude = 0;
  }
  bits = sign | magnitude;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

} // namespace

Tensor convert(const Tensor &operand, ElementType type) {
  if (operand.getType() == type)
    return operand;
  return dispatchAll(operand.getType(), [&](auto fromTag) {
    using From = decltype(fromTag);
    return dispatchAll(type, [&](auto toTag) {
      using To = decltype(toTag);
      return mapUnary<To, From>(type, operand,
                                [](Compute<From> v) { return convertElement<To>(v); });
    });
  });
}

Tensor reducePrecision(const Tensor &operand, int exponentBits, int mantissaBits) {
  return dispatchAll(operand.getType(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!isFloat<T>) {
      return Tensor();
    } else {
      using Bits = std::conditional_t<sizeof(Compute<T>) == 8, uint64_t, uint32_t>;
      return mapUnary<T, T>(operand.getType(), operand, [&](Compute<T> v) {
        return reduceElement<Compute<T>, Bits>(v, exponentBits, mantissaBits);
      });
    }
  });
}

} // namespace mlir::st::ref
