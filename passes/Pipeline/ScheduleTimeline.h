// Scheduled programs against a clock: what a schedule costs, whatever the tasks take.
#pragma once

#include "passes/Pipeline/Schedule.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::st {

/// Times of the tasks of each phase, in any unit; of a phase that is not there, 0.
using PhaseTimes = llvm::StringMap<double>;

/// What one group does between its first and its last task of the loop over micro-batches; the
/// prologue, the statistics, their totals and the update are left out.
struct GroupTimeline {
  GroupSchedule schedule;
  GroupTimes times; ///< of the schedule's entries
  double start = 0, end = 0;
  double busy = 0;        ///< the sum of its tasks
  double barrier = 0;     ///< how long its update then waits for other groups, as for a norm of all
                          ///< gradients
  double peakStash = 0;   ///< micro-batches whose forward has begun and whose last task has not
                          ///< ended: at most, of several stages their average
  int64_t stashBytes = 0; ///< of the stash buffers, all slots

  /// Time between the first and the last task in which nothing runs.
  double getBubble() const { return end - start - busy; }
};

/// Runs the module's scheduled programs. Fails with a diagnostic where one has no schedule or the
/// programs wait for each other for ever.
FailureOr<SmallVector<GroupTimeline>> computeTimeline(ModuleOp module, const PhaseTimes &times);

/// A table, a line a group; with at most `width` columns also what runs when, a row a group and a
/// character a unit of time: F, B and W of stages further on in lower case.
void printTimeline(ArrayRef<GroupTimeline> groups, unsigned width, llvm::raw_ostream &os);

} // namespace mlir::st
