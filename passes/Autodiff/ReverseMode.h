//===- ReverseMode.h - Reverse-mode differentiation of a block --*- C++ -*-===//

#ifndef ST_PASSES_AUTODIFF_REVERSEMODE_H
#define ST_PASSES_AUTODIFF_REVERSEMODE_H

#include "passes/Autodiff/Rules/GradientRules.h"

namespace mlir::st {
/// Emits, before the terminator of `block`, the gradients of the float scalar
/// `loss` with respect to `parameters`, which are arguments of the block. Fails
/// with a diagnostic at an op that cannot be differentiated. No gradient flows through
/// ops marked `st.stop_gradient`.
FailureOr<SmallVector<Value>> emitGradients(Block &block, Value loss, ValueRange parameters);

/// One run over a function: finds the values that depend on a parameter, then visits ops in
/// reverse. Rules of ops with regions call it for the blocks within.
class ReverseMode {
public:
  /// Finds the values of `block`, regions included, that depend on `parameters`.
  ReverseMode(Block &block, ValueRange parameters);

  /// Returns true if the value depends differentiably on a parameter.
  bool isVaried(Value value) const { return varied.contains(value); }

  /// Propagates cotangents from the results of `forward`'s ops to their operands, last op first.
  /// Emits at the insertion point of `gradients`.
  LogicalResult propagate(ArrayRef<Operation *> forward, Gradients &gradients);

  /// Finds dependences on parameters among ops that a rule inserted before its own.
  void mark(ArrayRef<Operation *> ops);

  /// Replaces `op` by an op with the same results, followed by additional ones.
  void replace(Operation *op, ValueRange results);

  /// Replaces `op` by the ops that `make` emits and propagates the cotangents of its results
  /// through them.
  LogicalResult expand(Operation *op, ArrayRef<Value> cotangents, Gradients &gradients,
                       function_ref<SmallVector<Value>(Emitter &)> make);

private:
  void markBlock(Block &block);
  void markOp(Operation *op);
  void markLoop(stablehlo::WhileOp op);
  void markBranches(Operation *op);
  bool dependsOnVaried(Operation *op) const;
  void mark(Value value);
  LogicalResult propagate(Operation *op, Gradients &gradients);

  GradientRules rules;
  DenseSet<Value> varied;
};

/// The ops of a block without its terminator.
SmallVector<Operation *> opsOf(Block &block);

} // namespace mlir::st

#endif // ST_PASSES_AUTODIFF_REVERSEMODE_H
