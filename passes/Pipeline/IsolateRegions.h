// Makes ops with regions independent of values outside them.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// Removes captures from the regions of a function's ops: constants are cloned into the regions,
/// and loops carry other values. Other captures stay.
void isolateRegions(func::FuncOp function);

} // namespace mlir::st
