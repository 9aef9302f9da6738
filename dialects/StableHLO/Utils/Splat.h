// Constants with equal elements, and values traced through reshapes and broadcasts.
#pragma once

#include "mlir/IR/Value.h"

#include <optional>

namespace mlir::st {

/// Looks through reshapes.
Value skipReshapes(Value value);

/// Looks through broadcasts and reshapes.
Value skipBroadcasts(Value value);

/// Returns the number that all elements of a float constant are equal to, through broadcasts and
/// reshapes.
std::optional<double> getSplat(Value value);

} // namespace mlir::st
