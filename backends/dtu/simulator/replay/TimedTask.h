// A task that runs alone on its device group: its duration, and the times at which it reaches its
// messages with other groups (docs/dtu-isa.md, "Replayed time").
#pragma once

#include "backends/dtu/simulator/replay/TaskTimings.h"

#include <memory>
#include <vector>

namespace st::dtu {

/// A message between groups, as a task reaches it.
struct TaskEvent {
  Picoseconds time, underway; ///< underway: for a send, the time until it arrives
  bool isSend;
  size_t rank;
  size_t number; ///< orders events of one instant
  OuterMessage message;
};

/// The work of a group in one task: all its rank sets, in order of time.
struct TimedTask {
  std::shared_ptr<const GroupTask> of;
  std::vector<TaskEvent> events;
  Picoseconds duration = 0;
  /// From when on the task waits for messages of other groups if none has arrived; only timeTasks()
  /// measures it.
  Picoseconds need = 0;
  int64_t instructions = 0;
};

/// `first`: the first rank of the group.
TimedTask sumUpRanks(std::shared_ptr<const GroupTask> of, size_t first);

} // namespace st::dtu
