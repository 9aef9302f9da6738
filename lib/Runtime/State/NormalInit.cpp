#include "lib/Runtime/State/NormalInit.h"

#include <cmath>
#include <cstring>

namespace st {
namespace {

inline float bitsToFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline uint32_t floatToBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// ln u for normal u > 0: u = m 2^e with m in [sqrt(1/2), sqrt(2)), and ln m as the series of 2
// artanh(s), s = (m - 1) / (m + 1), truncated below half a unit in the last place.
inline float logarithm(float u) {
  uint32_t bits = floatToBits(u) - 0x3F3504F3;
  float exponent = static_cast<float>(static_cast<int32_t>(bits) >> 23);
  float m = bitsToFloat((bits & 0x007FFFFF) + 0x3F3504F3);
  float s = (m - 1.0f) / (m + 1.0f), s2 = s * s;
  float series = 2.0f + s2 * (2.0f / 3 + s2 * (2.0f / 5 + s2 * (2.0f / 7 + s2 * (2.0f / 9))));
  return s * series + exponent * 0.693147181f;
}

// cos(2 pi t) for t in [0, 1) as sin(2 pi q) with |q| <= 1/4, by its Taylor series.
inline float cosineOfTurns(float t) {
  float q = 0.25f - (t < 0.5f ? t : 1.0f - t);
  float x = q * 6.28318531f, x2 = x * x;
  float series =
      1.0f +
      x2 * (-1.0f / 6 + x2 * (1.0f / 120 + x2 * (-1.0f / 5040 +
                                                 x2 * (1.0f / 362880 + x2 * (-1.0f / 39916800)))));
  return x * series;
}

} // namespace

__attribute__((target_clones("avx512f", "avx2", "default"))) void
fillNormal(ThreefryPair key, uint64_t first, float stddev, float *out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint64_t index = first + static_cast<uint64_t>(i);
    ThreefryPair bits =
        threefry2x32(key, {static_cast<uint32_t>(index >> 32), static_cast<uint32_t>(index)});
    float u = (static_cast<float>(static_cast<int32_t>(bits.x0 >> 9)) + 0.5f) * 0x1p-23f;
    float t = static_cast<float>(static_cast<int32_t>(bits.x1 >> 8)) * 0x1p-24f;
    out[i] = std::sqrt(-2.0f * logarithm(u)) * cosineOfTurns(t) * stddev;
  }
}

} // namespace st
