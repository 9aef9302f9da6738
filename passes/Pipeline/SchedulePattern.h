// The order in which each schedule runs the tasks of a group's micro-batches.
#pragma once

#include "dialects/St/IR/ScheduleKind.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::st {

/// One task of the loop over micro-batches. `chunk` counts the group's virtual stages, in the order
/// of the model.
struct ScheduledUnit {
  enum Kind : uint8_t { Forward, Backward, Weight };
  Kind kind = Forward;
  int64_t chunk = 0, microBatch = 0;

  bool operator==(const ScheduledUnit &other) const {
    return kind == other.kind && chunk == other.chunk && microBatch == other.microBatch;
  }
};

/// What a schedule depends on.
struct ScheduleShape {
  int64_t group = 0, numGroups = 1;
  int64_t numChunks = 1; ///< virtual stages a group
  int64_t microBatches = 1;
};

/// Every unit of the group once. A weight unit follows the backward one of its chunk and
/// micro-batch, at once where the schedule does not put it off.
llvm::SmallVector<ScheduledUnit> makeScheduleOrder(ScheduleKind kind, const ScheduleShape &shape);

} // namespace mlir::st
