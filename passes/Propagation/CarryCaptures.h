// What loops read from outside, made part of what they carry.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// Makes tensors that a `while` uses from outside operands of it, which its rule
/// covers and which may be split. Weights, scalars and constants of one number stay.
void carryCaptures(func::FuncOp function);

} // namespace mlir::st
