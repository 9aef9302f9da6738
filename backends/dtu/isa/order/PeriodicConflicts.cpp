#include "backends/dtu/isa/order/PeriodicConflicts.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace st::dtu {

void PeriodicOrder::Conflicts::makeTrails() {
  std::map<std::tuple<int64_t, size_t, uint32_t, bool>, Trail> found;
  for (const Record &record : search.records) {
    const MemoryAccess &access = record.access;
    const StridedBytes bytes = all(record);
    auto [entry, isNew] = found.try_emplace(
        {record.memory, access.instance, access.pc, access.isWrite},
        Trail{record.memory, bytes.low, bytes.high, access.instance, access.isWrite, {}});
    Trail &trail = entry->second;
    trail.low = std::min(trail.low, bytes.low);
    trail.high = std::max(trail.high, bytes.high);
    trail.records.push_back(&record);
  }
  for (auto &entry : found)
    trails.push_back(std::move(entry.second));
}

bool PeriodicOrder::Conflicts::any() {
  makeTrails();
  for (size_t i = 0; i < trails.size(); ++i) {
    const Trail &one = trails[i];
    if (conflictsWithHistory(one))
      return true;
    for (size_t k = i + 1; k < trails.size() && trails[k].memory == one.memory; ++k) {
      const Trail &other = trails[k];
      if (other.instance == one.instance || (!one.isWrite && !other.isWrite) ||
          one.low >= other.high || other.low >= one.high)
        continue;
      for (const Record *record : one.records)
        for (const Record *theirs : other.records)
          if (meet(*record, *theirs))
            return true;
    }
  }
  return false;
}

bool PeriodicOrder::Conflicts::meet(const Record &one, const Record &other) {
  ++compared;
  if (one.change == other.change)
    return conflictsWithEarlier(one, other) || conflictsWithEarlier(other, one);
  return all(one).meets(all(other));
}

bool PeriodicOrder::Conflicts::conflictsWithEarlier(const Record &later, const Record &earlier) {
  const size_t other = earlier.access.instance;
  const int64_t known = later.known[other], time = earlier.access.time, change = later.change;
  // The two accesses of one repetition were compared and keep their distance in all others.
  if (isFresh(later, other)) {
    for (int64_t back = 1; back <= times && time - back * gain.times[other] > known; ++back) {
      if (later.access.bytes.meets(earlier.access.bytes.shifted(-back * change)))
        return true;
      if (change == 0)
        break;
    }
    return false;
  }
  if (gain.times[other] == 0 && time <= known)
    return false;
  return later.access.bytes.meets(earlier.access.bytes.repeated(times + 1, -change));
}

bool PeriodicOrder::Conflicts::conflictsWithHistory(const Trail &trail) {
  return periodic.state.memories[trail.memory].anyOther(
      trail.instance, trail.isWrite, trail.low, trail.high,
      [&](size_t other, const AccessBox &box) {
        return std::any_of(trail.records.begin(), trail.records.end(), [&](const Record *record) {
          return conflictsWithBox(*record, other, box);
        });
      });
}

bool PeriodicOrder::Conflicts::conflictsWithBox(const Record &record, size_t other,
                                                const AccessBox &box) {
  // Accesses of the followed repetition are compared as records.
  if (box.first > periodic.timeOf(search.from, other))
    return false;
  ++compared;
  const StridedBytes &bytes = record.access.bytes;
  const int64_t known = record.known[other], change = record.change;
  if (isFresh(record, other)) {
    for (int64_t on = 1; on <= times && box.last > known + on * gain.times[other]; ++on)
      if (bytes.shifted(on * change).meets(box.all))
        return true;
    return false;
  }
  return box.last > known && bytes.shifted(change).repeated(times, change).meets(box.all);
}

} // namespace st::dtu
