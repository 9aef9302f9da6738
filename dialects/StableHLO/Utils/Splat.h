// Constants with equal elements in the bodies of kernels.
#pragma once

#include "mlir/IR/Value.h"

#include <optional>

namespace mlir::st {

/// Looks through broadcasts and reshapes.
Value skipBroadcasts(Value value);

/// Returns the number that all elements of a float constant are equal to, through broadcasts.
std::optional<double> getSplat(Value value);

} // namespace mlir::st
