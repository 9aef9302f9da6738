// From one sharding of a tensor to another: which collectives, in which order.
#pragma once

#include "dialects/St/Sharding/ReshardCost.h"
#include "mlir/IR/BuiltinTypes.h"

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
    AllToAll,          ///< moves axes from (fromDim, fromOuter) to the place
    CollectivePermute, ///< sends whole parts to other devices
    AllGather,         ///< joins the parts of the place
    Mask,              ///< makes terms of the value: all but the first device of the axes get zeros
  } kind;
  SmallVector<Axis, 2> axes;
  int64_t dim = 0, outer = 1;
  /// `fromDim` may be `dim`; where then both places are one, `fromOuter` comes first.
  int64_t fromDim = 0, fromOuter = 1;
  /// Of a mask: all devices keep the value, for a maximum (minimum, and, or) does not count copies.
  bool keepsCopies = false;
  /// Of a permutation: source and target positions along the axes, the first axis major. Every
  /// position is once a source and once a target.
  SmallVector<int64_t, 0> pairs;
  /// Elements that a device holds before and after the step.
  int64_t elementsBefore = 0, elementsAfter = 0;
  /// How often a step of training executes it: once a micro-batch where the value before it varies
  /// along `micro`.
  int64_t times = 1;

  /// Whether devices exchange anything.
  bool movesData() const {
    return kind == ReduceScatter || kind == AllReduce || kind == AllToAll ||
           kind == CollectivePermute || kind == AllGather;
  }
};

using ReshardPlan = SmallVector<ReshardStep>;

/// The steps from one sharding of a tensor to another that cost least (by stepCost) in a step of
/// training, each as often as it is executed; the shortest path
/// through the shardings between them (Hart, Nilsson, Raphael, "A Formal Basis for the Heuristic
/// Determination of Minimum Cost Paths", 1968). Three things narrow the search:
///
/// - an axis that neither sharding uses stays unused: devices that hold copies do not share the
///   work, and plans do not depend on the number of replicas;
/// - `micro` moves no data: it is sliced, accumulated, or stays where it is, and a reduction that
///   `from` lists before it comes before it, one listed after it after it;
/// - the first plan has only steps that bring an axis where it belongs or free it. A search for a
///   cheaper one that grows too large ends with it, and MeshAxes counts these.
///
/// Null if a value that varies along `micro` would have to be gathered, or what is unreduced in
/// another way than as a sum would have to be made so. A plan is made once and lives as long as
/// `axes`.
const ReshardPlan *planReshard(const TensorSharding &from, const TensorSharding &to,
                               RankedTensorType type, const MeshAxes &axes);

/// Whether a plan's value is converted to f32 before it and back after: a sum over many
/// micro-batches in 16 bits would stop to grow, so it is formed in f32, and reduced between devices
/// so as well.
bool needsWideSum(Type type, ArrayRef<ReshardStep> steps, ReduceKind kind);

} // namespace mlir::st
