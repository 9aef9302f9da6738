// Branches as choices among values.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// Replaces every `case` and `if` of a function by the ops of all its branches and a select for
/// each result. A loop in a branch then runs only if the branch is taken. What is new belongs to
/// the stage of what it replaces.
void expandBranches(func::FuncOp function);

} // namespace mlir::st
