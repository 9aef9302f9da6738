// Finds which of many intervals meet a given one. Intervals are stored in cells of about their own
// size (a hierarchical grid: Ericson, Real-Time Collision Detection, 2005, 7.2).
#pragma once

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

#include <array>
#include <cstdint>
#include <vector>

namespace st::dtu {

class IntervalGrid {
public:
  /// Adds [low, high) and returns its number; numbers count from 0.
  uint32_t add(int64_t low, int64_t high);
  /// Replaces an interval by a larger one.
  void grow(uint32_t number, int64_t low, int64_t high);
  /// Calls visit(number) once for each interval that overlaps [low, high), and possibly for others.
  template <typename Visit> void visit(int64_t low, int64_t high, Visit &&visit) {
    ++query;
    auto visitAll = [&](const auto &numbers) {
      for (uint32_t number : numbers)
        if (intervals[number].query != query) {
          intervals[number].query = query;
          visit(number);
        }
    };
    for (size_t i = 0; i < levels.size(); ++i) {
      Level &level = levels[i];
      if (level.members.empty())
        continue;
      const int64_t first = cellOf(low, i), last = cellOf(high - 1, i);
      if (static_cast<uint64_t>(last - first) >= level.cells.size()) {
        visitAll(level.members);
        continue;
      }
      for (int64_t cell = first; cell <= last; ++cell)
        if (auto found = level.cells.find(cell); found != level.cells.end())
          visitAll(found->second);
    }
  }
  size_t size() const { return intervals.size(); }

private:
  static constexpr int kFirstBits = 12, kBits = 2; ///< of cells: 4 KiB, 16 KiB, ...
  struct Interval {
    int64_t low, high;
    size_t level;
    uint64_t query = 0; ///< the last query that found it
  };
  struct Level {
    absl::flat_hash_map<int64_t, absl::InlinedVector<uint32_t, 4>> cells;
    std::vector<uint32_t> members;
  };

  static int64_t cellOf(int64_t at, size_t level) {
    return at >> (kFirstBits + kBits * static_cast<int>(level));
  }
  size_t levelOf(int64_t bytes) const;
  /// Puts an interval into its cells, except those of [keptLow, keptHigh).
  void place(uint32_t number, int64_t keptLow, int64_t keptHigh);

  std::vector<Interval> intervals;
  std::array<Level, 24> levels;
  uint64_t query = 0;
};

} // namespace st::dtu
