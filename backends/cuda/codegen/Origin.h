// Where values of tasks and kernels come from, across kernels and what tasks keep for each other.
#pragma once

#include "mlir/IR/Value.h"

namespace mlir::cuda {

/// What makes a value: an op of a kernel's body or of a task, or a read of what the program is
/// given. Reshapes, kernels' arguments and results, and stashes that one task writes are looked
/// through.
Value originOf(Value value);

/// Whether two values are computed by the same ops of the same origins, as what a backward task
/// makes again is. Loops and reductions are the same only if they are one op.
bool isSameValue(Value one, Value other);

} // namespace mlir::cuda
