// What a stage's forward task keeps for its backward tasks, and what these can compute again.
#pragma once

#include "dialects/St/Sharding/TensorSharding.h"
#include "passes/Memory/Recompute/ForwardTask.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::st {

/// How much of a block is computed again.
enum class RecomputeLevel : uint8_t {
  Nothing,
  Cheap,             ///< neither products nor collectives nor random bits
  Attention,         ///< the core of attention
  CheapAndAttention, ///< both
  Everything,        ///< from the activations that come into the block
};
constexpr unsigned kNumRecomputeLevels = 5;

/// Values of the forward task.
struct StashChoice {
  llvm::SetVector<Value> dropped; ///< stashed before, computed again now
  llvm::SetVector<Value> added;   ///< kept in their place
  int64_t savedBytes = 0;         ///< for a micro-batch
  double cost = 0;                ///< of computing again, microseconds (timeInTask)
};

class StageStash {
public:
  /// `weight` may be null; `backward` is the task that computes again: without a backward half of
  /// its own, the weight task. With `gathersAgain` activations are gathered again on every level.
  /// The axes have to outlive it.
  StageStash(ProgramOp program, const ValueSources &sources, const MeshAxes &axes, TaskOp forward,
             TaskOp backward, TaskOp weight, bool gathersAgain);

  const ForwardTask &getForward() const { return forward; }
  TaskOp getBackward() const { return backward; }
  TaskOp getWeight() const { return weight; }

  /// What to keep and what to drop with each block at its level; blocks that are not listed are
  /// left alone. Of a block, what is kept is a minimum cut, in bytes, between what may not be
  /// computed again and what the backward tasks read.
  StashChoice choose(const DenseMap<int64_t, RecomputeLevel> &levels) const;

  /// Drops what follows element by element from what products write anyway, or in f32 from what was
  /// rounded to 16 bits, and from values that are kept or as small as a sixteenth, and keeps these:
  /// a write to memory less, or half of it. Only what backward tasks compute with in turn, outside
  /// of products, where reading these takes no more than reading the value did.
  void reuseProducts(StashChoice &choice) const;

  /// The write of a value into its stash; null for values that are not stashed.
  WriteOp getWrite(Value value) const { return stashed.lookup(value); }
  /// The stashed values of a block.
  ArrayRef<Value> getStashed(int64_t block) const {
    auto found = stashedOf.find(block);
    return found == stashedOf.end() ? ArrayRef<Value>() : ArrayRef<Value>(found->second);
  }
  /// Whether the weight task reads a stashed value.
  bool isReadByWeight(Value value) const { return readByWeight.contains(value); }

private:
  void findStashed(ProgramOp program);
  void findDerived();
  /// Whether an op of a block may be computed again so that a value need not be kept.
  bool isAllowed(Operation *op, int64_t block, RecomputeLevel level) const;
  /// Whether a stashed value is one of those that a level wants to drop.
  bool isDroppable(Value value, int64_t block, RecomputeLevel level) const;
  bool isInStorage(Value value) const;
  bool isReadByProduct(Value value) const;
  std::optional<llvm::SetVector<Value>> findOrigins(Value value, const StashChoice &choice) const;
  bool isDerived(Value value) const { return derived.contains(value); }
  llvm::SetVector<Value> cut(const llvm::SetVector<Value> &wanted, int64_t block,
                             RecomputeLevel level, function_ref<bool(Value)> isAtHand) const;
  void chooseInBlock(int64_t block, RecomputeLevel level, StashChoice &choice) const;
  double getRecomputeCost(ArrayRef<Value> values, function_ref<bool(Value)> isAtHand) const;

  /// timeInTask of an op, found once.
  double timeOf(Operation *op) const;

  ForwardTask forward;
  const MeshAxes *axes;
  mutable DenseMap<Operation *, double> times;
  TaskOp backward, weight;
  bool gathersAgain;
  DenseMap<Value, WriteOp> stashed; ///< that only the backward tasks of the stage read
  DenseMap<int64_t, SmallVector<Value>> stashedOf; ///< the same, block by block
  DenseSet<Value> readByWeight;
  llvm::StringSet<> freeReads; ///< storage that is there anyway when the backward task runs
  DenseSet<Value> derived;     ///< can be made of it in any block
};

} // namespace mlir::st
