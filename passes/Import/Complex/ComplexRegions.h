#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// Whether an op combines numbers so that real and imaginary parts do not meet: a sum, or a scatter
/// that replaces.
bool hasSeparateParts(Operation *op);

/// Lets control flow, sorts and what combines numbers otherwise take, carry and return the two real
/// parts of each complex value.
void splitComplexRegions(func::FuncOp function);

} // namespace mlir::st
