#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// Lets `while`, `if` and `case` carry and return the two real parts of each complex value.
void splitComplexRegions(func::FuncOp function);

} // namespace mlir::st
