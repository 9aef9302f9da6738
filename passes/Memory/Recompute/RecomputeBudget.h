// Finds the cheapest recomputation for which a stash fits a budget.
#pragma once

#include "passes/Memory/Recompute/StageStash.h"

namespace mlir::st {

/// The levels of a program's blocks, by stage.
using RecomputeLevels = SmallVector<DenseMap<int64_t, RecomputeLevel>>;

/// The bytes that the forward tasks of a program stash per micro-batch, without values that a
/// backward task passes to a weight task.
int64_t getStashBytes(ProgramOp program);

/// Levels that save at least `bytes` of a micro-batch's stash at low cost; if that is impossible,
/// levels that save the most. Blocks rise step by step along the lower convex hull of cost over
/// savings; the next step is the one that saves most per cost. Excess savings at the end are
/// returned to the most expensive blocks.
RecomputeLevels chooseLevels(ArrayRef<StageStash> stages, int64_t bytes);

/// The bytes that the levels save.
int64_t getSavedBytes(ArrayRef<StageStash> stages, const RecomputeLevels &levels);

} // namespace mlir::st
