//===- ReverseMode.h - Reverse-mode differentiation of a block --*- C++ -*-===//

#ifndef ST_PASSES_AUTODIFF_REVERSEMODE_H
#define ST_PASSES_AUTODIFF_REVERSEMODE_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Builders.h"

namespace mlir::st {

/// Emits, before the terminator of `block`, the gradients of the float scalar
/// `loss` with respect to `parameters`, which are arguments of the block. Fails
/// with a diagnostic at an op that cannot be differentiated. No gradient flows through
/// ops marked `st.stop_gradient`.
FailureOr<SmallVector<Value>> emitGradients(Block &block, Value loss, ValueRange parameters);

} // namespace mlir::st

#endif // ST_PASSES_AUTODIFF_REVERSEMODE_H
