// What instances of a program have accessed, as far as later accesses may race with it.
#pragma once

#include "backends/dtu/isa/StridedBytes.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace st::dtu {

/// How far in each instance's time somebody knows. As many as a cluster has engines, or one.
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

/// Accesses by one instruction of an instance, evenly spaced.
struct AccessBox {
  StridedBytes unit, all;
  int64_t count = 1, delta = 0;
  uint32_t first, last;  ///< times
  bool isRecent = false; ///< of one time, and not in a row yet

  AccessBox(const StridedBytes &unit, uint32_t first, uint32_t last)
      : unit(unit), all(unit), first(first), last(last) {}

  /// Whether the next access is one more in the row, which then has it.
  bool extend(const StridedBytes &next, uint32_t time);
};

/// What an instruction of an instance has accessed.
struct AccessTrail {
  size_t instance;
  uint32_t pc;
  bool isWrite;
  int64_t low, high;
  uint32_t last = 0;
  std::vector<AccessBox> boxes;

  /// `mayJoin`: once it is not one of the last few, with accesses of other times in a row, so that
  /// a race with it may be none.
  void add(const MemoryAccess &access, bool mayJoin);
  void addBox(const StridedBytes &bytes, uint32_t first, uint32_t last);

private:
  /// Puts the box into the row before it if it is one more there.
  void joinRow(size_t at);
};

/// What has been accessed in one memory and may not have happened before all that is to come.
class AccessHistory {
public:
  struct Race {
    const AccessTrail *trail;
    const AccessBox *box;
  };
  /// The accesses that race with this one as far as its instance knows; returns how many were
  /// compared.
  size_t find(const MemoryAccess &access, const VectorClock &clock, std::vector<Race> &races) const;
  /// Whether an instance comes here for the first time and does not know of what was forgotten.
  bool isForgotten(const MemoryAccess &access, const VectorClock &clock);
  /// Whether `visit(instance, box)` is true of what another instance accessed of bytes from `low`
  /// to before `high`, either of the two writing.
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
  /// Several accesses of which the first was at `first`.
  void addRow(const MemoryAccess &access, uint32_t first);
  bool isFull() const { return added >= threshold; }
  /// Forgets what is known to all others, `bounds` being the least that instances will know when
  /// they next access anything: nothing that comes can race with it. `byUsers`: known to those that
  /// were here.
  void forget(const std::vector<VectorClock> &bounds, bool byUsers);

private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Neighbours {
    size_t older = kNone, newer = kNone;
  };
  /// What one instance has accessed.
  struct User {
    size_t instance;
    uint32_t last = 0;      ///< of its times
    uint32_t forgotten = 0; ///< the last of its times of which something is forgotten
    std::vector<AccessTrail> trails;
    /// By instruction and whether it writes, index in `trails`.
    absl::flat_hash_map<uint64_t, size_t> places;
    /// The trails by their last times: what an access may race with is among the newest of them,
    /// and an instance leaves many behind.
    size_t newest = kNone;
    std::vector<Neighbours> order; ///< of each of `trails`

    void link(size_t trail);
    void unlink(size_t trail);
  };
  User &userOf(size_t instance);
  /// Changes the access's trail by `change(trail)`.
  template <typename Change> void update(const MemoryAccess &access, Change &&change);

  static constexpr size_t kFew = 128;
  std::vector<User> users;
  size_t added = 0, threshold = kFew;
};

} // namespace st::dtu
