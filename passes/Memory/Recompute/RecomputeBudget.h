// The least recomputation with which a stash fits a budget.
#pragma once

#include "passes/Memory/Recompute/StageStash.h"

namespace mlir::st {

/// The levels of a program's blocks, stage by stage.
using RecomputeLevels = SmallVector<DenseMap<int64_t, RecomputeLevel>>;

/// What the forward tasks of a program keep of a micro-batch. What a backward task hands on to a
/// weight task does not count.
int64_t getStashBytes(ProgramOp program);

/// Levels that save at least `bytes` of the stash of a micro-batch at little cost. Where none do,
/// those that save most. Blocks go up, one step at a time, along the lower convex hull of what
/// their levels cost over what these save; the step is next that saves most for its cost. What
/// is saved in excess at the end is given back to the blocks that cost most.
RecomputeLevels chooseLevels(ArrayRef<StageStash> stages, int64_t bytes);

/// What the levels save.
int64_t getSavedBytes(ArrayRef<StageStash> stages, const RecomputeLevels &levels);

} // namespace mlir::st
