// Elementwise ops as functions of f64, for analyses that recognise formulas by their values.
#pragma once

#include "mlir/IR/Operation.h"

namespace mlir::cuda {

using UnaryFunction = double (*)(double);
using BinaryFunction = double (*)(double, double);

/// Each returns null if the op is not a function of floats of this kind.
UnaryFunction findUnaryFunction(Operation *op);
BinaryFunction findBinaryFunction(Operation *op);

} // namespace mlir::cuda
