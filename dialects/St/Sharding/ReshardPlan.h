// Plans the collectives from one sharding of a tensor to another.
#pragma once

#include "dialects/St/Sharding/ReshardCost.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::st {

/// One step of a reshard. `dim` and `outer` are the position in the device's part of the tensor:
/// the step acts as if the dimension were reshaped to [outer, rest], on the dimension `rest`.
struct ReshardStep {
  enum Kind {
    AllSlice,      ///< keeps this device's part at the position
    MicroSlice,    ///< keeps this micro-batch's part at the position
    Accumulate,    ///< reduces over micro
    ReduceScatter, ///< reduces and keeps this device's part at the position
    AllReduce,
    AllToAll,          ///< moves axes from (fromDim, fromOuter) to the position
    CollectivePermute, ///< sends full parts to other devices
    AllGather,         ///< joins the parts at the position
    Mask,              ///< makes addends of the value: all but the first device of the axes get
                       ///< zeros
  } kind;
  SmallVector<Axis, 2> axes;
  int64_t dim = 0, outer = 1;
  /// `fromDim` may be `dim`; if both positions are then the same, `fromOuter` comes first.
  int64_t fromDim = 0, fromOuter = 1;
  /// For a mask: all devices keep the value, because copies do not change a maximum (minimum, and,
  /// or).
  bool keepsCopies = false;
  /// For a permutation: source and target positions along the axes, the first axis major. Every
  /// position is a source exactly once and a target exactly once.
  SmallVector<int64_t, 0> pairs;
  /// Elements that a device holds before and after the step.
  int64_t elementsBefore = 0, elementsAfter = 0;
  /// Number of executions in a training step: once per micro-batch if the value before it varies
  /// along `micro`.
  int64_t times = 1;

  /// Returns true if devices exchange data.
  bool movesData() const {
    return kind == ReduceScatter || kind == AllReduce || kind == AllToAll ||
           kind == CollectivePermute || kind == AllGather;
  }
};

using ReshardPlan = SmallVector<ReshardStep>;

/// The steps from one sharding of a tensor to another with the lowest cost (by stepCost) in a
/// training step, each counted as often as it is executed. It is the shortest path through
/// intermediate shardings (Hart, Nilsson, Raphael, "A Formal Basis for the Heuristic Determination
/// of Minimum Cost Paths", 1968). Three rules limit the search:
///
/// - an axis that neither sharding uses stays unused: devices that hold copies do not share the
///   work, and plans do not depend on the number of replicas;
/// - `micro` moves no data: it is sliced, accumulated, or unchanged, and reductions keep their
///   order in `from` relative to it;
/// - the first plan has only steps that move an axis to its final position or free it. If a search
///   for a cheaper plan grows too large, the first plan is the result, and MeshAxes counts these.
///
/// Returns null if a value that varies along `micro` would have to be gathered, or if a value would
/// have to become unreduced with a kind other than sum. Plans are cached and live as long as
/// `axes`.
const ReshardPlan *planReshard(const TensorSharding &from, const TensorSharding &to,
                               RankedTensorType type, const MeshAxes &axes);

/// Returns true if a value is converted to f32 before the plan and back after it. A 16-bit sum over
/// many micro-batches would stop growing, so it is computed in f32, and reduced between devices in
/// f32 too.
bool needsWideSum(Type type, ArrayRef<ReshardStep> steps, ReduceKind kind);

} // namespace mlir::st
