// What a chip did in stretches of simulated time, by the state from which it did it. A chip that
// stands in one of these states again, before code that does the same, does the same again: the
// next layer of a model, another chip of a task, or the like task of another stage.
#pragma once

#include "backends/dtu/simulator/time/LoopDrift.h"
#include "backends/dtu/simulator/time/TimeMachine.h"
#include "backends/dtu/simulator/time/TimeState.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace st::dtu {

/// Facts of a stream, and where its code is that of another place.
struct StreamCode {
  StreamFacts facts;
  /// Of each slot, and of the end, a number that it shares with slots that do the same
  /// (TimingForm.h).
  std::vector<int32_t> forms;
  /// Of each slot, and behind the last one: what is run before the slot is reached again, and
  /// until it is left for good, lies in [first, last): the outermost loop around it, or nothing.
  std::vector<uint32_t> first, last;
};

/// All that what happens on a chip next depends on, relative to `time`. Of link streams these are
/// only what they wait for, since a stretch ends where they do anything.
struct ChipState {
  struct Place {
    const StreamCode *code; ///< null in a link stream
    uint32_t pc;
    bool isReached; ///< the instance waits because of the slot there, or has ended
  };
  Picoseconds time = 0;
  std::vector<int64_t> numbers;
  std::vector<Place> places;                ///< of each instance
  std::vector<Picoseconds> linkDues;        ///< of each instance of a link stream
  std::vector<TimeMachine::Work> work;      ///< of each rank: done by then
  std::vector<int64_t> instructions, added; ///< of each rank, by then
};

/// Where one ends another may begin.
struct Stretch {
  std::shared_ptr<const ChipState> from, to;
};

/// Serves any number of runs on machines of one description, of programs that outlive it.
class ChipMemory {
public:
  const StreamCode &codeOf(const DecodedProgram &program, const DecodedStream &stream);
  /// What a chip does from `state`, up to addresses; null if it was not seen to.
  std::shared_ptr<const Stretch> find(const ChipState &state) const;
  void keep(std::shared_ptr<const Stretch> stretch);

private:
  std::unordered_map<const DecodedStream *, std::unique_ptr<StreamCode>> codes;
  std::unordered_map<std::string, int32_t> forms;
  std::unordered_multimap<uint64_t, std::shared_ptr<const Stretch>> stretches;
  size_t kept = 0; ///< numbers in `stretches`
};

/// The chips of one run that remember.
class KnownStretches {
public:
  /// All must outlive this. Programs must not load.
  KnownStretches(TimeMachine &machine, std::vector<TimeRank> &ranks, ChipMemory &memory,
                 size_t chips)
      : machine(machine), ranks(ranks), memory(memory), chips(chips) {}

  /// A stretch may end or begin on the chip: no event that comes before `now` is left.
  void mark(size_t chip, Picoseconds now);
  bool isMarked(size_t chip) const { return chips[chip].isMarked; }
  /// To be asked before the next event of a marked chip whose ranks are `members`: whether it is
  /// now where a known stretch ends. `disturbances` counts what no stretch may hold.
  bool replay(size_t chip, const std::vector<size_t> &members, int64_t disturbances);
  /// A message is about to arrive for which an instance of the chip waits: takes back a stretch
  /// that ends later. False if there is none.
  bool takeBack(size_t chip, const std::vector<size_t> &members, Picoseconds now);
  void forget(size_t chip);

private:
  struct Chip {
    bool isMarked = false;
    Picoseconds marked = 0;
    /// Simulated instructions and disturbances until the state was described last.
    int64_t looked = 0, lookedDisturbances = -1;
    /// A stretch that is run; null if none is.
    std::shared_ptr<Stretch> recorded;
    int64_t disturbances = 0; ///< as it began
    /// The last one that was replayed, and from where; null once it cannot be taken back.
    std::shared_ptr<const Stretch> replayed;
    std::shared_ptr<const ChipState> before;
  };

  bool describe(const std::vector<size_t> &members, Picoseconds now, ChipState &state);
  void finish(Chip &chip, std::shared_ptr<const ChipState> now, int64_t disturbances);
  /// Brings the instances into a state, at the places given for it.
  void enter(const std::vector<size_t> &members, const ChipState &state,
             const std::vector<ChipState::Place> &places, Picoseconds now);
  void count(const std::vector<size_t> &members, const Stretch &stretch, int64_t times);

  TimeMachine &machine;
  std::vector<TimeRank> &ranks;
  ChipMemory &memory;
  std::vector<Chip> chips;
};

} // namespace st::dtu
