// Memoises stretches of a chip's simulated time by the chip's state at the start. When a chip
// reaches such a state again before equivalent code, the stretch is replayed. This happens in the
// next layer of a model, on another chip, or in the corresponding task of another stage. A stretch
// of all chips of a run also contains the messages between them.
#pragma once

#include "backends/dtu/simulator/time/LoopChange.h"
#include "backends/dtu/simulator/time/TimeMachine.h"
#include "backends/dtu/simulator/time/TimeState.h"

#include <algorithm>
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

/// Everything that determines the future of a chip, or of all chips of a run, relative to `time`.
/// In a stretch of one chip, link streams contribute only the events that they wait for, because
/// the stretch ends when a link stream acts.
struct ChipState {
  struct Place {
    const StreamCode *code; ///< null in a link stream of a stretch of one chip
    uint32_t pc;
    bool isReached; ///< the instance waits at the slot there, or has ended
  };
  Picoseconds time = 0;
  std::vector<int64_t> numbers;
  std::vector<Place> places;                ///< of each instance
  std::vector<Picoseconds> linkDues;        ///< of each instance of a link stream
  std::vector<TimeMachine::Work> work;      ///< of each rank, up to this state
  std::vector<int64_t> instructions, added; ///< of each rank, up to this state
  /// In a stretch of a run: the peak bytes in the landing buffer of each rank, and the links' work.
  std::vector<int64_t> peaks;
  std::vector<TimeMachine::LinkWork> linkWork;
};

/// A stretch of simulated time. Another one may begin where it ends.
struct Stretch {
  std::shared_ptr<const ChipState> from, to;
};

/// The extent of the stretches of a memory.
enum class StretchScope {
  Chip, ///< one chip without messages, for any number of runs on machines of one description
  Run   ///< all chips of a run and their messages, for runs of the same ranks
};

/// Shared by runs according to the scope. The programs must outlive it.
class ChipMemory {
public:
  explicit ChipMemory(StretchScope scope = StretchScope::Chip) : scope(scope) {}

  /// Returns true if stretches contain messages.
  bool hasMessages() const { return scope == StretchScope::Run; }
  const StreamCode &codeOf(const TimeRank &rank, const TimeInstance &instance) {
    const StreamCode *&known = instance.codes[static_cast<size_t>(scope)];
    if (!known)
      known = &codeOf(*rank.begun, *instance.stream);
    return *known;
  }
  /// The stretch that begins at `state`, up to addresses; null if none is known.
  std::shared_ptr<const Stretch> find(const ChipState &state) const;
  void keep(std::shared_ptr<const Stretch> stretch);

private:
  const StreamCode &codeOf(const DecodedProgram &program, const DecodedStream &stream);

  const StretchScope scope;
  std::unordered_map<const DecodedStream *, std::unique_ptr<StreamCode>> codes;
  std::unordered_map<std::string, int32_t> forms;
  std::unordered_multimap<uint64_t, std::shared_ptr<const Stretch>> stretches;
  size_t kept = 0; ///< numbers in `stretches`
};

/// Records and replays stretches on the chips of one run.
class KnownStretches {
public:
  /// All must outlive this. Programs must not load.
  /// `size` is the number of chips that a stretch covers.
  KnownStretches(TimeMachine &machine, std::vector<TimeRank> &ranks, ChipMemory &memory,
                 size_t chips, int64_t size = 1)
      : machine(machine), ranks(ranks), memory(memory), chips(chips), size(size) {}

  /// Call where a stretch may end or begin on the chip, after all events before `now`.
  /// `mustExamine`: examines the state even if the chip did little since the last examination.
  void mark(size_t chip, Picoseconds now, bool mustExamine = false);
  bool isMarked(size_t chip) const { return chips[chip].isMarked; }
  /// The end of the last replayed stretch; 0 if it can no longer be undone.
  Picoseconds replayedUntil(size_t chip) const {
    return chips[chip].replayed ? chips[chip].marked : 0;
  }
  /// Call before the next event of a marked chip whose ranks are `members`. Returns true if a known
  /// stretch was replayed and the chip is now at its end. `disturbances` counts events that no
  /// stretch may contain. `messages` are on their way, in order of arrival; a replayed stretch
  /// replaces them. They are empty if stretches have no messages.
  bool replay(size_t chip, const std::vector<size_t> &members, int64_t disturbances,
              std::vector<TimeMessage> &messages);
  /// Call when a message arrives for which an instance of the chip waits. Undoes a stretch that
  /// ends later; returns false if there is none.
  bool rollBack(size_t chip, const std::vector<size_t> &members, Picoseconds now);
  void forget(size_t chip);

private:
  struct Chip {
    bool isMarked = false, mustExamine = false;
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

  bool describe(const std::vector<size_t> &members, Picoseconds now,
                const std::vector<TimeMessage> &messages, ChipState &state);
  bool describeInstances(const TimeRank &rank, Picoseconds now, ChipState &state);
  void describeMessages(const std::vector<size_t> &members, Picoseconds now,
                        const std::vector<TimeMessage> &messages, ChipState &state);
  void finish(Chip &chip, std::shared_ptr<const ChipState> now, int64_t disturbances);
  using Numbers = std::vector<int64_t>::const_iterator;
  void enterInstance(TimeInstance &instance, const ChipState::Place &place, Picoseconds now,
                     Numbers &at);
  std::vector<TimeMessage> enterMessages(const std::vector<size_t> &members, Picoseconds now,
                                         Numbers &at);
  /// Visits each memory and engine of the chips of `members`.
  template <typename Visit> void eachServer(const std::vector<size_t> &members, Visit &&visit) {
    for (size_t i = 0; i < members.size(); ++i)
      if (const size_t chip = machine.chipOf(members[i]);
          std::none_of(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(i),
                       [&](size_t other) { return machine.chipOf(other) == chip; }))
        machine.eachServer(chip, visit);
  }
  /// Puts the instances into a state, at the given places. Returns the messages on their way.
  std::vector<TimeMessage> enter(const std::vector<size_t> &members, const ChipState &state,
                                 const std::vector<ChipState::Place> &places, Picoseconds now);
  void count(const std::vector<size_t> &members, const Stretch &stretch, int64_t times);

  TimeMachine &machine;
  std::vector<TimeRank> &ranks;
  ChipMemory &memory;
  std::vector<Chip> chips;
  const int64_t size;
  size_t usualNumbers = 0; ///< in the last state that was described
};

} // namespace st::dtu
