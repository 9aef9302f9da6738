// Conversions between element types with the semantics of StableHLO's convert: floats round to
// nearest even, floats to integers truncate and clamp, NaN becomes 0, and any nonzero value becomes
// true. Internal linkage, as in VectorMath.h.
#pragma once

#include "backends/dtu/simulator/host/TileTemplates.h"

namespace {

struct BF16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

ST_INLINE float toFloat(BF16 x) { return floatOf(static_cast<uint32_t>(x.bits) << 16); }

ST_INLINE BF16 toBF16(float x) {
  uint32_t u = bitsOf(x);
  uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
  uint32_t quiet = (u >> 16) | 0x40;
  return {static_cast<uint16_t>(x != x ? quiet : rounded)};
}

ST_INLINE float toFloat(F16 x) {
  uint32_t magnitude = x.bits & 0x7fffu, sign = (x.bits & 0x8000u) << 16;
  // The product moves the exponent and normalises denormals.
  uint32_t finite = bitsOf(floatOf(magnitude << 13) * 0x1p112f);
  uint32_t special = (magnitude << 13) | 0x7f800000u;
  return floatOf((magnitude >= 0x7c00 ? special : finite) | sign);
}

ST_INLINE F16 toF16(float x) {
  uint32_t u = bitsOf(x), magnitude = u & 0x7fffffffu, sign = (u >> 16) & 0x8000u;
  uint32_t normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1)) >> 13;
  // Adding 1/2 shifts the bits of a denormal half into the low bits.
  uint32_t denormal = bitsOf(floatOf(magnitude) + 0.5f) - bitsOf(0.5f);
  uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  uint32_t result = magnitude < 0x38800000u ? denormal : normal;
  result = magnitude >= 0x47800000u ? special : result;
  return {static_cast<uint16_t>(result | sign)};
}

/// The value of a source as f32, f64 or an integer.
template <typename S> ST_INLINE auto valueOf(S x) {
  if constexpr (__is_same(S, BF16) || __is_same(S, F16))
    return toFloat(x);
  else if constexpr (__is_same(S, Bool))
    return x.value;
  else
    return x;
}

template <typename D, typename F> ST_INLINE D floatToInteger(F x) {
  // The bounds are 0 or powers of two, so they are exact in F; values not strictly below the upper
  // bound clamp.
  constexpr F low = static_cast<F>(lowest<D>());
  constexpr F high = F(2) * static_cast<F>(Unsigned<D>(1) << (Traits<D>::bits - 2)) *
                     (Traits<D>::isSigned ? F(1) : F(2));
  bool inside = x > low && x < high;
  D value = static_cast<D>(inside ? x : F(0));
  value = x >= high ? highest<D>() : value;
  return x <= low ? lowest<D>() : value;
}

template <typename D, typename S> ST_INLINE D convertTo(S source) {
  auto x = valueOf(source);
  if constexpr (__is_same(D, Bool))
    return {static_cast<uint8_t>(x != 0)};
  else if constexpr (__is_same(D, BF16))
    return toBF16(static_cast<float>(x));
  else if constexpr (__is_same(D, F16))
    return toF16(static_cast<float>(x));
  else if constexpr (kIsFloat<decltype(x)> && !kIsFloat<D>)
    return floatToInteger<D>(x);
  else
    return static_cast<D>(x);
}

template <typename D, typename S> void convertRow(void *dst, const void *src, int64_t count) {
  D *d = static_cast<D *>(dst);
  const S *s = static_cast<const S *>(src);
  ST_VECTOR_LOOP for (int64_t i = 0; i < count; ++i) d[i] = convertTo<D>(s[i]);
}

} // namespace
