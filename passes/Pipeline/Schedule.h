// Schedules of all groups, and what can be proven about them.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::st {

struct ScheduleEntry {
  TaskOp task;
  int64_t microBatch = 0;
};

/// What one group runs in a step, in order.
struct GroupSchedule {
  ProgramOp program;
  SmallVector<ScheduleEntry> entries;
};

/// Gives every stash buffer a slot for each micro-batch that is in flight at once.
void assignSlots(GroupSchedule &schedule);

/// Checks that no stash slot is written before the last reader of its content has run, and that
/// every read finds the micro-batch it wants.
LogicalResult checkSlots(const GroupSchedule &schedule);

/// When an entry of a schedule runs.
struct EntryTime {
  double start = 0, end = 0;
};
using GroupTimes = SmallVector<EntryTime>;

/// Runs the groups' messages against each other: when each entry of each group runs if tasks take as
/// long as `duration` says. A group runs one task at a time; a task starts when the messages are
/// there that it receives before it sends, and what it sends is there when it ends. Sends do not wait; a receive waits for the next
/// message of its group and channel. Fails if a group waits for ever, if a message remains, or if
/// one of another micro-batch or type arrives.
FailureOr<SmallVector<GroupTimes>> runMessages(ArrayRef<GroupSchedule> schedules,
                                               function_ref<double(TaskOp)> duration);

} // namespace mlir::st
