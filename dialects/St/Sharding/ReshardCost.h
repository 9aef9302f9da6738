// The costs of the steps of a reshard; no other code compares collectives. Times are microseconds
// of the costs in MeshAxes.
#pragma once

#include "dialects/St/Sharding/TensorSharding.h"

namespace mlir::st {

struct ReshardStep;

/// Bytes of one element, rounded up.
int64_t elementBytes(Type type);

/// "all_reduce" and the like. The step must move data.
StringRef collectiveName(const ReshardStep &step);

/// Bytes that a device sends in one execution of a step, the maximum over devices.
int64_t bytesSent(const ReshardStep &step, int64_t elementBytes, const MeshAxes &axes);

/// The cost of one execution of a step. A collective costs its bytes over the slowest of its axes,
/// plus a small cost for its start. A local step costs a pass over its result.
double stepCost(const ReshardStep &step, int64_t elementBytes, const MeshAxes &axes);

/// A lower bound of the cost of gathers that enlarge a device's part by `bytes`, or of any other
/// collective that sends this number of bytes.
double minCost(double bytes, const MeshAxes &axes);

/// The cost of a plan, with each step executed once.
double reshardCost(ArrayRef<ReshardStep> steps, int64_t elementBytes, const MeshAxes &axes);

/// The cost of a plan in a training step: each step counts once per execution.
double reshardCostInStep(ArrayRef<ReshardStep> steps, int64_t elementBytes, const MeshAxes &axes);

} // namespace mlir::st
