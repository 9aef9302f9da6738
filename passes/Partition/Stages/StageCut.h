// Forward ops cut into consecutive stages of about equal cost.
#pragma once

#include "dialects/St/Sharding/TensorSharding.h"

namespace mlir::st {

/// Cuts consecutive costs into `parts` runs; returns the run of each. The dearest run is within a
/// twentieth of as cheap as it can be; of the cuts of which that is true the sum of `before[i]`, if
/// given what is sent where there is a cut before the i-th, is least, and of these the runs are
/// most even. Where there are at least as many costs as parts, no run is empty.
SmallVector<int64_t> cutEvenly(ArrayRef<double> costs, int64_t parts, ArrayRef<double> before = {});

/// The stage of each forward op, given in program order, by the time that the ops take a device in
/// their shardings, the bytes of sums over devices included, and the bytes that cross a cut. Blocks
/// (`st.block`) stay whole where there are at least as many as stages; an op without one goes with
/// the block before it.
SmallVector<int64_t> cutIntoStages(ArrayRef<Operation *> forward, int64_t stages,
                                   const MeshAxes &axes);

} // namespace mlir::st
