// Turns values that loops capture into values that they carry.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// Turns tensors that a `while` captures into its operands. The sharding rule of the loop covers
/// operands, so they may be split. Weights, scalars and constants with equal elements stay
/// captured.
void carryCaptures(func::FuncOp function);

} // namespace mlir::st
