// What instances of a program have accessed, as far as later accesses may race with it.
#pragma once

#include "backends/dtu/isa/StridedBytes.h"

#include "absl/container/inlined_vector.h"

#include <algorithm>
#include <map>
#include <set>
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
  uint32_t first, last; ///< times

  AccessBox(const StridedBytes &unit, uint32_t time)
      : unit(unit), all(unit), first(time), last(time) {}

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

  /// `mayJoin`: with accesses of other times in a row, so that a race with it may be none.
  void add(const MemoryAccess &access, bool mayJoin);
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
  void add(const MemoryAccess &access, bool mayJoin);
  bool isFull() const { return added >= threshold; }
  /// Forgets what is known to all others, `bounds` being the least that instances will know when
  /// they next access anything: nothing that comes can race with it. `byUsers`: known to those that
  /// were here.
  void forget(const std::vector<VectorClock> &bounds, bool byUsers);

private:
  static constexpr size_t kFew = 256;
  std::vector<AccessTrail> trails;
  std::set<size_t> users;
  std::map<size_t, uint32_t> forgotten; ///< by instance, the last time
  size_t added = 0, threshold = kFew;
};

} // namespace st::dtu
