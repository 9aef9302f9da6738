// From wishes to shardings that ops have.
#pragma once

#include "passes/Propagation/Wishes.h"

namespace mlir::st {

/// Decides how each op is computed, in program order, by cost: what its operands
/// have by then, what its results should have. Then gives every free value, once
/// for each sharding in which it is used, and records all shardings.
class Settlement {
public:
  Settlement(const StepGraph &graph, const MicroAnalysis &micro, const Wishes &wishes)
      : graph(graph), micro(micro), wishes(wishes) {}

  void run();
  /// Free values computed in more than one sharding.
  size_t copiedValues() const { return copies; }

private:
  OpSharding choose(const OpNode &node);
  void passSums(const OpNode &node, OpSharding &how) const;
  bool mayPass(Value value);
  void noteTaken(const OpNode &node, const OpSharding &how);
  /// A free value computed as `needed`, or the nearest to it that it can be.
  Value versionOf(Value value, TensorSharding needed);
  void supplyFreeOperands(const OpNode &node, const OpSharding &how);
  void settleSignature();
  void record(Operation *op);
  void eraseUnused();

  const StepGraph &graph;
  const MicroAnalysis &micro;
  const Wishes &wishes;
  DenseMap<Value, TensorSharding> settled;
  /// The other shardings in which ops so far take a value.
  DenseMap<Value, SmallVector<TensorSharding, 1>> taken;
  DenseMap<Value, bool> passable;
  /// Versions of free values by sharding; the first is the value itself.
  DenseMap<Value, SmallVector<std::pair<TensorSharding, Value>, 1>> versions;
  /// The value of which a copy is a version.
  DenseMap<Value, Value> originals;
  size_t copies = 0;
};

} // namespace mlir::st
