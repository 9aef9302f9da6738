// The dependences of a stage's forward task, and the cost of recomputing its ops.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::st {

/// The sources of a program's values. A value that depends on both parameters and the batch is an
/// activation; other values can be recomputed from storage alone.
class ValueSources {
public:
  explicit ValueSources(ProgramOp program);
  bool isActivation(Value value) const { return lookup(value) == (kBatch | kState); }
  /// Returns true for an activation, or a value of the batch alone.
  bool isOfBatch(Value value) const { return lookup(value) & kBatch; }

private:
  static constexpr unsigned kBatch = 1, kState = 2;
  unsigned lookup(Value value) const { return sources.lookup(value); }
  unsigned compute(Operation *op, const llvm::StringMap<unsigned> &storage) const;

  DenseMap<Value, unsigned> sources;
};

/// `sources` must outlive this.
class ForwardTask {
public:
  ForwardTask(TaskOp task, const ValueSources &sources);

  TaskOp getTask() const { return task; }
  /// The blocks of the task's ops (`st.block`), ascending.
  ArrayRef<int64_t> getBlocks() const { return blocks; }
  /// The block of an op: the op's own block, else that of its operands or, if these are storage, of
  /// its first user. A gather belongs to the block that uses it. `op` must have a result.
  int64_t getBlock(Operation *op) const { return blockOf.lookup(op); }
  bool isActivation(Value value) const { return sources->isActivation(value); }
  /// Returns true if a later block reads a value.
  bool isReadLater(Value value) const;
  /// Returns true if activations enter the block and leave it for a later block or stage: neither
  /// the embeddings nor the head.
  bool isLayer(int64_t block) const {
    return withInput.contains(block) && withOutput.contains(block);
  }

  /// Returns true if an op can be recomputed. Storage reads and receives cannot; loops are not,
  /// because that would stack the same values again.
  static bool isRepeatable(Operation *op);
  /// Returns true for matrix products and communication.
  static bool isExpensive(Operation *op);
  /// Returns true if an op belongs to the core of attention: the ops from one product of two
  /// activations to the next without another product in between, including the first product, and
  /// the batch values that only they need (masks, random bits).
  bool isAttention(Operation *op) const { return attention.contains(op); }
  /// Returns true if an op reduces rows to so few values that stashing the result is cheaper.
  bool isStatistic(Operation *op) const { return statistics.contains(op); }
  /// Returns true if an op gathers an activation, or only changes the shape or type of a gathered
  /// one.
  bool isGathered(Operation *op) const { return gathered.contains(op); }

private:
  void assignBlocks();
  void findLayers();
  void findAttention();
  void findGathered();
  bool isActivationProduct(Operation *op) const;

  TaskOp task;
  const ValueSources *sources;
  SmallVector<int64_t> blocks;
  DenseMap<Operation *, int64_t> blockOf;
  DenseSet<int64_t> withInput, withOutput; ///< blocks that activations enter, and leave
  DenseSet<Operation *> attention, statistics, gathered;
};

} // namespace mlir::st
