// Where the backward pass ends and the update begins.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// Puts an `st.accumulate` on every gradient of a per-device function with a single
/// micro-batch. The reduction does nothing, but it parts the update from the
/// backward pass, as it does where there are several.
///
/// Gradients are what the updates of donated state read: from a donated result back
/// through elementwise ops in its shape to the first other op, and from there through
/// collectives and transfers.
void markGradients(func::FuncOp function);

} // namespace mlir::st
