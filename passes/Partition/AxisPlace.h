// Where along a dimension an axis can stay through the ops that follow.
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::st {

/// The place (`outer`, see Splits.h) at which an axis of `size` splits a dimension so that the ops
/// of `within` that use the value take it as it is, up to the next that contracts it: 1, or behind
/// the parts that an op takes one of. Queries, keys and values that are thirds of a dimension have
/// it at 3: each third is split over the axis. Ops that cannot have it at any place have no say;
/// 1 where the places that are left are too small for the axis.
int64_t findAxisPlace(Value value, int64_t dim, int64_t size, const DenseSet<Operation *> &within);

} // namespace mlir::st
