// Ops with regions that use nothing from outside them.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// Makes the ops of a function's body independent of what their regions use from outside: constants
/// are cloned into the regions, a loop carries other values along. Other uses stay.
void isolateRegions(func::FuncOp function);

} // namespace mlir::st
