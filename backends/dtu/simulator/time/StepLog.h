// What every instant of every rank went into, and the chain of work that decided when a step ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace st::dtu {

/// A step as timed, for people to read. Times in picoseconds from its start.
struct StepLog {
  enum class Kind : uint8_t {
    Launch,     ///< a task is being launched
    Compute,    ///< a core or a dte works
    Collective, ///< none does: messages within the group are under way or waited for
    Transfer,   ///< none does: a message of another group is under way, or moved
    Wait,       ///< none does: a message is waited for that another group has not sent
  };
  static constexpr size_t kKinds = 5;
  using Sums = std::array<int64_t, kKinds>; ///< time by kind
  struct Segment {
    int64_t start, end;
    Kind kind;
  };
  /// A stay of the chain at a run of a task, with the way there from the one before.
  struct Visit {
    int64_t rank, entry; ///< of the rank's schedule
    int64_t start, end;
    Sums sums;
  };
  struct Traffic {
    std::string link;
    int64_t rank, program; ///< of the sender
    std::string what;      ///< the label of the send; empty where tasks are replayed
    int64_t bytes;
  };

  std::vector<std::vector<Sums>> sums;        ///< by rank and entry of its schedule
  std::vector<std::vector<Segment>> segments; ///< by rank; in replays of the first of a group alone
  std::vector<Visit> path;                    ///< from the start of the step to its end, gapless
  std::vector<Traffic> traffic;               ///< by link and sender
};

/// Appends to segments that follow each other; what is of one kind is one.
void appendSegment(std::vector<StepLog::Segment> &segments, StepLog::Segment segment);

/// Adds the parts of segments between two times, by kind.
void addBetween(const std::vector<StepLog::Segment> &segments, int64_t start, int64_t end,
                StepLog::Sums &sums);

/// Puts a stay before the chain that is there: a part of its first visit where that is of the same
/// run of a task by a rank of the same group. `groupOf`: by rank.
void prependVisit(std::vector<StepLog::Visit> &reversed, StepLog::Visit visit,
                  const std::vector<size_t> &groupOf);

} // namespace st::dtu
