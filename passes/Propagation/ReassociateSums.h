// Reorders sums so that they are cheapest to reduce.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// In sums of three or more values, adds products first. If products leave partial sums, one
/// reduction then serves all of them, and reduced values are added afterwards. An example is the
/// cotangent of the common input of queries, keys, values and a residual connection.
void reassociateSums(func::FuncOp function);

} // namespace mlir::st
