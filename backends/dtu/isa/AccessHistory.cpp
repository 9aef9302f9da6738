#include "backends/dtu/isa/AccessHistory.h"

namespace st::dtu {

bool AccessBox::extend(const StridedBytes &next, uint32_t time) {
  if (!next.hasShapeOf(unit))
    return false;
  int64_t distance = next.low - unit.low;
  if (count == 1 && distance != 0)
    delta = distance;
  if (distance != 0 && distance != count * delta)
    return false;
  if (distance != 0)
    all = unit.repeated(++count, delta);
  last = std::max(last, time);
  return true;
}

void AccessTrail::add(const MemoryAccess &access, bool mayJoin) {
  low = std::min(low, access.bytes.low);
  high = std::max(high, access.bytes.high);
  last = access.time;
  if (mayJoin && !boxes.empty() && boxes.back().extend(access.bytes, access.time))
    return;
  // A row of accesses is one of the rows before it.
  if (mayJoin && boxes.size() > 1) {
    AccessBox &row = boxes.back(), &rows = boxes[boxes.size() - 2];
    if (rows.extend(row.all, row.last))
      boxes.pop_back();
  }
  if (mayJoin && !boxes.empty()) {
    AccessBox &row = boxes.back();
    row.unit = row.all;
    row.count = 1;
  }
  boxes.emplace_back(access.bytes, access.time);
}

size_t AccessHistory::find(const MemoryAccess &access, const VectorClock &clock,
                           std::vector<Race> &races) const {
  size_t compared = trails.size();
  for (const AccessTrail &trail : trails) {
    if (trail.instance == access.instance || (!trail.isWrite && !access.isWrite) ||
        trail.last <= clock[trail.instance] || trail.low >= access.bytes.high ||
        access.bytes.low >= trail.high)
      continue;
    compared += trail.boxes.size();
    for (const AccessBox &box : trail.boxes)
      if (box.last > clock[trail.instance] && box.all.meets(access.bytes))
        races.push_back({&trail, &box});
  }
  return compared;
}

bool AccessHistory::isForgotten(const MemoryAccess &access, const VectorClock &clock) {
  if (!users.insert(access.instance).second)
    return false;
  return std::any_of(forgotten.begin(), forgotten.end(), [&](const auto &entry) {
    return entry.first != access.instance && entry.second > clock[entry.first];
  });
}

void AccessHistory::add(const MemoryAccess &access, bool mayJoin) {
  auto trail = std::find_if(trails.begin(), trails.end(), [&](const AccessTrail &known) {
    return known.instance == access.instance && known.pc == access.pc &&
           known.isWrite == access.isWrite;
  });
  if (trail == trails.end())
    trail = trails.insert(trail, AccessTrail{access.instance,
                                             access.pc,
                                             access.isWrite,
                                             access.bytes.low,
                                             access.bytes.high,
                                             0,
                                             {}});
  trail->add(access, mayJoin);
  ++added;
}

void AccessHistory::forget(const std::vector<VectorClock> &bounds, bool byUsers) {
  size_t left = 0;
  for (AccessTrail &trail : trails) {
    uint32_t known = UINT32_MAX;
    for (size_t i = 0; i < bounds.size(); ++i)
      if (i != trail.instance && (!byUsers || users.count(i)))
        known = std::min(known, bounds[i][trail.instance]);
    auto isKnown = [&](const AccessBox &box) {
      if (box.last > known)
        return false;
      uint32_t &last = forgotten[trail.instance];
      last = std::max(last, box.last);
      return true;
    };
    trail.boxes.erase(std::remove_if(trail.boxes.begin(), trail.boxes.end(), isKnown),
                      trail.boxes.end());
    left += trail.boxes.size();
  }
  trails.erase(std::remove_if(trails.begin(), trails.end(),
                              [](const AccessTrail &trail) { return trail.boxes.empty(); }),
               trails.end());
  added = left;
  threshold = std::max<size_t>(kFew, 2 * left);
}

} // namespace st::dtu
