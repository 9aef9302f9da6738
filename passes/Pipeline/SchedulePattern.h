// The order in which each schedule runs the tasks of a group's micro-batches.
#pragma once

#include "dialects/St/IR/ScheduleKind.h"
#include "dialects/St/IR/ScheduledUnit.h"

namespace mlir::st {

/// The parameters of a schedule.
struct ScheduleShape {
  int64_t group = 0, numGroups = 1;
  int64_t numChunks = 1; ///< virtual stages per group
  int64_t microBatches = 1;
};

/// Every unit of the group once. A weight unit follows the backward unit of its chunk and
/// micro-batch, immediately unless the schedule delays it. Not for a listed schedule.
llvm::SmallVector<ScheduledUnit> makeScheduleOrder(ScheduleKind kind, const ScheduleShape &shape);

} // namespace mlir::st
