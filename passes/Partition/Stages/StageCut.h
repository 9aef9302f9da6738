// Splits forward ops into consecutive stages of about equal cost.
#pragma once

#include "dialects/St/Sharding/TensorSharding.h"

namespace mlir::st {

/// Splits consecutive costs into `parts` runs; returns the run of each. The most expensive run is
/// within a twentieth of the optimum. Among such splits it minimises the sum of `before[i]`, if
/// given (the bytes sent if there is a split before i). Ties go to the most even runs, then to the
/// shortest first runs. If there are at least as many costs as parts, no run is empty.
SmallVector<int64_t> splitEvenly(ArrayRef<double> costs, int64_t parts,
                                 ArrayRef<double> before = {});

/// The stage of each forward op, given in program order, by the time that the ops take per device
/// in their shardings, including sums over devices, and by the bytes that cross a split. Blocks
/// (`st.block`) stay together if there are at least as many as stages; an op without a block
/// belongs to the block before it.
SmallVector<int64_t> splitIntoStages(ArrayRef<Operation *> forward, int64_t stages,
                                     const MeshAxes &axes);

} // namespace mlir::st
