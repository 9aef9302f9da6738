// The boundary between the backward pass and the update.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::st {

/// The updates of donated state.
struct Updates {
  /// Operands of the updates that are computed before them, each with a state whose update reads
  /// it.
  llvm::MapVector<Value, BlockArgument> gradients;
  /// The ops of the updates that are elementwise in the shape of a state.
  DenseSet<Operation *> ops;
  /// The other ops: norms of a gradient or a parameter, row means, and values derived from them.
  DenseSet<Operation *> reductions;
};

/// Returns true if an op rounds its operand to fewer bits.
bool isNarrowing(Operation *op);

/// Walks back from donated results through elementwise ops in the shape of the state to the first
/// other op that depends on the step's data, and from there through collectives and transfers.
Updates findUpdates(func::FuncOp function);

/// Inserts an `st.accumulate` on every gradient of a per-device function with a single micro-batch.
/// This accumulation has one addend. It separates the update from the backward pass, as with
/// several micro-batches.
void markGradients(func::FuncOp function);

} // namespace mlir::st
