// The definitions that reach values of tasks and kernels, across kernels and stashes.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::cuda {

/// The definition of a value: an op of a kernel's body or of a task, or a read. Looks through
/// kernels' arguments and results, and through reads for which `getWritten` returns the value that
/// a task wrote there.
Value findDefinition(Value value, llvm::function_ref<Value(st::ReadOp)> getWritten);

/// The same through all stashes of some programs that one task writes once for each micro-batch,
/// and through reshapes.
class ReachingDefinitions {
public:
  /// Of the programs in an op, or of the one that it is in. Their reads and writes are looked up
  /// once; what is written may change.
  explicit ReachingDefinitions(Operation *root);

  Value of(Value value) const;
  /// Whether two values are computed by the same ops from the same definitions, as a value that a
  /// backward task recomputes is. Loops and reductions are the same only if they are one op.
  bool areSame(Value one, Value other) const;

private:
  DenseMap<std::pair<Operation *, StringAttr>, st::WriteOp> writes; ///< by program and symbol
};

} // namespace mlir::cuda
