#include "backends/dtu/isa/order/AccessHistory.h"

#include <utility>

namespace st::dtu {

/// The number of an instruction's latest accesses that are kept separately.
constexpr size_t kRecent = 4;
/// The number of an instance's latest trails that are compared without a grid.
constexpr size_t kNear = 16;

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

void AccessTrail::addBox(const StridedBytes &bytes, uint32_t first, uint32_t last) {
  low = std::min(low, bytes.low);
  high = std::max(high, bytes.high);
  this->last = std::max(this->last, last);
  boxes.emplace_back(bytes, first, last);
}

void AccessTrail::joinRow(size_t at) {
  boxes[at].isRecent = false;
  auto joins = [&](size_t row, size_t next) {
    return boxes[row].extend(boxes[next].all, boxes[next].last);
  };
  if (at == 0)
    return;
  if (joins(at - 1, at)) {
    boxes.erase(boxes.begin() + static_cast<ptrdiff_t>(at));
    return;
  }
  // A row of accesses extends the row before it.
  if (at > 1 && joins(at - 2, at - 1)) {
    boxes.erase(boxes.begin() + static_cast<ptrdiff_t>(at - 1));
    --at;
  }
  AccessBox &row = boxes[at - 1];
  row.unit = row.all;
  row.count = 1;
}

void AccessTrail::add(const MemoryAccess &access, bool mayJoin) {
  addBox(access.bytes, access.time, access.time);
  boxes.back().isRecent = mayJoin;
  size_t oldest = boxes.size();
  while (oldest > 0 && boxes[oldest - 1].isRecent)
    --oldest;
  if (boxes.size() - oldest > kRecent)
    joinRow(oldest);
}

size_t AccessHistory::compare(const MemoryAccess &access, uint32_t known, const AccessTrail &trail,
                              std::vector<Race> &races) {
  if (trail.last <= known || (!trail.isWrite && !access.isWrite) ||
      trail.low >= access.bytes.high || access.bytes.low >= trail.high)
    return 0;
  for (const AccessBox &box : trail.boxes)
    if (box.last > known && box.all.meets(access.bytes))
      races.push_back({&trail, &box});
  return trail.boxes.size();
}

size_t AccessHistory::find(const MemoryAccess &access, const VectorClock &clock,
                           std::vector<Race> &races) {
  size_t compared = users.size();
  bool haveMany = false;
  for (User &user : users) {
    user.hasMany = false;
    if (user.instance == access.instance || user.last <= clock[user.instance])
      continue;
    const uint32_t known = clock[user.instance];
    size_t count = 0, first = races.size();
    for (size_t at = user.newest; at != kNone; at = user.order[at].older) {
      if (user.trails[at].last <= known)
        break;
      if (++count > kNear) {
        user.hasMany = haveMany = true;
        races.resize(first, {nullptr, nullptr});
        break;
      }
      compared += compare(access, known, user.trails[at], races);
    }
    compared += count;
  }
  if (!haveMany)
    return compared;
  if (!grid)
    makeGrid();
  const size_t first = races.size();
  grid->intervals.visit(access.bytes.low, access.bytes.high, [&](uint32_t number) {
    const Grid::Place place = grid->places[number];
    const User &user = users[place.user];
    ++compared;
    if (user.hasMany)
      compared += compare(access, clock[user.instance], user.trails[place.trail], races);
  });
  // The latest one first, as without a grid.
  std::stable_sort(races.begin() + static_cast<ptrdiff_t>(first), races.end(),
                   [](const Race &a, const Race &b) { return a.trail->last > b.trail->last; });
  return compared;
}

void AccessHistory::makeGrid() {
  grid.emplace();
  grid->numbers.resize(users.size());
  for (size_t i = 0; i < users.size(); ++i)
    for (size_t k = 0; k < users[i].trails.size(); ++k) {
      const AccessTrail &trail = users[i].trails[k];
      grid->numbers[i].push_back(grid->intervals.add(trail.low, trail.high));
      grid->places.push_back({i, k});
    }
}

bool AccessHistory::isForgotten(const MemoryAccess &access, const VectorClock &clock) {
  const bool isNew = std::none_of(users.begin(), users.end(), [&](const User &user) {
    return user.instance == access.instance;
  });
  return isNew && std::any_of(users.begin(), users.end(), [&](const User &user) {
           return user.forgotten > clock[user.instance];
         });
}

AccessHistory::User &AccessHistory::userOf(size_t instance) {
  auto user = std::find_if(users.begin(), users.end(),
                           [&](const User &known) { return known.instance == instance; });
  if (user == users.end())
    user = users.insert(user, User{instance, 0, 0, {}, {}, kNone, {}});
  return *user;
}

void AccessHistory::User::link(size_t trail) {
  size_t older = newest, newer = kNone;
  while (older != kNone && trails[older].last > trails[trail].last)
    newer = std::exchange(older, order[older].older);
  order[trail] = {older, newer};
  (newer == kNone ? newest : order[newer].older) = trail;
  if (older != kNone)
    order[older].newer = trail;
}

void AccessHistory::User::unlink(size_t trail) {
  const auto [older, newer] = order[trail];
  (newer == kNone ? newest : order[newer].older) = older;
  if (older != kNone)
    order[older].newer = newer;
}

template <typename Change> void AccessHistory::update(const MemoryAccess &access, Change &&change) {
  User &user = userOf(access.instance);
  user.last = std::max(user.last, access.time);
  const uint64_t key = uint64_t(access.pc) * 2 + access.isWrite;
  auto [place, isNew] = user.places.try_emplace(key, user.trails.size());
  const size_t at = place->second;
  if (isNew) {
    user.trails.push_back(
        {access.instance, access.pc, access.isWrite, access.bytes.low, access.bytes.high, 0, {}});
    user.order.emplace_back();
  } else {
    user.unlink(at);
  }
  if (isNew)
    user.trails[at].boxes.reserve(kRecent + 1);
  change(user.trails[at]);
  user.link(at);
  ++added;
  if (!grid)
    return;
  const AccessTrail &trail = user.trails[at];
  const auto number = static_cast<size_t>(&user - users.data());
  grid->numbers.resize(users.size());
  if (isNew) {
    grid->numbers[number].push_back(grid->intervals.add(trail.low, trail.high));
    grid->places.push_back({number, at});
  } else {
    grid->intervals.grow(grid->numbers[number][at], trail.low, trail.high);
  }
}

void AccessHistory::add(const MemoryAccess &access, bool mayJoin) {
  update(access, [&](AccessTrail &trail) { trail.add(access, mayJoin); });
}

void AccessHistory::addRow(const MemoryAccess &access, uint32_t first) {
  update(access, [&](AccessTrail &trail) { trail.addBox(access.bytes, first, access.time); });
}

void AccessHistory::forgetAll() {
  grid.reset();
  for (User &user : users)
    user = User{user.instance, 0, 0, {}, {}, kNone, {}};
  added = 0;
  threshold = kFew;
}

void AccessHistory::forget(const std::vector<VectorClock> &bounds, bool byUsers) {
  // The times that all other instances know of each instance.
  auto knownOf = [&](size_t instance) {
    uint32_t known = UINT32_MAX;
    if (byUsers) {
      for (const User &other : users)
        if (other.instance != instance)
          known = std::min(known, bounds[other.instance][instance]);
    } else {
      for (size_t i = 0; i < bounds.size(); ++i)
        if (i != instance)
          known = std::min(known, bounds[i][instance]);
    }
    return known;
  };
  grid.reset();
  size_t left = 0;
  for (User &user : users) {
    const uint32_t known = knownOf(user.instance);
    auto isKnown = [&](const AccessBox &box) {
      if (box.last > known)
        return false;
      user.forgotten = std::max(user.forgotten, box.last);
      return true;
    };
    for (AccessTrail &trail : user.trails) {
      trail.boxes.erase(std::remove_if(trail.boxes.begin(), trail.boxes.end(), isKnown),
                        trail.boxes.end());
      left += trail.boxes.size();
    }
    user.trails.erase(std::remove_if(user.trails.begin(), user.trails.end(),
                                     [](const AccessTrail &trail) { return trail.boxes.empty(); }),
                      user.trails.end());
    user.places.clear();
    user.newest = kNone;
    user.order.assign(user.trails.size(), {});
    for (size_t i = 0; i < user.trails.size(); ++i) {
      user.places[uint64_t(user.trails[i].pc) * 2 + user.trails[i].isWrite] = i;
      user.link(i);
    }
  }
  added = left;
  threshold = std::max<size_t>(kFew, 2 * left);
}

} // namespace st::dtu
