// Finds the definitions of values across kernels, tasks and stashes.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::st {

/// Returns the reaching definition of a value: an op of a kernel's body or of a task, or a read.
/// Looks through arguments and results of kernels, and through reads for which `getWritten` returns
/// a value.
Value findDefinition(Value value, llvm::function_ref<Value(ReadOp)> getWritten);

/// Also looks through reshapes, and through stashes that exactly one task writes, once for each
/// micro-batch.
class ReachingDefinitions {
public:
  /// Takes the programs inside `root`, or the program around it. Reads and writes are looked up
  /// once; the written values may change.
  explicit ReachingDefinitions(Operation *root);

  Value of(Value value) const;
  /// Returns true if the same ops compute both values from the same definitions, as when a backward
  /// task recomputes a value. Loops and reductions are the same only if they are one op.
  bool areSame(Value one, Value other) const;

private:
  DenseMap<std::pair<Operation *, StringAttr>, WriteOp> writes; ///< by program and symbol
};

} // namespace mlir::st
