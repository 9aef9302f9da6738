// What becomes of each op of a task when kernels are formed.
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::st {

enum class OpKind {
  Read,   ///< storage: stands first
  Task,   ///< stays at task level and yields a value: receives, collectives, constants
  Send,   ///< stays at task level
  Write,  ///< stays at task level
  Inline, ///< cloned into each kernel that reads it
  Alias,  ///< a reshape: shows its operand's memory
  Elementwise,
  Reduce,
  Dot,
  Copy, ///< data movement, a kernel of its own
  Gather,
  Scatter,
  Unsupported, ///< there is no kernel for it
};

/// The kinds of all ops of a task, found once, in order.
class OpKinds {
public:
  /// With `positionsInline` arithmetic of positions and constants is repeated where it is read,
  /// too: where computing little is less than reading.
  OpKinds(Block &task, bool positionsInline);
  OpKind get(Operation *op) const { return kinds.find(op)->second; }
  /// Of the op that defines a value.
  OpKind get(Value value) const { return get(value.getDefiningOp()); }
  bool isInline(Value value) const { return get(value) == OpKind::Inline; }

private:
  OpKind classify(Operation *op);
  bool isCheapScalar(Operation *op);
  bool isCheapPosition(Operation *op);

  bool positionsInline;
  DenseMap<Operation *, OpKind> kinds;
  DenseMap<Operation *, int64_t> scalarCost;
  DenseMap<Operation *, int64_t> positionCost; ///< of what is made of positions and constants
};

/// Whether an elementwise op costs many times an addition.
bool isTranscendental(Operation *op);

/// Whether an op that stands alone in its kernel writes an operand as a constant instead of reading
/// it from memory: the padding, parts of a concatenation, what a scatter adds to.
bool isFilled(OpOperand &operand);

} // namespace mlir::st
