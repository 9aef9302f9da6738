// What the steps of a reshard cost: the one place that weighs collectives against each other. Times
// are microseconds of the costs that MeshAxes has.
#pragma once

#include "dialects/St/Sharding/TensorSharding.h"

namespace mlir::st {

struct ReshardStep;

/// Bytes of one element, rounded up.
int64_t elementBytes(Type type);

/// "all_reduce" and the like. The step must move data.
StringRef collectiveName(const ReshardStep &step);

/// Bytes that a device sends in one execution of a step, the most of any device.
int64_t bytesSent(const ReshardStep &step, int64_t elementBytes, const MeshAxes &axes);

/// What one execution of a step costs: the bytes of a collective over the slowest of its axes and a
/// little for its start, or of a local step a pass over the bytes that it keeps or makes.
double stepCost(const ReshardStep &step, int64_t elementBytes, const MeshAxes &axes);

/// What gathers that make a device's part larger by `bytes`, or any other collective that sends so
/// many, cost at least.
double leastCost(double bytes, const MeshAxes &axes);

/// What a plan costs, each of its steps executed once.
double reshardCost(ArrayRef<ReshardStep> steps, int64_t elementBytes, const MeshAxes &axes);

/// What it costs in a step of training: each of its steps as often as it is executed.
double reshardCostInStep(ArrayRef<ReshardStep> steps, int64_t elementBytes, const MeshAxes &axes);

} // namespace mlir::st
