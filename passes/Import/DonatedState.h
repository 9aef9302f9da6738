// Which argument of a step each result replaces.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::st {

/// Operands of an op and what its regions take from outside.
SmallVector<Value> readsOf(Operation *op);

/// For each result of a function the arguments that its update reaches: back from the
/// result through ops that are elementwise in its shape.
class UpdateChains {
public:
  explicit UpdateChains(func::FuncOp function);

  bool reaches(unsigned result, unsigned argument) const {
    return chains[result].contains(argument);
  }

private:
  std::vector<DenseSet<unsigned>> chains;
};

/// Argument -> result of the state that a step takes and gives back.
using StatePairs = llvm::MapVector<unsigned, unsigned>;

/// Finds the state of a function: what is donated by `tf.aliasing_output` or
/// `jax.buffer_donor`, and `alsoState`.
///
/// Aliasing says only that a result fits into an argument's buffer: JAX takes the first
/// donated buffer of the same type. So a pair holds where the result's update reaches
/// its argument; otherwise another result is looked for whose update does (a maximum
/// matching that starts from the aliases), and where there is none, the alias stands.
StatePairs findDonatedState(func::FuncOp function, const UpdateChains &chains,
                            ArrayRef<unsigned> alsoState);

} // namespace mlir::st
