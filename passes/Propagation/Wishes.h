// The sharding that each value would best have, by the fixpoint of factor rules.
#pragma once

#include "passes/Propagation/MicroAnalysis.h"
#include <deque>

namespace mlir::st {

/// A wish is how a value should be split so that neighbours agree. What an op can
/// make of it is settled later: a product whose weight is cut along the contracted
/// dimension leaves partial sums, and its wish says into what to reduce them.
///
/// Seeds are arguments, pinned updates and constraints. A wish only ever grows.
/// Ops that only pass elements through are served before those that contract,
/// gather or move along a dimension, so that a layer's shape spreads before a
/// neighbour's guess does; between two axes that cannot both be had, weights and
/// pins win over results, results over operands.
class Wishes {
public:
  Wishes(const StepGraph &graph, const MicroAnalysis &micro) : graph(graph), micro(micro) {}

  void run();

  const TensorSharding &of(Value value) const { return wishes.find(value)->second; }

private:
  /// A tensor of an op, in the terms of its rule.
  struct Tensor {
    Value value;
    const TensorFactors *factors;
    int64_t part; ///< of the op
  };

  void seed();
  void push(Operation *op);
  void pushAround(Value value);
  void visit(const OpNode &node);
  SmallVector<Splits, 4> merge(const OpNode &node, ArrayRef<Tensor> tensors) const;
  bool extend(Value value, const TensorSharding &offered);
  bool isClosed(Value value) const;

  const StepGraph &graph;
  const MicroAnalysis &micro;
  DenseMap<Value, TensorSharding> wishes;
  /// Ops to look at: those that pass elements through, and the others.
  std::deque<size_t> queues[2];
  std::vector<bool> isQueued;
};

} // namespace mlir::st
