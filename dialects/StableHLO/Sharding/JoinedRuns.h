// Concatenations without data movement.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"

namespace mlir::stablehlo {

/// The op of a body that only joins its arguments, in order, along the first dimension of size
/// above 1: each argument is then one run of the result's bytes. Null for any other body.
ConcatenateOp findJoinOfRuns(Block &body);

} // namespace mlir::stablehlo
