// A set of bytes of a memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace mlir::dtu {

/// Stored as ranges that neither overlap nor touch, so both operations take logarithmic time.
class ByteRanges {
public:
  bool overlaps(int64_t begin, int64_t end) const {
    auto next = ranges.lower_bound(end);
    return begin < end && next != ranges.begin() && std::prev(next)->second > begin;
  }

  void insert(int64_t begin, int64_t end) {
    if (begin >= end)
      return;
    auto range = ranges.upper_bound(end);
    while (range != ranges.begin() && std::prev(range)->second >= begin) {
      --range;
      begin = std::min(begin, range->first);
      end = std::max(end, range->second);
      range = ranges.erase(range);
    }
    ranges[begin] = end;
  }

private:
  std::map<int64_t, int64_t> ranges; ///< begin -> end
};

} // namespace mlir::dtu
