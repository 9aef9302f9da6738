// Tasks cut into cells: the ranks of a device group that one run of a task has to cover together,
// because they exchange messages in it or share a chip's memory. Cells that do the same on alike
// parts of the machine take the same time, and one of them is measured for all.
#pragma once

#include "backends/dtu/simulator/replay/TaskMessages.h"
#include "backends/dtu/simulator/time/TimeEngine.h"

#include "absl/status/statusor.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace st::dtu {

/// One run of a task by a cell from an idle machine, all its ranks starting at 0.
struct MeasuredCell {
  struct Event {
    bool isSend;
    size_t index;         ///< of the rank in the cell
    Picoseconds time;     ///< when the rank gets to it
    Picoseconds underway; ///< of a send: until it arrives
  };
  std::vector<RankTiming> ranks;
  std::vector<Event> events; ///< messages with other groups, in the order of time
  std::vector<std::vector<StepLog::Segment>> segments; ///< of each rank; empty where nobody asks
  int64_t instructions = 0;
};

struct Cell {
  std::vector<size_t> ranks; ///< ascending
  std::shared_ptr<const MeasuredCell> measured;
};

/// A message with a rank of another group.
struct OuterMessage {
  int64_t peer = 0, channel = 0, bytes = 0;
};

/// A task as a whole device group runs it.
struct GroupTask {
  std::vector<Cell> cells;
  /// Of each rank of the group: messages with other groups, and all that it says.
  std::vector<std::vector<OuterMessage>> sends, receives;
  std::vector<TaskMessages> said;
};

class TaskCells {
public:
  /// What the references name must outlive this.
  TaskCells(const proto::DtuDescription &description, const std::vector<RankConfig> &ranks,
            const std::vector<std::unique_ptr<DecodedProgram>> &programs, bool logs = false);

  /// The task `run` of the group of ranks [first, first + count).
  absl::StatusOr<std::shared_ptr<const GroupTask>> task(size_t first, size_t count, TaskRun run);

  /// Runs of a task by a rank so far.
  int64_t simulatedTasks() const { return simulated; }
  int64_t simulatedInstructions() const { return instructions; }

private:
  struct Form {
    int64_t id = 0; ///< equal for programs of one text
    bool variesByRun = false, isKnown = false;
  };

  absl::StatusOr<std::shared_ptr<const GroupTask>> cut(size_t first, size_t count, TaskRun run);
  absl::StatusOr<Form> formOf(ProgramId program);
  absl::Status listOuterMessages(size_t first, const DecodedProgram &program,
                                 GroupTask &task) const;
  std::string keyOf(const Cell &cell, const std::vector<TaskMessages> &said, size_t first,
                    TaskRun run, const Form &form) const;
  size_t turnOf(const Cell &cell, const std::vector<TaskMessages> &said, size_t first) const;
  absl::StatusOr<std::shared_ptr<const MeasuredCell>> measure(const Cell &cell, TaskRun run,
                                                              size_t turn);

  const proto::DtuDescription &description;
  const std::vector<RankConfig> &configs;
  const std::vector<std::unique_ptr<DecodedProgram>> &programs;
  const bool logs;
  std::vector<DtuPlace> places;
  std::vector<Form> forms;
  std::map<std::string, int64_t> formIds;
  MessageScripts scripts;
  std::map<std::string, std::shared_ptr<const MeasuredCell>> measured;
  ChipMemory memory;
  std::map<std::array<int64_t, 3>, std::shared_ptr<const GroupTask>> known;
  int64_t simulated = 0, instructions = 0;
};

} // namespace st::dtu
