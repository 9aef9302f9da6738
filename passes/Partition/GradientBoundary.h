// Where the backward pass ends and the update begins.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::st {

/// How donated state is updated.
struct Updates {
  /// What the updates read that they do not compute, and a state whose update reads it.
  llvm::MapVector<Value, BlockArgument> gradients;
  /// The ops of the updates that are elementwise in the shape of a state.
  DenseSet<Operation *> ops;
  /// The others: norms of a gradient or a parameter, means of rows, and what follows from them.
  DenseSet<Operation *> reductions;
};

/// Whether an op rounds what it takes to fewer bits.
bool isNarrowing(Operation *op);

/// Goes from donated results back through elementwise ops in the shape of the state to the first
/// other op that depends on the step's data, and from there through collectives and transfers.
Updates findUpdates(func::FuncOp function);

/// Puts an `st.accumulate` on every gradient of a per-device function with a single
/// micro-batch. The reduction does nothing, but it parts the update from the
/// backward pass, as it does where there are several.
void markGradients(func::FuncOp function);

} // namespace mlir::st
