// The activity of each rank at every instant of a step, and the critical path that determined the
// end of the step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace st::dtu {

/// The activities of a timed step. Times are in picoseconds from its start.
struct StepLog {
  enum class Kind : uint8_t {
    Launch,     ///< a task is being launched
    Compute,    ///< a core or a DTE queue works
    Collective, ///< no engine works: messages within the group are in transit or awaited
    Transfer,   ///< no engine works: a message of another group is in transit or being moved
    Wait,       ///< no engine works: the rank waits for a message that another group has not sent
  };
  static constexpr size_t kKinds = 5;
  using Sums = std::array<int64_t, kKinds>; ///< time by kind
  struct Segment {
    int64_t start, end;
    Kind kind;
  };
  /// A part of the critical path within one run of a task, and the message by which the path
  /// reached it.
  struct Visit {
    int64_t rank, entry; ///< of the rank's schedule
    int64_t start, end;
    Sums sums;
  };
  struct Traffic {
    std::string link;
    int64_t rank, program; ///< of the sender
    std::string what;      ///< the label of the send; empty in replays
    int64_t bytes;
  };

  std::vector<std::vector<Sums>> sums;        ///< by rank and entry of its schedule
  std::vector<std::vector<Segment>> segments; ///< by rank; in replays only for the first rank of a
                                              ///< group
  std::vector<Visit> path;                    ///< the critical path, from the start of the step to
                                              ///< its end, without gaps
  std::vector<Traffic> traffic;               ///< by link and sender
};

/// Appends a segment; consecutive segments of one kind are merged.
void appendSegment(std::vector<StepLog::Segment> &segments, StepLog::Segment segment);

/// Adds the parts of segments between two times, by kind.
void addBetween(const std::vector<StepLog::Segment> &segments, int64_t start, int64_t end,
                StepLog::Sums &sums);

/// Prepends a visit to the path. It is merged with the first visit if that belongs to the same run
/// of a task by a rank of the same group. `groupOf` is indexed by rank.
void prependVisit(std::vector<StepLog::Visit> &reversed, StepLog::Visit visit,
                  const std::vector<size_t> &groupOf);

} // namespace st::dtu
