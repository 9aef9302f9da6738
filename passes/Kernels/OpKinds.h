// The role of each op of a task when kernels are formed.
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::st {

enum class OpKind {
  Read,   ///< storage access at the front of the task
  Task,   ///< stays at task level and yields a value: receives, collectives, constants
  Send,   ///< stays at task level
  Write,  ///< stays at task level
  Inline, ///< cloned into each kernel that reads it
  Alias,  ///< a reshape: shares its operand's memory
  Elementwise,
  Reduce,
  Dot,
  Copy, ///< data movement, in a separate kernel
  Gather,
  Scatter,
  Unsupported, ///< no kernel exists for it
};

/// The kinds of all ops of a task, computed once, in order.
class OpKinds {
public:
  /// `masksInline`: masks (arithmetic on positions, constants and tensors of fewer dimensions) are
  /// also repeated at their uses, where recomputing is cheaper than reading.
  OpKinds(Block &task, bool masksInline);
  OpKind get(Operation *op) const { return kinds.find(op)->second; }
  /// The kind of the op that defines a value.
  OpKind get(Value value) const { return get(value.getDefiningOp()); }
  bool isInline(Value value) const { return get(value) == OpKind::Inline; }

private:
  OpKind classify(Operation *op);
  bool isCheapScalar(Operation *op);
  bool isCheapMask(Operation *op);

  bool masksInline;
  DenseMap<Operation *, OpKind> kinds;
  DenseMap<Operation *, int64_t> scalarCost;
  DenseMap<Operation *, int64_t> maskCost; ///< of values that are repeated at their uses
};

/// Returns true if an elementwise op costs many times an addition.
bool isTranscendental(Operation *op);

/// Returns true if an op that forms a kernel alone writes an operand as a constant instead of
/// reading it: padding, parts of a concatenation, the initial tensor of a scatter.
bool isFilled(OpOperand &operand);

} // namespace mlir::st
