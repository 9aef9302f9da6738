// Loops in a proof of order. A program whose instances stand just as they stood a while before, but
// for counters and times, does again what it did in between, until a counter decides otherwise.
// Such a repetition is found, one of it is followed to see for how many more it holds and what its
// accesses touch then, and all of these are added at once.
#pragma once

#include "backends/dtu/isa/order/OrderState.h"
#include "backends/dtu/isa/order/RegisterChange.h"

namespace st::dtu {

class PeriodicOrder {
public:
  /// All must outlive this. `matches`: of each stream, its matchLoops().
  PeriodicOrder(const Program &program, const std::vector<std::vector<uint32_t>> &matches,
                OrderState &state, bool followsAccesses);

  /// Whether it wants to see instructions and accesses.
  bool follows() const { return following > 0; }
  /// An instance is about to run its next instruction.
  void follow(size_t index);
  /// The instruction at hand accessed a memory.
  void access(const MemoryAccess &access, int64_t memory, const Address &address);
  /// A message, a register loaded from memory, something left open: no part of a repetition.
  void disturb() { ++disturbances; }
  /// An instance ran the end of a loop, which stands at `end`. All instances may stand elsewhere
  /// after it. The number of accesses that were compared.
  int64_t endTrip(size_t index, uint32_t end);
  /// Whether what others are taken to know of an instance may be less than they do, since
  /// repetitions were added, so that a race with it may be none.
  bool isDoubtful(size_t instance) const { return doubtful[instance]; }

private:
  struct Place {
    int64_t registers[kNumRegisters], limits[kMaxLoopDepth];
  };
  struct Snapshot {
    int64_t disturbances = -1;       ///< -1: nothing was recorded
    std::vector<size_t> shape;       ///< all that has to recur
    std::vector<Place> places;       ///< of the instances
    std::vector<int64_t> counts;     ///< that only grow
    std::vector<VectorClock> clocks; ///< of the instances, then of signals
  };
  /// What a repetition adds to times. A clock that is less than `lag` behind the time of an
  /// instance moves with it: clocks cut off at a lag determine what comes as clocks do.
  struct Gain {
    std::vector<int64_t> times, lags;
  };
  /// An access of the repetition followed, or a row of such.
  struct Record {
    MemoryAccess access; ///< its time is that of the last
    int64_t memory;
    int64_t change;    ///< of its address
    VectorClock known; ///< to its instance, at the first
  };
  /// The search for a repetition that begins with a trip of one loop (Brent, 1980).
  struct Search {
    Snapshot from;
    int64_t trips = 0;    ///< since `from`
    int64_t patience = 0; ///< trips after which `from` is replaced by a later state
    /// Registers of each instance that were seen not to be linear: they have to recur.
    std::vector<RegisterSet> recurring;
    /// Set while a repetition is followed: how many trips it has.
    int64_t period = 0;
    std::vector<RegisterChange> changes, guessed; ///< of each instance, now and as it began
    /// Those of each search of a loop around this one that follows a repetition, as this one began.
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
  /// What times and clocks gained since; false if they did not move as one.
  bool findGain(const Snapshot &from, Gain &gain);
  bool isLinear(Search &search);
  bool recurs(const Search &search) const;
  int64_t repetitions(size_t depth);
  /// Adds a repetition so many times, to searches around it as well.
  void add(const Search &search, const Gain &gain, int64_t times);
  void addRecords(const Search &search, const Gain &gain, int64_t times);

  const std::vector<std::vector<uint32_t>> &loopEnds;
  OrderState &state;
  const bool followsAccesses;
  std::vector<StreamRegisters> facts; ///< of each stream
  size_t anchor = 0;                  ///< the instance whose loops count
  size_t missed = 0;                  ///< trips of others since one of the anchor's
  int64_t disturbances = 0;
  int following = 0;            ///< searches that follow a repetition
  std::vector<bool> doubtful;   ///< instances
  std::vector<Search> searches; ///< by depth of the loop
  size_t depths = 0;            ///< searches behind these hold nothing
};

} // namespace st::dtu
