// What an op computes, roughly.
#pragma once

#include "mlir/IR/Operation.h"

namespace mlir::st {

/// Floating-point operations of an op, roughly: two for each product of a
/// contraction, one for each element otherwise.
double estimateCost(Operation *op);

} // namespace mlir::st
