// The order in which each schedule runs the tasks of a group's micro-batches.
#pragma once

#include "dialects/St/IR/ScheduleKind.h"
#include "dialects/St/IR/ScheduledUnit.h"

namespace mlir::st {

/// What a schedule depends on.
struct ScheduleShape {
  int64_t group = 0, numGroups = 1;
  int64_t numChunks = 1; ///< virtual stages a group
  int64_t microBatches = 1;
};

/// Every unit of the group once. A weight unit follows the backward one of its chunk and
/// micro-batch, at once where the schedule does not put it off. Not for a listed schedule.
llvm::SmallVector<ScheduledUnit> makeScheduleOrder(ScheduleKind kind, const ScheduleShape &shape);

} // namespace mlir::st
