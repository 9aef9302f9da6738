// Where values of tasks and kernels come from, across kernels and what tasks keep for each other.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::cuda {

/// What makes a value: an op of a kernel's body or of a task, or a read. Kernels' arguments and
/// results are looked through, and reads of which `getWritten` says what some task wrote there.
Value originOf(Value value, llvm::function_ref<Value(st::ReadOp)> getWritten);

/// Looks through stashes that one task writes, and through reshapes.
Value originOf(Value value);

/// Whether two values are computed by the same ops of the same origins, as what a backward task
/// makes again is. Loops and reductions are the same only if they are one op.
bool isSameValue(Value one, Value other);

} // namespace mlir::cuda
