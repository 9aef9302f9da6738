#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// Returns true for a tensor of complex numbers.
bool isComplex(Value value);

/// Returns true if an op combines real and imaginary parts separately: a sum, or a scatter that
/// replaces.
bool hasSeparateParts(Operation *op);

/// Makes control flow, sorts and other ops with regions take, carry and return the two real parts
/// of each complex value.
void splitComplexRegions(func::FuncOp function);

} // namespace mlir::st
