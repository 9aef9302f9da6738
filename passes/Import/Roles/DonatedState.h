// The argument of a step that each result replaces.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::st {

/// Operands of an op and values that its regions capture.
SmallVector<Value> readsOf(Operation *op);

/// For each result of a function, the arguments that its update reaches: backwards from the result
/// through ops that are elementwise in its shape.
class ElementwiseUpdates {
public:
  explicit ElementwiseUpdates(func::FuncOp function);

  bool reaches(unsigned result, unsigned argument) const {
    return arguments[result].contains(argument);
  }

private:
  std::vector<DenseSet<unsigned>> arguments; ///< by result
};

/// Argument -> result of the state that a step takes and gives back.
using StatePairs = llvm::MapVector<unsigned, unsigned>;

/// Arguments that affect a result other than the one that replaces them, directly or through other
/// state.
DenseSet<unsigned> findLiveState(func::FuncOp function, const StatePairs &pairs);

/// Finds the state of a function: arguments donated by `tf.aliasing_output` or `jax.buffer_donor`,
/// and `alsoState`.
///
/// An alias only says that a result fits into an argument's buffer: JAX takes the first donated
/// buffer of the same type. If both have names in the program's containers (`params['w']` and
/// `result[1]['w']`), the names decide. Otherwise the aliases are kept, unless another pairing (a
/// maximum matching that starts from them) has more pairs in which the update reaches the argument,
/// and no more useless state (state that only state reads, or that never changes).
StatePairs findDonatedState(func::FuncOp function, const ElementwiseUpdates &updates,
                            ArrayRef<unsigned> alsoState);

} // namespace mlir::st
