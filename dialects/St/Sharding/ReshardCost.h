// What the steps of a reshard cost: the one place that weighs collectives against each other.
//
// A collective goes round a ring of its n members (Thakur, Rabenseifner, Gropp, "Optimization of
// Collective Communication Operations in MPICH", 2005): a device sends (n - 1) / n of the whole
// tensor to gather it, to scatter it or to exchange it, and twice that to reduce it on every
// device. Costs are in bytes on the fastest link; MeshAxes says how much slower an axis is.
#pragma once

#include "dialects/St/Sharding/TensorSharding.h"

namespace mlir::st {

struct ReshardStep;

/// What else could be sent while a collective is set up, bytes.
constexpr double kStartBytes = 512;

/// Bytes of one element, rounded up.
int64_t elementBytes(Type type);

/// Bytes that a device sends in one execution of a step, the most of any device.
int64_t bytesSent(const ReshardStep &step, int64_t elementBytes, const MeshAxes &axes);

/// What one execution of a step costs: the bytes sent over the slowest of its axes and a start a
/// collective; of a local step a small share of the bytes it touches.
double stepCost(const ReshardStep &step, int64_t elementBytes, const MeshAxes &axes);

/// What a plan costs, each of its steps executed once.
double reshardCost(ArrayRef<ReshardStep> steps, int64_t elementBytes, const MeshAxes &axes);

/// What it costs in a step of training: each of its steps as often as it is executed.
double reshardCostInStep(ArrayRef<ReshardStep> steps, int64_t elementBytes, const MeshAxes &axes);

} // namespace mlir::st
