// Concatenations without data movement.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"

namespace mlir::stablehlo {

/// Returns the concatenation in a body that only concatenates its arguments, in order, along the
/// first dimension of size above 1. Each argument is then a contiguous part of the result. Returns
/// null for any other body.
ConcatenateOp findJoinOfRuns(Block &body);

} // namespace mlir::stablehlo
