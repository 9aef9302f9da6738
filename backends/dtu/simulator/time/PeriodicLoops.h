// Periodic tile loops in simulated time. When the clusters of a chip return to an earlier state,
// except for loop counters, they repeat the same work until a counter changes a decision. This
// class detects such states, follows one repetition to determine how many more are the same, and
// adds all of them at once. The result is the same as that of running them, to the picosecond.
#pragma once

#include "backends/dtu/simulator/time/ChipMemory.h"

#include <optional>
#include <vector>

namespace st::dtu {

class PeriodicLoops {
public:
  /// All arguments must outlive this. Programs must not contain loads.
  /// `together` remembers stretches of all ranks of `active` and may be null.
  PeriodicLoops(TimeMachine &machine, std::vector<TimeRank> &ranks,
                const std::vector<RankConfig> &configs, ChipMemory &memory, ChipMemory *together,
                std::vector<size_t> active);

  /// Returns true if follow() must be called for each slot of the rank's chip before it runs.
  bool follows(size_t rank) const { return chips[chipOf[rank]].following > 0; }
  void follow(size_t rank, uint32_t index);
  /// Returns true if a decision may read the register that an instance's next slot sets. Added
  /// repetitions and replayed stretches leave other registers as they are.
  bool decides(size_t rank, uint32_t index);
  /// Call when the rank sends, receives, begins or ends a task. A period cannot contain any of
  /// these.
  void disturb(size_t rank) { ++chips[chipOf[rank]].disturbances; }
  /// Call after the first instance of a rank ran the end of `loop`. It continues with the next trip
  /// (`again`) or after the loop.
  void endTrip(size_t rank, const LoopInst &loop, bool again);
  /// Call between events. Returns true if periods were added, so that events of the rank's chip are
  /// due later.
  bool skipPeriods(size_t rank, Picoseconds now);
  /// Call before an instance continues. Returns true if a known stretch was replayed, so that all
  /// instances of the chip are at its end.
  bool replay(size_t rank);
  /// Returns true if replayTogether() may replay a stretch at `now`.
  bool mayReplayTogether(Picoseconds now);
  /// The same for a stretch of all active ranks; all events before `now`, and all arrivals until
  /// then, have been processed. Replaces the messages on their way.
  bool replayTogether(Picoseconds now, std::vector<TimeMessage> &messages);
  /// Call before more ranks run: stretches of all active ranks end.
  void endTogether() { together.reset(); }
  /// Call at an event that no stretch of all ranks may contain: a task begins or ends, or a message
  /// enters or leaves the set of ranks.
  void disturbAll() { ++disturbances; }
  /// Call when a message arrives. If periods that begin after the arrival were added before a
  /// waiting instance, undoes them and returns true. A replayed stretch is undone completely.
  bool rollBack(size_t rank, const TimeRank::Channel &channel, Picoseconds now);
  const std::vector<size_t> &ranksOfChip(size_t rank) const { return chips[chipOf[rank]].ranks; }

private:
  /// Everything that determines the chip's future, relative to `time`, and the work done up to
  /// then.
  struct Snapshot {
    Picoseconds time = 0;
    std::vector<int64_t> shape;
    std::vector<Picoseconds> due; ///< of the running instances
    std::vector<FifoServer> servers;
    std::vector<StreamPosition> positions;
    std::vector<TimeMachine::Work> work;
    std::vector<int64_t> instructions;
    int64_t disturbances = -1; ///< -1: nothing was recorded
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
  };
  /// The effect of one repetition.
  struct Repetition {
    struct Instance {
      TimeInstance *instance;
      bool moves; ///< becomes due later
      RegisterChange change;
    };
    std::vector<Instance> instances;
    std::vector<FifoServer *> servers; ///< whose busy time moves
    std::vector<TimeMachine::Work> work;
    std::vector<int64_t> instructions;
    Picoseconds duration = 0;
  };
  struct Chip {
    std::vector<size_t> ranks;
    size_t anchor = 0; ///< the rank whose loop trips are counted
    int missed = 0;    ///< trips of other ranks since the anchor's last trip
    int64_t disturbances = 0;
    int following = 0;            ///< searches that follow a repetition
    int ended = -1;               ///< depth of the loop whose trip ended last
    bool atMark = false;          ///< that loop was an outermost loop
    bool atExit = false;          ///< and it was the last trip
    uint64_t left = 0;            ///< remaining trips of that loop
    std::vector<Search> searches; ///< by loop depth
    size_t depths = 0;            ///< deeper searches are empty
    /// The repetition that was added last, how often, and up to which time.
    Repetition repetition;
    int64_t added = 0;
    Picoseconds addedUntil = 0;
  };

  const StreamFacts &factsOf(const TimeRank &rank, const TimeInstance &instance) {
    return memory.codeOf(rank, instance).facts;
  }
  /// Passes each number of a chip's state to `show`, and each due time to `showDue`, until one
  /// returns false. Returns false in that case, or if the state cannot recur.
  template <typename Show, typename ShowDue>
  bool showState(const Chip &chip, Show &&show, ShowDue &&showDue) const;
  template <typename Visit> void eachInstance(const Chip &chip, Visit &&visit);
  bool record(const Chip &chip, Picoseconds now, Snapshot &snapshot);
  bool matches(const Chip &chip, Picoseconds now, const Snapshot &snapshot) const;
  bool serversMatch(const Chip &chip, Picoseconds now, const Snapshot &snapshot) const;
  bool search(Chip &chip, Picoseconds now);
  void reset(Chip &chip, size_t depth);
  void restart(Chip &chip, Search &search, Picoseconds now, int64_t patience);
  void beginFollowing(Chip &chip, Search &search, Picoseconds now);
  bool endFollowing(Chip &chip, size_t depth, Picoseconds now);
  /// The number of repetitions for which everything stays linear.
  int64_t repetitions(Chip &chip, size_t depth, Picoseconds now);
  bool isLinear(Chip &chip, Search &search);
  bool recurs(Chip &chip, const Search &search);
  Repetition repetitionOf(Chip &chip, const Search &search, Picoseconds now);
  /// Adds the chip's repetition `times` times; a negative count undoes it.
  void add(Chip &chip, int64_t times);

  TimeMachine &machine;
  std::vector<TimeRank> &ranks;
  const std::vector<RankConfig> &configs;
  std::vector<size_t> chipOf; ///< per rank, an index in chips
  std::vector<Chip> chips;
  ChipMemory &memory;
  std::optional<KnownStretches> stretches;
  std::vector<size_t> active;
  std::vector<size_t> activeChips; ///< their chips, ascending
  /// Stretches of all active ranks. They begin where the first of these chips is at the end of a
  /// trip of an outermost loop.
  std::optional<KnownStretches> together;
  Picoseconds aheadUntil = 0; ///< until then, a chip is known to be ahead of the others
  int64_t disturbances = 0;   ///< of all active ranks
};

} // namespace st::dtu
