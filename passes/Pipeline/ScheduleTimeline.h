// Timelines of scheduled programs for given task times.
#pragma once

#include "passes/Pipeline/Schedule.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::st {

/// Task times by phase, in any unit; a missing phase takes 0.
using PhaseTimes = llvm::StringMap<double>;

/// The work of one group between its first and its last task of the loop over micro-batches,
/// without the prologue, statistics, totals and the update.
struct GroupTimeline {
  GroupSchedule schedule;
  GroupTimes times; ///< of the schedule's entries
  double start = 0, end = 0;
  double busy = 0;        ///< the sum of its tasks
  double barrier = 0;     ///< how long its update then waits for other groups, for example for a
                          ///< norm of all gradients
  double peakStash = 0;   ///< peak number of micro-batches whose forward has begun and whose last
                          ///< task has not ended; averaged over the group's stages
  int64_t stashBytes = 0; ///< of the stash buffers, all slots

  /// Idle time between the first and the last task.
  double getBubble() const { return end - start - busy; }
};

/// Times the module's scheduled programs. Fails with a diagnostic if a program has no schedule or
/// the programs deadlock.
FailureOr<SmallVector<GroupTimeline>> computeTimeline(ModuleOp module, const PhaseTimes &times);

/// Prints a table with a line per group. If the chart fits in `width` columns, also prints when
/// each task runs: a row per group, a character per unit of time; F, B and W of later stages are
/// lower case.
void printTimeline(ArrayRef<GroupTimeline> groups, unsigned width, llvm::raw_ostream &os);

} // namespace mlir::st
