// The ops of a task as a dependence graph with times.
#pragma once

#include "dialects/St/Sharding/TensorSharding.h"

namespace mlir::st {

struct TaskNode {
  Operation *op = nullptr;
  /// Microseconds on the target, from its costs: on the links if `isLink`, else on the device. 0
  /// for an op without code.
  double time = 0;
  double fixedTime = 0; ///< the part of it that is independent of tensor sizes
  bool isLink = false;
  /// The fraction of the device's memory bandwidth that it uses while it runs.
  double memoryShare = 0;
  SmallVector<int64_t, 4> before, after; ///< nodes; may contain duplicates
};

/// The node of an op, with times but without edges.
TaskNode timeTaskOp(Operation *op, const MeshAxes &axes);

/// Nodes are the ops of a task's body in program order. Edges are values, storage accesses and
/// messages between groups. Storage accesses leave room for a value to be computed in the memory of
/// its predecessor. Messages keep their order among all link ops, so that waits between groups do
/// not change. A loop keeps its position among all ops.
SmallVector<TaskNode, 0> buildTaskGraph(Block &body, const MeshAxes &axes);

} // namespace mlir::st
