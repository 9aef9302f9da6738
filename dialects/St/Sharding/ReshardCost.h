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

/// The cost of one execution of a step: for a collective its bytes over the slowest of its axes and
/// a little for its start, for a local step a pass over its result.
double stepCost(const ReshardStep &step, int64_t elementBytes, const MeshAxes &axes);

/// A lower bound of the cost of gathers that enlarge a device's part by `bytes`, or of any other
/// collective that sends this number of bytes.
double minCost(double bytes, const MeshAxes &axes);

/// The cost of a plan, with each step executed once.
double reshardCost(ArrayRef<ReshardStep> steps, int64_t elementBytes, const MeshAxes &axes);

/// The cost of a plan in a training step, with each of its steps as often as it is executed.
double reshardCostInStep(ArrayRef<ReshardStep> steps, int64_t elementBytes, const MeshAxes &axes);

} // namespace mlir::st
