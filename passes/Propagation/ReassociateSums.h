// Sums whose summands are added up in the order that is cheapest to reduce.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// Adds up products before anything else in sums of three or more: where products leave partial
/// sums, all of them are then reduced at once, and what is whole is added after. The cotangent of
/// what queries, keys, values and a residual are made from is such a sum.
void reassociateSums(func::FuncOp function);

} // namespace mlir::st
