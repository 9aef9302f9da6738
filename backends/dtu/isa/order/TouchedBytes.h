// The bytes of memory outside of a cluster that each instruction of a program touches.
#pragma once

#include "backends/dtu/isa/order/AccessHistory.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace st::dtu {

/// The bytes in [low, high) hold all that an instruction reads, or all that it writes.
struct TouchedRange {
  size_t stream;
  uint32_t pc;
  bool isWrite;
  int64_t memory, low, high;

  bool meets(const TouchedRange &other) const {
    return memory == other.memory && low < other.high && other.low < high;
  }
};

class TouchedBytes {
public:
  TouchedBytes() = default;
  /// `sizes`: the number of instructions of each stream.
  explicit TouchedBytes(const std::vector<size_t> &sizes) {
    for (size_t size : sizes)
      places.emplace_back(2 * size);
  }

  void add(size_t stream, uint32_t pc, bool isWrite, int64_t memory, const StridedBytes &bytes) {
    uint32_t &place = places[stream][2 * size_t(pc) + isWrite];
    if (place == 0) {
      all.push_back({stream, pc, isWrite, memory, bytes.low, bytes.high});
      place = static_cast<uint32_t>(all.size());
      return;
    }
    TouchedRange &range = all[place - 1];
    range.low = std::min(range.low, bytes.low);
    range.high = std::max(range.high, bytes.high);
  }
  const std::vector<TouchedRange> &ranges() const { return all; }
  void clear() {
    for (const TouchedRange &range : all)
      places[range.stream][2 * size_t(range.pc) + range.isWrite] = 0;
    all.clear();
  }

private:
  /// By stream, instruction and whether it writes: 0, or one more than the index in `all`.
  std::vector<std::vector<uint32_t>> places;
  std::vector<TouchedRange> all;
};

} // namespace st::dtu
