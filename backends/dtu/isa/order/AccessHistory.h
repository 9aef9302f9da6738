// The accesses of a program's instances with which later accesses may race.
#pragma once

#include "backends/dtu/isa/StridedBytes.h"
#include "backends/dtu/isa/order/IntervalGrid.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace st::dtu {

/// The latest known time of each instance: one entry per engine of a cluster, or a single entry.
using VectorClock = absl::InlinedVector<uint32_t, 20>;

inline void join(VectorClock &to, const VectorClock &from) {
  for (size_t i = 0; i < to.size(); ++i)
    to[i] = std::max(to[i], from[i]);
}

/// One access of an instance to one memory.
struct MemoryAccess {
  StridedBytes bytes;
  size_t instance;
  uint32_t time; ///< of its instance
  uint32_t pc;
  bool isWrite;
};

/// Evenly spaced accesses by one instruction of an instance.
struct AccessBox {
  StridedBytes unit, all;
  int64_t count = 1, delta = 0;
  uint32_t first, last;  ///< times
  bool isRecent = false; ///< a single access that is not part of a row yet

  AccessBox(const StridedBytes &unit, uint32_t first, uint32_t last)
      : unit(unit), all(unit), first(first), last(last) {}

  /// Appends the next access if it continues the row; returns whether it does.
  bool extend(const StridedBytes &next, uint32_t time);
};

/// All accesses by one instruction of an instance.
struct AccessTrail {
  size_t instance;
  uint32_t pc;
  bool isWrite;
  int64_t low, high;
  uint32_t last = 0;
  std::vector<AccessBox> boxes;

  /// `mayJoin`: the access may later be joined into a row with accesses at other times, so that a
  /// race with it may be a false alarm.
  void add(const MemoryAccess &access, bool mayJoin);
  void addBox(const StridedBytes &bytes, uint32_t first, uint32_t last);

private:
  /// Joins the box with the row before it if it continues that row.
  void joinRow(size_t at);
};

/// The accesses to one memory that are not known to happen before all future accesses.
class AccessHistory {
public:
  struct Race {
    const AccessTrail *trail;
    const AccessBox *box;
  };
  /// Finds the accesses that race with this one as far as its instance knows; returns how many were
  /// compared.
  size_t find(const MemoryAccess &access, const VectorClock &clock, std::vector<Race> &races);
  /// Returns true if an instance accesses this memory for the first time and does not know of the
  /// forgotten accesses.
  bool isForgotten(const MemoryAccess &access, const VectorClock &clock);
  /// Returns true if `visit(instance, box)` is true for an access by another instance to bytes in
  /// [low, high), where one of the two writes.
  template <typename Visit>
  bool anyOther(size_t instance, bool isWrite, int64_t low, int64_t high, Visit &&visit) const {
    for (const User &of : users)
      for (const AccessTrail &trail : of.trails)
        if (of.instance != instance && (trail.isWrite || isWrite) && trail.low < high &&
            low < trail.high)
          for (const AccessBox &box : trail.boxes)
            if (visit(of.instance, box))
              return true;
    return false;
  }
  void add(const MemoryAccess &access, bool mayJoin);
  /// Adds several accesses, the first of them at time `first`.
  void addRow(const MemoryAccess &access, uint32_t first);
  bool isFull() const { return added >= threshold; }
  /// Forgets accesses that all other instances know of, because no future access can race with
  /// them. `bounds` are lower bounds of the instances' clocks at their next access. `byUsers`:
  /// consider only instances that have accessed this memory.
  void forget(const std::vector<VectorClock> &bounds, bool byUsers);
  /// Returns true if an instance with this clock knows of all accesses by others.
  bool isKnown(size_t instance, const VectorClock &clock) const {
    return std::all_of(users.begin(), users.end(), [&](const User &user) {
      return user.instance == instance || user.last <= clock[user.instance];
    });
  }
  /// Forgets all accesses; no future access can race with them. Keeps the set of users.
  void forgetAll();

private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Neighbours {
    size_t older = kNone, newer = kNone;
  };
  /// The accesses of one instance.
  struct User {
    size_t instance;
    uint32_t last = 0;      ///< its last time
    uint32_t forgotten = 0; ///< the latest time of a forgotten access
    std::vector<AccessTrail> trails;
    /// Index in `trails`, by instruction and whether it writes.
    absl::flat_hash_map<uint64_t, size_t> places;
    /// Trails in order of their last times. An access can race only with the newest ones, and an
    /// instance has many old ones.
    size_t newest = kNone;
    std::vector<Neighbours> order; ///< of each of `trails`
    bool hasMany = false;          ///< trails that the current access does not know of

    void link(size_t trail);
    void unlink(size_t trail);
  };
  User &userOf(size_t instance);
  /// Changes the access's trail by `change(trail)`.
  template <typename Change> void update(const MemoryAccess &access, Change &&change);

  void makeGrid();
  /// Adds the races of an access with a trail; returns how many accesses were compared.
  static size_t compare(const MemoryAccess &access, uint32_t known, const AccessTrail &trail,
                        std::vector<Race> &races);

  static constexpr size_t kFew = 128;
  std::vector<User> users;
  /// The trails by their bytes, built when an access must be compared with many trails.
  struct Grid {
    struct Place {
      size_t user, trail;
    };
    IntervalGrid intervals;
    std::vector<Place> places;                  ///< of intervals
    std::vector<std::vector<uint32_t>> numbers; ///< by user and trail
  };
  std::optional<Grid> grid;
  size_t added = 0, threshold = kFew;
};

} // namespace st::dtu
