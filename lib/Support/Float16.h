// The two 16-bit floating-point formats as storage types.
//
// Values are computed in float and stored back; every conversion rounds once,
// to nearest, ties to even.
#ifndef ST_SUPPORT_FLOAT16_H
#define ST_SUPPORT_FLOAT16_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace st {

/// Converts `x` to the narrower format with rounding to odd: inexact results end with a bit of 1. A
/// second rounding, to at least two bits fewer, then gives the same result as a single one. Boldo,
/// Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE Transactions on Computers 2008.
template <class Narrow, class Bits, class Wide> Narrow roundToOdd(Wide x) {
  Narrow rounded = static_cast<Narrow>(x);
  if (static_cast<Wide>(rounded) == x || std::isnan(x))
    return rounded;
  // Truncate: step toward zero if rounding went away from it, including infinity.
  Bits bits;
  std::memcpy(&bits, &rounded, sizeof bits);
  if (std::fabs(static_cast<Wide>(rounded)) > std::fabs(x))
    --bits;
  bits |= 1;
  std::memcpy(&rounded, &bits, sizeof bits);
  return rounded;
}

/// The upper half of an IEEE binary32.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    if (std::isnan(value))
      bits = static_cast<uint16_t>(word >> 16 | 0x40);
    else
      bits = static_cast<uint16_t>((word + 0x7FFF + (word >> 16 & 1)) >> 16);
  }
  explicit BFloat16(double value) : BFloat16(roundToOdd<float, uint32_t>(value)) {}

  operator float() const {
    uint32_t word = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
};

/// IEEE binary16.
struct Float16 {
  uint16_t bits = 0;

  Float16() = default;
  explicit Float16(float value) : bits(encode(value)) {}
  explicit Float16(double value) : Float16(roundToOdd<float, uint32_t>(value)) {}

  operator float() const {
    uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    uint32_t exponent = bits >> 10 & 0x1F, mantissa = bits & 0x3FF;
    float value;
    if (exponent == 0) {
      // A zero or a subnormal: a multiple of 2^-24, exact in float.
      value = static_cast<float>(mantissa) * 0x1p-24f;
      return sign ? -value : value;
    }
    uint32_t word = sign | (exponent == 31 ? 0x7F800000 : (exponent + 112) << 23) | mantissa << 13;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }

private:
  static uint16_t encode(float value) {
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    uint16_t sign = static_cast<uint16_t>(word >> 16 & 0x8000);
    word &= 0x7FFFFFFF;
    if (word > 0x7F800000)
      return static_cast<uint16_t>(sign | 0x7E00 | (word >> 13 & 0x1FF));
    if (word >= 0x477FF000) // 65520, the smallest number that rounds to infinity
      return sign | 0x7C00;
    if (word >= 0x38800000) // 2^-14, the smallest normal number
      return static_cast<uint16_t>(sign | ((word - 0x38000000 + 0xFFF + (word >> 13 & 1)) >> 13));
    // Subnormal: adding 0.5 makes float arithmetic round at the multiple of 2^-24.
    float magnitude;
    std::memcpy(&magnitude, &word, sizeof magnitude);
    magnitude += 0.5f;
    std::memcpy(&word, &magnitude, sizeof word);
    return static_cast<uint16_t>(sign | (word - 0x3F000000));
  }
};

} // namespace st

#endif // ST_SUPPORT_FLOAT16_H
