// A training step as propagation sees it: ops with their rules, and properties of values.
#pragma once

#include "dialects/St/Sharding/OpSharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// An op of the function's body.
struct OpNode {
  Operation *op;
  ShardingRule rule;
  /// Computed from constants, counters, random keys and scalars alone. Such an op is cheap and is
  /// computed once for each sharding of its users; it takes no part in propagation.
  bool isFree = false;
  /// Part of an update, elementwise in the shape of the state: computed in the sharding of the
  /// state.
  bool isPinned = false;
  /// Outside values that the op's regions use.
  SmallVector<Value, 0> captured;
};

class StepGraph {
public:
  /// Fails, with a diagnostic, if the function is not a single block.
  static FailureOr<StepGraph> build(func::FuncOp function, const MeshAxes &axes);

  mutable func::FuncOp function;
  const MeshAxes &axes;
  std::vector<OpNode> nodes; ///< in program order, without the terminator
  Operation *terminator;

  const OpNode *nodeOf(Operation *op) const {
    auto it = index.find(op);
    return it == index.end() ? nullptr : &nodes[it->second];
  }
  size_t indexOf(Operation *op) const { return index.lookup(op); }
  bool isFree(Value value) const {
    const OpNode *node = value.getDefiningOp() ? nodeOf(value.getDefiningOp()) : nullptr;
    return node && node->isFree;
  }
  /// Returns true for a weight or optimizer state, or a transposed or converted one.
  bool isAnchored(Value value) const { return anchored.contains(value); }
  /// Returns true if a value depends on parameters or optimizer state.
  bool readsState(Value value) const { return stateful.contains(value); }
  /// The sharding that a value must have: donated state, its updates, and their gradients.
  const TensorSharding *pinned(Value value) const {
    auto it = pins.find(value);
    return it == pins.end() ? nullptr : &it->second;
  }
  /// The required sharding of a function result, if given.
  std::optional<TensorSharding> resultSharding(unsigned result) const;
  /// Axes along which devices use the same weights with different rows of the batch.
  ArrayRef<Axis> replicas() const { return replicaAxes; }

private:
  StepGraph(func::FuncOp function, const MeshAxes &axes) : function(function), axes(axes) {}
  void addNode(Operation &op);
  void classify(OpNode &node);
  void pinUpdates();
  /// The sharding of a state's update. Among a parameter and its optimizer state it is that of the
  /// one with the most parts; the others are gathered at the end (ZeRO).
  TensorSharding updateSharding(BlockArgument state) const;
  void pin(Value value, const TensorSharding &sharding);
  void findReplicas();

  DenseMap<Operation *, size_t> index;
  DenseSet<Value> anchored, stateful;
  DenseMap<Value, TensorSharding> pins;
  StringAttr parameterOf(BlockArgument state) const;

  /// A parameter and its optimizer state, by the parameter's name.
  DenseMap<StringAttr, SmallVector<BlockArgument, 3>> relatives;
  SmallVector<Axis, 2> replicaAxes;
  DenseMap<unsigned, unsigned> donors; ///< result -> the argument it replaces
};

/// The part of a sharding that involves `axis`.
TensorSharding restrictTo(const TensorSharding &sharding, Axis axis, const MeshAxes &axes);

} // namespace mlir::st
