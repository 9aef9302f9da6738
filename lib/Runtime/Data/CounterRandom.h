// Random numbers that depend on their purpose and not on earlier draws.
#ifndef ST_RUNTIME_DATA_COUNTERRANDOM_H
#define ST_RUNTIME_DATA_COUNTERRANDOM_H

#include "lib/Support/Threefry.h"

#include <cstdint>

namespace st {

/// The sequence number `index` of a stream under a seed. Equal arguments give
/// equal numbers on every machine.
class CounterRandom {
public:
  /// The purpose of the numbers; separates the sequences.
  enum Stream : uint32_t { Examples, Order, Corpus, Classes, Lengths };

  CounterRandom(uint32_t seed, Stream stream, uint64_t index)
      : key(threefry2x32(threefryFoldIn({0x53742D64, seed}, stream), threefryKey(index))) {}

  uint32_t next() { return threefryBits(key, counter++); }

  /// Uniform on 0 .. bound-1, with a bias below bound / 2^32.
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(uint64_t{next()} * static_cast<uint64_t>(bound) >> 32);
  }

  /// True with this probability, to 2^-32.
  bool happens(double probability) { return next() < probability * 4294967296.0; }

  /// True with the probability `percent` / 100.
  bool chance(int64_t percent) { return below(100) < percent; }

private:
  ThreefryPair key;
  uint64_t counter = 0;
};

/// The image of `index` in a permutation of 0 .. count-1; each pass has another permutation. A
/// Feistel network of four rounds on the smallest even number of bits that holds `count`, applied
/// until the result is below it (Black and Rogaway 2002).
inline int64_t permute(uint32_t seed, int64_t index, int64_t count, int64_t pass) {
  const ThreefryPair key = threefryFoldIn(threefryFoldIn({0x53742D64, seed}, CounterRandom::Order),
                                          static_cast<uint32_t>(pass));
  int half = 1;
  while (half < 31 && int64_t{1} << (2 * half) < count)
    ++half;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  uint64_t value = static_cast<uint64_t>(index);
  do {
    uint64_t left = value >> half, right = value & mask;
    for (uint32_t round = 0; round < 4; ++round) {
      const uint64_t mixed = left ^ (threefryBits(key, right * 4 + round) & mask);
      left = right;
      right = mixed;
    }
    value = left << half | right;
  } while (value >= static_cast<uint64_t>(count));
  return static_cast<int64_t>(value);
}

} // namespace st

#endif // ST_RUNTIME_DATA_COUNTERRANDOM_H
