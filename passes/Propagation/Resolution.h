// Turns constraints into the sharding of each op.
#pragma once

#include "passes/Propagation/Constraints.h"
#include "passes/Propagation/OpenResults.h"

namespace mlir::st {

/// Chooses the sharding of each op by cost, in program order, from the shardings of its operands
/// and the constraints of its results. Then computes every free value once per sharding in which it
/// is used, and records all shardings.
class Resolution {
public:
  Resolution(const StepGraph &graph, const MicroAnalysis &micro, const Constraints &constraints,
             const OpenResults &open)
      : graph(graph), micro(micro), constraints(constraints), open(open) {}

  void run();
  /// Free values computed in more than one sharding.
  size_t copiedValues() const { return copies; }

private:
  OpSharding choose(const OpNode &node);
  void passSums(const OpNode &node, OpSharding &how) const;
  bool sharesSum(Operation *op) const;
  double laterSumOf(Value result);
  bool mayPass(Value value);
  void noteTaken(const OpNode &node, const OpSharding &how);
  /// Returns the free value computed in the sharding `needed`, or in the nearest possible one.
  Value versionOf(Value value, TensorSharding needed);
  void supplyFreeOperands(const OpNode &node, const OpSharding &how);
  void resolveSignature();
  void record(Operation *op);
  void eraseUnused();

  const StepGraph &graph;
  const MicroAnalysis &micro;
  const Constraints &constraints;
  const OpenResults &open;
  DenseMap<Value, TensorSharding> resolved;
  /// The other shardings in which ops so far use a value.
  DenseMap<Value, SmallVector<TensorSharding, 1>> taken;
  DenseMap<Value, bool> passable;
  /// Versions of free values by sharding; the first is the value itself.
  DenseMap<Value, SmallVector<std::pair<TensorSharding, Value>, 1>> versions;
  /// The original value of each copy.
  DenseMap<Value, Value> originals;
  size_t copies = 0;
};

} // namespace mlir::st
