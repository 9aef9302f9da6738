// The ops of a task as a graph: what must come before what, and how long each takes.
#pragma once

#include "dialects/St/Sharding/TensorSharding.h"

namespace mlir::st {

struct TaskNode {
  Operation *op = nullptr;
  /// Microseconds on the target, as its costs have it: of the links if `isLink`, else of the
  /// device. 0 of what is no code of its own.
  double time = 0;
  double fixedTime = 0; ///< what of it no smaller tensors would save
  bool isLink = false;
  /// The part of the device memory's rate that it takes, so long as it runs.
  double memoryShare = 0;
  SmallVector<int64_t, 4> before, after; ///< nodes, each once or more
};

/// The node of an op, with its times but no edges.
TaskNode timeTaskOp(Operation *op, const MeshAxes &axes);

/// Nodes are the ops of a task's body in program order. Edges are values; storage, with room for a
/// value to be made where the one before it lies; and messages between groups, which keep their
/// places among all ops that use links, so that who waits for whom stays as it is. A loop keeps its
/// place among all ops.
SmallVector<TaskNode, 0> buildTaskGraph(Block &body, const MeshAxes &axes);

} // namespace mlir::st
