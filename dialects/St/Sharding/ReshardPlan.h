// From one sharding of a tensor to another: which collectives, in which order.
#pragma once

#include "dialects/St/Sharding/TensorSharding.h"

namespace mlir::st {

/// One step of a reshard. `dim` and `outer` are the place in the device's part of
/// the tensor: the step acts on the dimension as if it were reshaped to
/// [outer, rest] and `rest` were a dimension of its own.
struct ReshardStep {
  enum Kind {
    AllSlice,      ///< keeps this device's part of the place
    MicroSlice,    ///< keeps this micro-batch's part of the place
    Accumulate,    ///< reduces over micro
    ReduceScatter, ///< reduces and keeps this device's part of the place
    AllReduce,
    AllToAll,  ///< moves an axis from (fromDim, fromOuter) to the place
    AllGather, ///< joins the parts of the place
    Mask,      ///< makes a sum of the value: all but the first device of the axes get zeros
  } kind;
  SmallVector<Axis, 2> axes;
  int64_t dim = 0, outer = 1;
  int64_t fromDim = 0, fromOuter = 1;
  /// Elements that a device holds before and after the step.
  int64_t elementsBefore = 0, elementsAfter = 0;

  /// Whether devices exchange anything.
  bool movesData() const {
    return kind == ReduceScatter || kind == AllReduce || kind == AllToAll || kind == AllGather;
  }
};

/// The steps from one sharding of a tensor of `shape` to another: slices first, for
/// they make the rest smaller; then reductions in the order that `from` lists them,
/// scattering where the target is split; then moves between dimensions; gathers
/// last. Nothing if a value that varies along `micro` would have to be gathered, or
/// what is unreduced in another way than as a sum would have to be made so.
std::optional<SmallVector<ReshardStep>> planReshard(const TensorSharding &from,
                                                    const TensorSharding &to,
                                                    ArrayRef<int64_t> shape, const MeshAxes &axes);

/// What a plan costs a device, in bytes sent: a ring's for collectives, and a small
/// share of the bytes touched for local steps.
double reshardCost(ArrayRef<ReshardStep> steps, int64_t elementBytes, const MeshAxes &axes);

} // namespace mlir::st
