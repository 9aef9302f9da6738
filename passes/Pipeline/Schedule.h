// Schedules of all groups, and proofs about them.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::st {

struct ScheduleEntry {
  TaskOp task;
  int64_t microBatch = 0;
};

/// The tasks of one group in a step, in order.
struct GroupSchedule {
  ProgramOp program;
  SmallVector<ScheduleEntry> entries;
};

/// Gives every stash buffer one slot per micro-batch that is in flight at the same time.
void assignSlots(GroupSchedule &schedule);

/// Checks that no stash slot is overwritten before its last read, and that every read finds its
/// micro-batch.
LogicalResult checkSlots(const GroupSchedule &schedule);

/// When an entry of a schedule runs.
struct EntryTime {
  double start = 0, end = 0;
};
using GroupTimes = SmallVector<EntryTime>;

/// Matches the groups' messages and returns when each entry of each group runs if tasks take
/// `duration`. A group runs one task at a time. A task starts when the messages that it receives
/// before its first send have arrived, and its sends arrive when it ends. Sends do not wait; a
/// receive waits for the next message of its group and channel. Fails if a group waits forever, if
/// a message remains, or if a message has the wrong micro-batch or type.
FailureOr<SmallVector<GroupTimes>> runMessages(ArrayRef<GroupSchedule> schedules,
                                               function_ref<double(TaskOp)> duration);

} // namespace mlir::st
