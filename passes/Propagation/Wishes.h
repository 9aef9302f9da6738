// The sharding that each value would best have, by the fixpoint of factor rules.
#pragma once

#include "passes/Propagation/MicroAnalysis.h"
#include <deque>
#include <memory>

namespace mlir::st {

/// A wish is how a value should be split so that neighbours agree. What an op can
/// make of it is settled later: a product whose weight is cut along the contracted
/// dimension leaves partial sums, and its wish says into what to reduce them.
///
/// Seeds are arguments, results of the function, pinned updates and constraints. A wish only ever
/// grows, that of a seed in its open dimensions. What comes first wins: dimensions of seeds by
/// their priority, to a fixpoint each; then ops that only pass elements through before those that
/// contract, gather or move along a dimension, so that a layer's shape spreads before a neighbour's
/// guess does; then, between two axes that cannot both be had, weights and pins before results,
/// results before operands.
class Wishes {
public:
  Wishes(const StepGraph &graph, const MicroAnalysis &micro) : graph(graph), micro(micro) {}

  /// Fails, with a diagnostic, where values of one group differ in their shapes.
  LogicalResult run();

  const TensorSharding &of(Value value) const { return wishes.find(value)->second; }

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
  /// Extends the value, and with it its group, and has the ops around them looked at.
  void offer(Value value, const TensorSharding &offered);
  /// Whether the dimension of a value has to stay as it is.
  bool isClosed(Value value, int64_t dim) const;
  /// A wish without the dimensions of a seed whose turn has not come.
  TensorSharding visible(const TensorSharding &wish, ShardingAttr seed) const;

  const StepGraph &graph;
  const MicroAnalysis &micro;
  DenseMap<Value, TensorSharding> wishes;
  /// What was said of values whose dimensions differ in being open or in priority.
  DenseMap<Value, ShardingAttr> seeds;
  /// The values of each value's group.
  DenseMap<Value, std::shared_ptr<SmallVector<Value>>> groups;
  /// Dimensions of seeds up to this priority spread.
  int64_t priority = 0;
  /// Ops to look at: those that pass elements through, and the others.
  std::deque<size_t> queues[2];
  std::vector<bool> isQueued;
};

} // namespace mlir::st
