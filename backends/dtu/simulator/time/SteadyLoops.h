// Tile loops in simulated time. A chip whose clusters stand just as they stood a while before, but
// for counters of loops, does again what it did in between, until a counter decides otherwise. Such
// a steady state is found, one repetition of it is followed to see for how many more it holds, and
// all of these are added at once: to the picosecond what running them gives.
#pragma once

#include "backends/dtu/simulator/time/ChipMemory.h"

#include <optional>
#include <vector>

namespace st::dtu {

class SteadyLoops {
public:
  /// All must outlive this. Programs must not load.
  SteadyLoops(TimeMachine &machine, std::vector<TimeRank> &ranks,
              const std::vector<RankConfig> &configs, ChipMemory &memory);

  /// Does the rank's chip want to see each slot before it is run?
  bool follows(size_t rank) const { return chips[chipOf[rank]].following > 0; }
  void follow(size_t rank, uint32_t index);
  /// The rank sends, receives, begins or ends a task: no part of a steady state.
  void disturb(size_t rank) { ++chips[chipOf[rank]].disturbances; }
  /// The first instance of a rank ran the end of `loop`, at which it stood, and goes on with its
  /// next trip or behind it.
  void endTrip(size_t rank, const LoopInst &loop, bool again);
  /// To be asked between events: whether trips were added, so that what is due on the rank's chip
  /// is so later.
  bool settle(size_t rank, Picoseconds now);
  /// To be asked before an instance goes on: whether its chip is now where a known stretch ends, so
  /// that all its instances stand elsewhere.
  bool replay(size_t rank);
  /// A message is about to arrive. Where an instance waits for it that stands behind trips that
  /// were added, those are taken back that begin later than it arrives, and the result is true. So
  /// it is behind a stretch that was replayed, which is taken back whole.
  bool takeBack(size_t rank, const TimeRank::Channel &channel, Picoseconds now);
  const std::vector<size_t> &ranksBeside(size_t rank) const { return chips[chipOf[rank]].ranks; }

private:
  /// All that what happens on a chip next depends on, relative to `time`, and what was done by
  /// then.
  struct Snapshot {
    Picoseconds time = 0;
    std::vector<int64_t> shape;
    std::vector<Picoseconds> due; ///< of the instances that run
    std::vector<FifoServer> servers;
    std::vector<StreamPosition> positions;
    std::vector<TimeMachine::Work> work;
    std::vector<int64_t> instructions;
    int64_t disturbances = -1; ///< -1: nothing was recorded
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
    std::vector<RegisterDrift> drifts, guessed; ///< of each instance, now and as it began
    /// Those of each search of a loop around this one that follows a repetition, as this one began.
    std::vector<std::vector<RegisterDrift>> around;
    DriftBound bound;
  };
  /// What one repetition adds.
  struct Repetition {
    struct Instance {
      TimeInstance *instance;
      bool moves; ///< is due later
      RegisterDrift drift;
    };
    std::vector<Instance> instances;
    std::vector<FifoServer *> servers; ///< that are taken for longer
    std::vector<TimeMachine::Work> work;
    std::vector<int64_t> instructions;
    Picoseconds duration = 0;
  };
  struct Chip {
    std::vector<size_t> ranks;
    size_t anchor = 0; ///< the rank whose loops count
    int missed = 0;    ///< trips of other ranks since one of the anchor's
    int64_t disturbances = 0;
    int following = 0;            ///< searches that follow a repetition
    int ended = -1;               ///< depth of the loop whose trip ended last
    bool atMark = false;          ///< that was an outermost loop
    uint64_t left = 0;            ///< trips of that loop to come
    std::vector<Search> searches; ///< by depth of the loop
    size_t depths = 0;            ///< searches behind these hold nothing
    /// What was added last, how often, and to when.
    Repetition repetition;
    int64_t added = 0;
    Picoseconds addedUntil = 0;
  };

  const StreamFacts &factsOf(const TimeRank &rank, const TimeInstance &instance) {
    return memory.codeOf(*rank.begun, *instance.stream).facts;
  }
  /// Shows each number of a chip's state, and each time at which an instance is due, until `show`
  /// or `showDue` returns false; false if that happened or the state is none that could recur.
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
  /// For how many repetitions all stays linear in their number.
  int64_t repetitions(Chip &chip, size_t depth, Picoseconds now);
  bool isLinear(Chip &chip, Search &search);
  bool recurs(Chip &chip, const Search &search);
  Repetition repetitionOf(Chip &chip, const Search &search, Picoseconds now);
  /// Adds what the chip's repetition adds so many times, or takes it back.
  void add(Chip &chip, int64_t times);

  TimeMachine &machine;
  std::vector<TimeRank> &ranks;
  const std::vector<RankConfig> &configs;
  std::vector<size_t> chipOf; ///< of a rank, index in chips
  std::vector<Chip> chips;
  ChipMemory &memory;
  std::optional<KnownStretches> stretches;
};

} // namespace st::dtu
