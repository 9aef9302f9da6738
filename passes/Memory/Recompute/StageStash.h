// The values that a stage's forward task stashes for its backward tasks, and those that a backward
// task can recompute.
#pragma once

#include "dialects/St/Sharding/TensorSharding.h"
#include "passes/Memory/Recompute/ForwardTask.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::st {

/// The ops of a block that are recomputed.
enum class RecomputeLevel : uint8_t {
  Nothing,
  Cheap,             ///< no products, collectives or random bits
  Attention,         ///< the core of attention
  CheapAndAttention, ///< both
  Everything,        ///< from the activations that enter the block
};
constexpr unsigned kNumRecomputeLevels = 5;

/// Values of the forward task.
struct StashChoice {
  llvm::SetVector<Value> dropped; ///< previously stashed, now recomputed
  llvm::SetVector<Value> added;   ///< stashed instead
  int64_t savedBytes = 0;         ///< per micro-batch
  double cost = 0;                ///< of recomputing, in microseconds (timeInTask)
};

class StageStash {
public:
  /// `weight` may be null. `backward` is the task that recomputes; without a separate backward part
  /// it is the weight task. `gathersAgain`: activations are gathered again at every level. The axes
  /// must outlive this.
  StageStash(ProgramOp program, const ValueSources &sources, const MeshAxes &axes, TaskOp forward,
             TaskOp backward, TaskOp weight, bool gathersAgain);

  const ForwardTask &getForward() const { return forward; }
  TaskOp getBackward() const { return backward; }
  TaskOp getWeight() const { return weight; }

  /// Decides which values are kept and which are dropped, with each block at its level; unlisted
  /// blocks are unchanged. The kept values of a block are a minimum cut, in bytes, between the
  /// values that may not be recomputed and those that the backward tasks read.
  StashChoice choose(const DenseMap<int64_t, RecomputeLevel> &levels) const;

  /// Drops values that are computed elementwise from sources that are kept instead: product
  /// results, values rounded to 16 bits before f32 ops, other kept values, or values at most a
  /// sixteenth as large. This saves a write to memory, or half of one. Applies only to values that
  /// backward tasks use outside products and whose sources cost no more to read.
  void reuseProducts(StashChoice &choice) const;

  /// The write of a value into its stash; null for values that are not stashed.
  WriteOp getWrite(Value value) const { return stashed.lookup(value); }
  /// The stashed values of a block.
  ArrayRef<Value> getStashed(int64_t block) const {
    auto found = stashedOf.find(block);
    return found == stashedOf.end() ? ArrayRef<Value>() : ArrayRef<Value>(found->second);
  }
  /// Returns true if the weight task reads a stashed value.
  bool isReadByWeight(Value value) const { return readByWeight.contains(value); }

private:
  void findStashed(ProgramOp program);
  void findDerived();
  /// Returns true if an op of a block may be recomputed in order to drop a value.
  bool isAllowed(Operation *op, int64_t block, RecomputeLevel level) const;
  /// Returns true if a level drops a stashed value.
  bool isDroppable(Value value, int64_t block, RecomputeLevel level) const;
  bool isInStorage(Value value) const;
  bool isReadByProduct(Value value) const;
  std::optional<llvm::SetVector<Value>> findSources(Value value, const StashChoice &choice) const;
  bool isDerived(Value value) const { return derived.contains(value); }
  llvm::SetVector<Value> cut(const llvm::SetVector<Value> &wanted, int64_t block,
                             RecomputeLevel level, function_ref<bool(Value)> isAtHand) const;
  void chooseInBlock(int64_t block, RecomputeLevel level, StashChoice &choice) const;
  double getRecomputeCost(ArrayRef<Value> values, function_ref<bool(Value)> isAtHand) const;

  /// timeInTask of an op, cached.
  double timeOf(Operation *op) const;

  ForwardTask forward;
  const MeshAxes *axes;
  mutable DenseMap<Operation *, double> times;
  TaskOp backward, weight;
  bool gathersAgain;
  DenseMap<Value, WriteOp> stashed; ///< values that only backward tasks of the stage read
  DenseMap<int64_t, SmallVector<Value>> stashedOf; ///< the same, by block
  DenseSet<Value> readByWeight;
  llvm::StringSet<> freeReads; ///< storage that exists anyway when the backward task runs
  DenseSet<Value> derived;     ///< values computable from that storage in any block
};

} // namespace mlir::st
