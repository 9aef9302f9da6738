// Elementwise ops as functions of f64, for analyses that recognise formulas by their values.
#pragma once

#include "mlir/IR/Operation.h"

namespace mlir::cuda {

using UnaryFunction = double (*)(double);
using BinaryFunction = double (*)(double, double);

/// Each returns null for an op that is no such function of floats.
UnaryFunction findUnaryFunction(Operation *op);
BinaryFunction findBinaryFunction(Operation *op);

} // namespace mlir::cuda
