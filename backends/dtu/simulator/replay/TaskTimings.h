// Memoised task timings. A task splits the ranks of a device group into sets: ranks that exchange
// messages or share a chip's memory must run together. Sets with the same work on equal parts of
// the machine take the same time, so the simulator runs one of them and reuses its timing.
#pragma once

#include "backends/dtu/simulator/replay/TaskMessages.h"
#include "backends/dtu/simulator/time/TimeEngine.h"

#include "absl/status/statusor.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace st::dtu {

/// One run of a task by a set of ranks on an idle machine. All ranks start at time 0.
struct TaskTiming {
  struct Event {
    bool isSend;
    size_t index;         ///< of the rank in its set
    Picoseconds time;     ///< when the rank reaches it
    Picoseconds underway; ///< for a send, the time until it arrives
  };
  std::vector<RankTiming> ranks;
  std::vector<Event> events; ///< messages with other groups, in order of time
  std::vector<std::vector<StepLog::Segment>> segments; ///< of each rank; empty unless logs are
                                                       ///< requested
  int64_t instructions = 0;
};

/// Ranks that run a task together.
struct RankSet {
  std::vector<size_t> ranks; ///< ascending
  std::shared_ptr<const TaskTiming> measured;
};

/// A message with a rank of another group.
struct OuterMessage {
  int64_t peer = 0, channel = 0, bytes = 0;
};

/// A task, as all ranks of a device group run it.
struct GroupTask {
  std::vector<RankSet> rankSets;
  /// For each rank of the group: its messages with other groups, and all its messages.
  std::vector<std::vector<OuterMessage>> sends, receives;
  std::vector<TaskMessages> rankMessages;
};

class TaskTimings {
public:
  /// The referenced objects must outlive this. Messages of other groups arrive `arrival` after a
  /// task's start, or have arrived when they are received.
  TaskTimings(const proto::DtuDescription &description, const std::vector<RankConfig> &ranks,
              const std::vector<std::unique_ptr<DecodedProgram>> &programs, bool logs = false,
              Picoseconds arrival = 0);

  /// The task `run` of the group of ranks [first, first + count).
  absl::StatusOr<std::shared_ptr<const GroupTask>> task(size_t first, size_t count, TaskRun run);

  /// Task runs of single ranks that were simulated so far.
  int64_t simulatedTasks() const { return simulated; }
  int64_t simulatedInstructions() const { return instructions; }

private:
  /// Ranks that run a task and represent others. Runs of the same ranks share stretches of all
  /// ranks (ChipMemory.h).
  struct Representative {
    RankSet set;
    size_t first = 0; ///< of its group
    std::vector<TaskMessages> rankMessages;
  };
  struct Form {
    int64_t id = 0; ///< equal for programs with the same text
    bool variesByRun = false, isKnown = false;
  };

  absl::StatusOr<std::shared_ptr<const GroupTask>> splitIntoSets(size_t first, size_t count,
                                                                 TaskRun run);
  absl::StatusOr<Form> formOf(ProgramId program);
  absl::Status listOuterMessages(size_t first, const DecodedProgram &program,
                                 GroupTask &task) const;
  std::string keyOf(const RankSet &set, const std::vector<TaskMessages> &rankMessages, size_t first,
                    TaskRun run, const Form &form) const;
  /// Ranks that represent a set.
  struct RingSegment {
    size_t ranks = 0;
    bool sharesLink = false; ///< with the other segments, as in Rotation
  };
  RingSegment segmentOf(const RankSet &set, const std::vector<TaskMessages> &rankMessages,
                        size_t first) const;
  absl::StatusOr<std::shared_ptr<const TaskTiming>>
  measure(const RankSet &set, const std::vector<TaskMessages> &rankMessages, size_t first,
          TaskRun run, const Form &form, const std::string &key);
  absl::StatusOr<std::shared_ptr<const TaskTiming>> measureSegment(const RankSet &set, TaskRun run,
                                                                   RingSegment segment);
  /// An earlier set of ranks for which the task has this key.
  std::optional<Representative> representativeFor(const RankSet &set, size_t first, TaskRun run,
                                                  const Form &form, const std::string &key);

  const proto::DtuDescription &description;
  const std::vector<RankConfig> &configs;
  const std::vector<std::unique_ptr<DecodedProgram>> &programs;
  const bool logs;
  const Picoseconds arrival;
  std::vector<DtuPlace> places;
  std::vector<Form> forms;
  std::map<std::string, int64_t> formIds;
  MessageScripts scripts;
  std::map<std::string, std::shared_ptr<const TaskTiming>> measured;
  ChipMemory memory;
  /// For runs of the same ranks, with the same number of ranks in a segment.
  std::map<std::pair<std::vector<size_t>, size_t>, ChipMemory> together;
  std::vector<std::pair<size_t, std::vector<size_t>>>
      earlier; ///< sets, each with its group's first rank
  std::map<std::array<int64_t, 3>, std::shared_ptr<const GroupTask>> known;
  int64_t simulated = 0, instructions = 0;
};

} // namespace st::dtu
