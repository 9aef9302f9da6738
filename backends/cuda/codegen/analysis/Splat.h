// Constants of equal elements in the bodies of kernels.
#pragma once

#include "mlir/IR/Value.h"

#include <optional>

namespace mlir::cuda {

/// What a value repeats along further dimensions, or in another shape.
Value skipBroadcasts(Value value);

/// The number that all elements of a constant of floats are, maybe broadcast.
std::optional<double> getSplat(Value value);

} // namespace mlir::cuda
