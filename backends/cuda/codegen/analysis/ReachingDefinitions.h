// Where values of tasks and kernels come from, across kernels and what tasks keep for each other.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::cuda {

/// What makes a value: an op of a kernel's body or of a task, or a read. Kernels' arguments and
/// results are looked through, and reads of which `getWritten` says what some task wrote there.
Value originOf(Value value, llvm::function_ref<Value(st::ReadOp)> getWritten);

/// The same through all stashes of some programs that one task writes once for each micro-batch,
/// and through reshapes.
class Origins {
public:
  /// Of the programs in an op, or of the one that it is in. Their reads and writes are looked up
  /// once; what is written may change.
  explicit Origins(Operation *root);

  Value of(Value value) const;
  /// Whether two values are computed by the same ops of the same origins, as what a backward task
  /// makes again is. Loops and reductions are the same only if they are one op.
  bool areSame(Value one, Value other) const;

private:
  DenseMap<std::pair<Operation *, StringAttr>, st::WriteOp> writes; ///< by program and symbol
};

} // namespace mlir::cuda
