// Periodic loops in a proof of order. When the instances of a program return to an earlier state,
// except for counters and times, they repeat the same work until a counter changes a decision. This
// class detects such a period, follows one repetition to determine how many more are the same and
// which bytes they access, and adds all of them at once.
#pragma once

#include "backends/dtu/isa/order/OrderState.h"
#include "backends/dtu/isa/order/RegisterChange.h"

namespace st::dtu {

class PeriodicOrder {
public:
  /// All arguments must outlive this. `matches`: matchLoops() of each stream.
  PeriodicOrder(const Program &program, const std::vector<std::vector<uint32_t>> &matches,
                OrderState &state, bool followsAccesses);

  /// Returns true if follow() and access() must be called.
  bool follows() const { return following > 0; }
  /// Call before an instance runs its next instruction.
  void follow(size_t index);
  /// Call after the current instruction accessed a memory.
  void access(const MemoryAccess &access, int64_t memory, const Address &address);
  /// Call after a message, a load from memory or an unresolved race. A period cannot contain them.
  void disturb() { ++disturbances; }
  /// Call after an instance ran the end of a loop at `end`. May advance all instances. Returns the
  /// number of accesses compared.
  int64_t endTrip(size_t index, uint32_t end);
  /// Returns true if other instances may know of more accesses by this one than recorded, because
  /// repetitions were added. A race with it may then be a false alarm.
  bool isDoubtful(size_t instance) const { return doubtful[instance]; }
  /// Call in a quiet state (Stretches.h). Ends all searches and clears doubtful instances.
  void restart();

private:
  struct Place {
    int64_t registers[kNumRegisters], limits[kMaxLoopDepth];
  };
  struct Snapshot {
    int64_t disturbances = -1;       ///< -1: nothing was recorded
    std::vector<size_t> shape;       ///< everything that must recur
    std::vector<Place> places;       ///< of the instances
    std::vector<int64_t> counts;     ///< monotonic counters
    std::vector<VectorClock> clocks; ///< of the instances, then of signals
  };
  /// The increase of times in a repetition. A clock that lags the time of an instance by less than
  /// the instance's lag moves with it; truncating clocks at that lag does not change later
  /// decisions.
  struct Gain {
    std::vector<int64_t> times, lags;
  };
  /// An access of the followed repetition, or a row of such accesses.
  struct Record {
    MemoryAccess access; ///< its time is that of the last
    int64_t memory;
    int64_t change;    ///< of its address
    VectorClock known; ///< the clock of its instance at the first access
  };
  /// The search for a period that begins with a trip of one loop (Brent, 1980).
  struct Search {
    Snapshot from;
    int64_t trips = 0;    ///< since `from`
    int64_t patience = 0; ///< trips after which `from` is replaced by a later state
    /// Registers of each instance that do not change linearly and must therefore recur.
    std::vector<RegisterSet> recurring;
    /// The number of trips of the repetition being followed, else 0.
    int64_t period = 0;
    std::vector<RegisterChange> changes, guessed; ///< of each instance: changes now, and as assumed
                                                  ///< at its start
    /// The changes of each enclosing search that also follows a repetition, when this one began.
    std::vector<std::vector<RegisterChange>> around;
    ChangeBound bound;
    std::vector<Record> records;
  };
  class Conflicts;

  const StreamRegisters &factsOf(size_t index) const {
    return facts[state.instances[index].stream];
  }
  template <typename Show> bool showState(Show &&show) const;
  template <typename Visit> void eachClock(Visit &&visit);
  template <typename Visit> void eachCount(Visit &&visit);
  int64_t timeOf(const Snapshot &snapshot, size_t index) const;
  void record(Snapshot &snapshot);
  bool matches(const Snapshot &snapshot) const;
  void reset(size_t depth);
  void restart(Search &search, int64_t patience);
  void beginFollowing(Search &search);
  int64_t endFollowing(size_t depth);
  /// Finds the increase of times and clocks since `from`; returns false if they did not grow by the
  /// same amount.
  bool findGain(const Snapshot &from, Gain &gain);
  bool isLinear(Search &search);
  bool recurs(const Search &search) const;
  int64_t repetitions(size_t depth);
  /// Adds a repetition `times` times, to enclosing searches as well.
  void add(const Search &search, const Gain &gain, int64_t times);
  void addRecords(const Search &search, const Gain &gain, int64_t times);

  const std::vector<std::vector<uint32_t>> &loopEnds;
  OrderState &state;
  const bool followsAccesses;
  std::vector<StreamRegisters> facts; ///< of each stream
  size_t anchor = 0;                  ///< the instance whose loop trips are counted
  size_t missed = 0;                  ///< trips of others since the anchor's last trip
  int64_t disturbances = 0;
  int following = 0;            ///< searches that follow a repetition
  std::vector<bool> doubtful;   ///< instances
  std::vector<Search> searches; ///< by loop depth
  size_t depths = 0;            ///< deeper searches are empty
};

} // namespace st::dtu
