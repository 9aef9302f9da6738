// Counts the operations of a function, for JAX's cost_analysis().
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace st::pjrt {

struct OperationCounts {
  double flops = 0; ///< of elementwise ops, reductions, products and convolutions; a sum of
                    ///< products counts twice
  double transcendentals = 0; ///< elements of exp, log, sqrt and the like, which are no FLOPs
};

/// Counts the operations of @main, in whose body calls are inlined. A loop whose trip count depends
/// on data counts once, a conditional all its branches.
OperationCounts countOperations(mlir::ModuleOp module);

} // namespace st::pjrt
