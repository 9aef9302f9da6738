// Threefry-2x32 with 20 rounds, the counter-based generator of JAX.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as
// 1, 2, 3", SC 2011. Bits equal jax.random's bit for bit.
#ifndef ST_SUPPORT_THREEFRY_H
#define ST_SUPPORT_THREEFRY_H

#include <cstdint>

namespace st {

/// Two 32-bit words: a key, a counter or a block of random bits.
struct ThreefryPair {
  uint32_t x0;
  uint32_t x1;
};

/// One block: the counter encrypted under the key.
inline ThreefryPair threefry2x32(ThreefryPair key, ThreefryPair counter) {
  constexpr uint32_t kParity = 0x1BD11BDA;
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {key.x0, key.x1, key.x0 ^ key.x1 ^ kParity};
  uint32_t x0 = counter.x0 + keys[0], x1 = counter.x1 + keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (int rotation : kRotations[group % 2]) {
      x0 += x1;
      x1 = (x1 << rotation | x1 >> (32 - rotation)) ^ x0;
    }
    x0 += keys[(group + 1) % 3];
    x1 += keys[(group + 2) % 3] + group + 1;
  }
  return {x0, x1};
}

/// jax.random.key(seed).
inline ThreefryPair threefryKey(uint64_t seed) {
  return {static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(seed)};
}

/// jax.random.fold_in(key, data).
inline ThreefryPair threefryFoldIn(ThreefryPair key, uint32_t data) {
  return threefry2x32(key, {0, data});
}

/// Element `index` (row-major) of jax.random.bits(key, shape, uint32). It is the same for every
/// shape, so a shard computes only its own elements.
inline uint32_t threefryBits(ThreefryPair key, uint64_t index) {
  ThreefryPair block = threefry2x32(key, threefryKey(index));
  return block.x0 ^ block.x1;
}

} // namespace st

#endif // ST_SUPPORT_THREEFRY_H
