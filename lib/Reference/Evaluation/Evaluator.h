// Runs operations on all virtual ranks in lockstep.
#ifndef ST_REFERENCE_EVALUATOR_H
#define ST_REFERENCE_EVALUATOR_H

#include "lib/Reference/RankGrid.h"
#include "lib/Reference/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::st::ref {

/// An SSA value on each rank.
using RankValues = SmallVector<Tensor, 1>;

/// Evaluates one op after the other, each on all ranks before the next. This is simple and
/// deterministic. Ranks with identical operands of an op share one evaluation and its result. If
/// control flow diverges, the branches run one after the other, and a collective in a branch is an
/// error. Errors are diagnostics at the op.
class Evaluator {
public:
  explicit Evaluator(RankGrid grid);

  const RankGrid &getGrid() const { return grid; }
  size_t getNumRanks() const { return static_cast<size_t>(grid.getNumRanks()); }
  ArrayRef<int64_t> getActiveRanks() const { return active; }

  /// The micro-batch of the running task: the value of `st.axis_index "micro"` if `micro` is not an
  /// axis of the grid.
  void setMicroBatch(int64_t index) { microBatch = index; }
  int64_t getMicroBatch() const { return microBatch; }

  /// The value on each rank; no tensor on ranks that did not compute it.
  const RankValues &get(Value value) const;
  void set(Value value, RankValues tensors) { values[value] = std::move(tensors); }

  /// Evaluates one op that is not a terminator.
  LogicalResult evalOp(Operation &op);

  /// Drops the values whose last use in the block is `op`.
  void release(Operation &op);

  /// Evaluates a block up to its terminator and returns the terminator's operands.
  LogicalResult evalBlock(Block &block, ArrayRef<RankValues> args,
                          SmallVectorImpl<RankValues> &results);

  /// Runs `fn` for these ranks only.
  template <class Fn> LogicalResult onRanks(ArrayRef<int64_t> ranks, Fn fn) {
    SmallVector<int64_t> outer(ranks);
    std::swap(active, outer);
    LogicalResult result = fn();
    std::swap(active, outer);
    return result;
  }

  /// Calls a function, which must not be running already.
  LogicalResult call(Operation *caller, func::FuncOp callee, ArrayRef<RankValues> args,
                     SmallVectorImpl<RankValues> &results);

private:
  LogicalResult evalTensorOp(Operation &op);
  LogicalResult evalOnRank(Operation &op, int64_t rank, ArrayRef<Tensor> operands,
                           SmallVectorImpl<Tensor> &results);

  using LastUses = DenseMap<Operation *, SmallVector<Value, 2>>;
  const LastUses &getLastUses(Block &block);

  RankGrid grid;
  SmallVector<int64_t> active;
  int64_t microBatch = 0;
  DenseMap<Value, RankValues> values;
  DenseMap<Block *, LastUses> lastUses;
  DenseMap<Attribute, Tensor> constants;
  SmallVector<func::FuncOp> callStack;
};

} // namespace mlir::st::ref

#endif // ST_REFERENCE_EVALUATOR_H
