// Finds the position of an axis in a dimension for which later ops need no reshard.
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::st {

/// Returns the placement (`outer`, see Splits.h) of an axis of `size` in a dimension such that the
/// value's users in `within` need no reshard, up to the next op that contracts it. The placement is
/// 1, or the number of parts if an op slices one of several parts. Queries, keys and values that
/// are thirds of a dimension have it at 3: each third is split over the axis. Ops that support no
/// placement of the axis are ignored. Returns 1 if the remaining parts are too small for the axis.
int64_t findAxisPlace(Value value, int64_t dim, int64_t size, const DenseSet<Operation *> &within);

} // namespace mlir::st
