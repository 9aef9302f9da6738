// Remembers what a chip did in stretches of simulated time, keyed by its state at the start. When a
// chip reaches one of these states again, before code that does the same, it repeats the stretch:
// in the next layer of a model, on another chip, or in the corresponding task of another stage.
#pragma once

#include "backends/dtu/simulator/time/LoopChange.h"
#include "backends/dtu/simulator/time/TimeMachine.h"
#include "backends/dtu/simulator/time/TimeState.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace st::dtu {

/// Properties of a stream that decide whether its code equals code at another place.
struct StreamCode {
  StreamFacts facts;
  /// For each slot and the end, a number shared by slots that do the same (TimingForm.h).
  std::vector<int32_t> forms;
  /// For each slot and the end: the slots that may run before this one is reached again, or left
  /// for good, are in [first, last). That is its outermost loop, or an empty range.
  std::vector<uint32_t> first, last;
};

/// Everything that determines the chip's future, relative to `time`. Link streams contribute only
/// what they wait for, because a stretch ends when they do anything.
struct ChipState {
  struct Place {
    const StreamCode *code; ///< null in a link stream
    uint32_t pc;
    bool isReached; ///< the instance waits at the slot there, or has ended
  };
  Picoseconds time = 0;
  std::vector<int64_t> numbers;
  std::vector<Place> places;                ///< of each instance
  std::vector<Picoseconds> linkDues;        ///< of each instance of a link stream
  std::vector<TimeMachine::Work> work;      ///< of each rank, up to this state
  std::vector<int64_t> instructions, added; ///< of each rank, up to this state
};

/// Another stretch may begin where one ends.
struct Stretch {
  std::shared_ptr<const ChipState> from, to;
};

/// Shared by any number of runs on machines of one description. The programs must outlive it.
class ChipMemory {
public:
  const StreamCode &codeOf(const DecodedProgram &program, const DecodedStream &stream);
  /// What a chip does from `state`, up to addresses; null if that is not known.
  std::shared_ptr<const Stretch> find(const ChipState &state) const;
  void keep(std::shared_ptr<const Stretch> stretch);

private:
  std::unordered_map<const DecodedStream *, std::unique_ptr<StreamCode>> codes;
  std::unordered_map<std::string, int32_t> forms;
  std::unordered_multimap<uint64_t, std::shared_ptr<const Stretch>> stretches;
  size_t kept = 0; ///< numbers in `stretches`
};

/// Records and replays stretches on the chips of one run.
class KnownStretches {
public:
  /// All must outlive this. Programs must not load.
  KnownStretches(TimeMachine &machine, std::vector<TimeRank> &ranks, ChipMemory &memory,
                 size_t chips)
      : machine(machine), ranks(ranks), memory(memory), chips(chips) {}

  /// A stretch may end or begin on the chip; all events before `now` have been processed.
  void mark(size_t chip, Picoseconds now);
  bool isMarked(size_t chip) const { return chips[chip].isMarked; }
  /// Call before the next event of a marked chip whose ranks are `members`. Returns true if a known
  /// stretch was replayed and the chip is now at its end. `disturbances` counts events that no
  /// stretch may contain.
  bool replay(size_t chip, const std::vector<size_t> &members, int64_t disturbances);
  /// Call when a message arrives for which an instance of the chip waits. Undoes a stretch that
  /// ends later; returns false if there is none.
  bool takeBack(size_t chip, const std::vector<size_t> &members, Picoseconds now);
  void forget(size_t chip);

private:
  struct Chip {
    bool isMarked = false;
    Picoseconds marked = 0;
    /// Simulated instructions and disturbances up to the last examination of the state.
    int64_t looked = 0, lookedDisturbances = -1;
    /// The stretch being recorded, or null.
    std::shared_ptr<Stretch> recorded;
    int64_t disturbances = 0; ///< at its start
    /// The last replayed stretch and its starting state; null once it can no longer be undone.
    std::shared_ptr<const Stretch> replayed;
    std::shared_ptr<const ChipState> before;
  };

  bool describe(const std::vector<size_t> &members, Picoseconds now, ChipState &state);
  void finish(Chip &chip, std::shared_ptr<const ChipState> now, int64_t disturbances);
  /// Puts the instances into a state, at the given places.
  void enter(const std::vector<size_t> &members, const ChipState &state,
             const std::vector<ChipState::Place> &places, Picoseconds now);
  void count(const std::vector<size_t> &members, const Stretch &stretch, int64_t times);

  TimeMachine &machine;
  std::vector<TimeRank> &ranks;
  ChipMemory &memory;
  std::vector<Chip> chips;
};

} // namespace st::dtu
