#include "backends/dtu/isa/order/IntervalGrid.h"

namespace st::dtu {

/// The first level at which an interval is in at most two cells.
size_t IntervalGrid::levelOf(int64_t bytes) const {
  size_t level = 0;
  while (level + 1 < levels.size() && cellOf(bytes - 1, level) > 0)
    ++level;
  return level;
}

void IntervalGrid::place(uint32_t number, int64_t keptLow, int64_t keptHigh) {
  const Interval &interval = intervals[number];
  const size_t at = interval.level;
  for (int64_t cell = cellOf(interval.low, at); cell <= cellOf(interval.high - 1, at); ++cell)
    if (keptLow == keptHigh || cell < cellOf(keptLow, at) || cell > cellOf(keptHigh - 1, at))
      levels[at].cells[cell].push_back(number);
}

uint32_t IntervalGrid::add(int64_t low, int64_t high) {
  const auto number = static_cast<uint32_t>(intervals.size());
  intervals.push_back({low, high, levelOf(high - low)});
  levels[intervals.back().level].members.push_back(number);
  place(number, 0, 0);
  return number;
}

void IntervalGrid::grow(uint32_t number, int64_t low, int64_t high) {
  Interval &interval = intervals[number];
  if (low >= interval.low && high <= interval.high)
    return;
  const Interval before = interval;
  interval.low = low;
  interval.high = high;
  interval.level = levelOf(high - low);
  if (interval.level == before.level) {
    place(number, before.low, before.high);
    return;
  }
  levels[interval.level].members.push_back(number);
  place(number, 0, 0);
}

} // namespace st::dtu
