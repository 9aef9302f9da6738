// The temporal axis: which values vary along `micro`, and which are sums over it.
#pragma once

#include "passes/Propagation/StepGraph.h"

namespace mlir::st {

/// The placement of `micro` on every op. It does not depend on cost: a value that varies along
/// `micro` cannot be gathered, so it varies until an op reduces over it, and reductions stay open
/// through linear ops.
class MicroAnalysis {
public:
  explicit MicroAnalysis(const StepGraph &graph) : graph(graph) {}

  /// Fails, with a diagnostic that names the op, if an op needs all micro-batches of a value that
  /// varies along `micro`.
  LogicalResult run();

  /// The use of `micro` by an op: it splits a factor, or passes on an unreduced value.
  const OpSharding &placement(const OpNode &node) const {
    return placements[graph.indexOf(node.op)];
  }
  /// The micro part of a value's sharding. None for free values.
  TensorSharding sharding(Value value) const;
  /// Returns true if every user takes the value reduced.
  bool isReducedForAll(Value value) const { return reduced.contains(value); }

private:
  LogicalResult sweep();
  LogicalResult visit(const OpNode &node, OpSharding &how);
  LogicalResult placeVarying(const OpNode &node, OpSharding &how);
  void passOnUnreduced(const OpNode &node, OpSharding &how);
  void passOnUnreduced(const OpNode &node, int64_t part, OpSharding &how);
  void reduceForAll(Value value);
  LogicalResult checkCaptured(const OpNode &node);
  LogicalResult checkResults() const;
  /// Ops that do not vary but are only used along `micro` are computed per micro-batch, so a
  /// broadcast over all micro-batches is never in memory.
  void followUsers();
  std::optional<TensorSharding> wantedByUsers(Value value) const;

  const StepGraph &graph;
  std::vector<OpSharding> placements; ///< by index of the op
  DenseMap<Value, TensorSharding> shardings;
  /// Values that are reduced for all users because one user needs them reduced.
  DenseSet<Value> reduced;
  /// Values known only after all micro-batches have run.
  DenseSet<Value> late;
  /// Values that an op took unreduced in this sweep.
  DenseSet<Value> passed;
  bool changed = false;
};

} // namespace mlir::st
