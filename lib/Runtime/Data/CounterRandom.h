// Random numbers that depend on what they are for and on nothing drawn before.
#ifndef ST_RUNTIME_DATA_COUNTERRANDOM_H
#define ST_RUNTIME_DATA_COUNTERRANDOM_H

#include "lib/Support/Threefry.h"

#include <cstdint>
#include <numeric>

namespace st {

/// The sequence number `index` of a stream under a seed. Equal arguments give
/// equal numbers on every machine.
class CounterRandom {
public:
  /// What the numbers are for; keeps the sequences apart.
  enum Stream : uint32_t { Examples, Order, Corpus, Classes };

  CounterRandom(uint32_t seed, Stream stream, uint64_t index)
      : key(threefry2x32(threefryFoldIn({0x53742D64, seed}, stream), threefryKey(index))) {}

  uint32_t next() { return threefryBits(key, counter++); }

  /// Uniform on 0 .. bound-1 but for a bias below bound / 2^32.
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(uint64_t{next()} * static_cast<uint64_t>(bound) >> 32);
  }

  /// True with the probability `percent` / 100.
  bool chance(int64_t percent) { return below(100) < percent; }

private:
  ThreefryPair key;
  uint64_t counter = 0;
};

/// Where place `index` of 0 .. count-1 goes in pass number `pass`: a different
/// permutation each pass, index -> a index + c modulo count with a prime to count.
inline int64_t permute(uint32_t seed, int64_t index, int64_t count, int64_t pass) {
  CounterRandom order(seed, CounterRandom::Order, static_cast<uint64_t>(pass));
  const int64_t offset = order.below(count);
  int64_t multiplier = 1 + order.below(count);
  while (std::gcd(multiplier, count) != 1)
    ++multiplier;
  return static_cast<int64_t>((static_cast<__int128>(multiplier) * index + offset) % count);
}

} // namespace st

#endif // ST_RUNTIME_DATA_COUNTERRANDOM_H
