// Concatenations that need not move anything.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"

namespace mlir::stablehlo {

/// The op of a body that does nothing but join its arguments, in order, along the first dimension
/// of more than one position: each is then one run of the result's bytes. Null of any other body.
ConcatenateOp findJoinOfRuns(Block &body);

} // namespace mlir::stablehlo
