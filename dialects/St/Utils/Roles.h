// The roles of a training step's arguments: parameter, optimizer state, batch and others.
#pragma once

#include "mlir/IR/Value.h"

namespace mlir::st {

/// Returns the role of a function's argument; empty if it has none, or belongs to another op.
StringRef getRole(BlockArgument argument);

/// Returns true for a parameter or optimizer state, which a step updates.
bool isTrainingState(BlockArgument argument);

} // namespace mlir::st
