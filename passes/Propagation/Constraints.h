// The sharding that each value should have: the fixpoint of the ops' factor rules.
#pragma once

#include "passes/Propagation/MicroAnalysis.h"
#include "passes/Propagation/OpenResults.h"
#include <deque>
#include <memory>

namespace mlir::st {

/// A constraint is the sharding that a value should have so that neighbouring ops agree.
/// `Resolution` later decides how each op uses it: a product whose weight is sharded along the
/// contracted dimension leaves partial sums, and the constraint determines the sharding to which
/// they are reduced.
///
/// Seeds are arguments, function results, pinned updates and `st.constrain` ops. A constraint only
/// grows. The constraint of a seed grows only in its open dimensions. Conflicts are resolved in
/// this order: seed dimensions by priority, each to a fixpoint; then ops that only pass elements
/// through before ops that contract, gather or move along a dimension, so that the sharding within
/// a layer propagates before guesses from its neighbours; then, between two axes that exclude each
/// other, weights and pins before results, and results before operands.
class Constraints {
public:
  Constraints(const StepGraph &graph, const MicroAnalysis &micro, const OpenResults &open)
      : graph(graph), micro(micro), open(open) {}

  /// Fails, with a diagnostic, where values of one group differ in their shapes.
  LogicalResult run();

  const TensorSharding &of(Value value) const { return constraints.find(value)->second; }

private:
  /// A tensor of an op, in the terms of its rule.
  struct Tensor {
    Value value;
    const TensorFactors *factors;
    int64_t part; ///< of the op
  };

  LogicalResult findGroups();
  void seed();
  void seedResults();
  void spread();
  void push(Operation *op);
  void pushAround(Value value);
  void visit(const OpNode &node);
  SmallVector<Splits, 4> merge(const OpNode &node, ArrayRef<Tensor> tensors) const;
  bool extend(Value value, const TensorSharding &offered);
  /// Extends the constraint of the value and its group, and queues the ops around them.
  void offer(Value value, const TensorSharding &offered);
  /// Returns true if the dimension of a value must not change.
  bool isClosed(Value value, int64_t dim) const;
  /// A constraint without the seed dimensions of lower priority than the current one.
  TensorSharding visible(const TensorSharding &constraint, ShardingAttr seed) const;

  const StepGraph &graph;
  const MicroAnalysis &micro;
  const OpenResults &open;
  DenseMap<Value, TensorSharding> constraints;
  /// Seeds whose dimensions differ in openness or priority.
  DenseMap<Value, ShardingAttr> seeds;
  /// The values of each value's group.
  DenseMap<Value, std::shared_ptr<SmallVector<Value>>> groups;
  /// Dimensions of seeds up to this priority spread.
  int64_t priority = 0;
  /// Work lists: ops that pass elements through, and all others.
  std::deque<size_t> queues[2];
  std::vector<bool> isQueued;
};

} // namespace mlir::st
