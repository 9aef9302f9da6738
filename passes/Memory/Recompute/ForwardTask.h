// What the ops of a stage's forward task are made of, and what it takes to run them again.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::st {

/// What values of a program's tasks are made of. A value of both is an activation: other values can
/// be made again from storage alone.
class ValueSources {
public:
  explicit ValueSources(ProgramOp program);
  bool isActivation(Value value) const { return lookup(value) == (kBatch | kState); }
  /// An activation, or something made of the batch alone.
  bool isOfBatch(Value value) const { return lookup(value) & kBatch; }

private:
  static constexpr unsigned kBatch = 1, kState = 2;
  unsigned lookup(Value value) const { return sources.lookup(value); }
  unsigned compute(Operation *op, const llvm::StringMap<unsigned> &storage) const;

  DenseMap<Value, unsigned> sources;
};

/// The sources have to outlive it.
class ForwardTask {
public:
  ForwardTask(TaskOp task, const ValueSources &sources);

  TaskOp getTask() const { return task; }
  /// The blocks of the task's ops (`st.block`), ascending.
  ArrayRef<int64_t> getBlocks() const { return blocks; }
  /// The block of an op: its own, else that of what it reads or, where that is storage, of its
  /// first reader. What is gathered belongs to the block that reads it. An op of the task that
  /// yields something.
  int64_t getBlock(Operation *op) const { return blockOf.lookup(op); }
  bool isActivation(Value value) const { return sources->isActivation(value); }
  /// Whether a later block reads a value.
  bool isReadLater(Value value) const;
  /// Whether activations come into a block, and leave it for a later one or another stage: neither
  /// embeddings nor a head.
  bool isLayer(int64_t block) const {
    return withInput.contains(block) && withOutput.contains(block);
  }

  /// Whether an op can be run again. Not what reads storage or receives, and no loop: what a loop
  /// stacks is as large again.
  static bool isRepeatable(Operation *op);
  /// Whether an op multiplies matrices, or sends something to other devices.
  static bool isExpensive(Operation *op);
  /// Whether an op belongs to the core of attention: what leads from a product of two activations
  /// to another without a product between, with the first product, and what only this needs of the
  /// batch (masks, random bits).
  bool isAttention(Operation *op) const { return attention.contains(op); }
  /// Whether an op reduces rows of it to so little that it is better kept.
  bool isStatistic(Operation *op) const { return statistics.contains(op); }
  /// Whether an op gathers an activation, or only changes the shape or type of what one gathers.
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
