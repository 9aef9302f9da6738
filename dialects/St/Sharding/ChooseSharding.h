// Which of the ways to compute an op in shards costs least.
#pragma once

#include "dialects/St/Sharding/OpSharding.h"

namespace mlir::st {

/// What is known around an op when its sharding is chosen.
struct ChoiceContext {
  const MeshAxes &axes;
  /// The shardings that operands have. None: the operand can be had in any.
  SmallVector<std::optional<TensorSharding>> operands;
  /// Other shardings in which operands are at hand, because an op before this one
  /// takes them so. Empty, or one list an operand.
  std::vector<SmallVector<TensorSharding, 1>> atHand;
  /// Operands whose parts must not move between devices if that can be avoided
  /// (weights), and operands that are constant zeros.
  SmallVector<bool> anchored, isZero;
  /// Operands all of whose users could take them unreduced.
  SmallVector<bool> mayPass;
  /// The shardings that results should have. None: any.
  SmallVector<std::optional<TensorSharding>> wanted;
  /// Axes whose positions hold the same weights and compute different rows of the batch. Like parts
  /// of weights, rows must not move between them if that can be avoided; sums over them may.
  SmallVector<Axis, 2> replicas = {};
  /// Whether costs are of a whole step, and what varies along micro-batches costs so once for each.
  /// Only where `micro` has its place already: where it goes is no matter of cost.
  bool isOfStep = false;
  /// Results that are sums over micro-batches, and summed over devices once these are complete:
  /// once a step. Empty, or one a result.
  SmallVector<bool> isLate = {};
};

/// The cost, in bytes sent by a device, of computing `op` as `how`; infinite where
/// an operand cannot be brought into the sharding it takes.
double costOf(Operation *op, const ShardingRule &rule, const OpSharding &how,
              const ChoiceContext &context);

/// Extends `base` axis by axis by what costs least: on one of the factors that an
/// operand or a wanted result splits over the axis, passed on unreduced, or not at
/// all. Axes that `base` uses stay where they are.
OpSharding chooseOpSharding(Operation *op, const ShardingRule &rule, OpSharding base,
                            const ChoiceContext &context, ArrayRef<Axis> over);

/// Whether `how` can be extended by passing `axis` on: the op is linear in operands
/// that are unreduced over it, zero, or cheaply made so. Returns it extended. Concerns
/// one part of the op.
std::optional<OpSharding> passOn(Operation *op, const ShardingRule &rule, const OpSharding &how,
                                 Axis axis, int64_t part, const ChoiceContext &context);

/// The way to compute an op that leaves its results exactly as `context.wanted`
/// says, taking unreduced axes from where that costs least; none if there is none.
std::optional<OpSharding> exactOpSharding(Operation *op, const ShardingRule &rule,
                                          const ChoiceContext &context);

/// The way to compute an op whose operands are all had as it takes them and whose results are left
/// as recorded, read off these: nothing is chosen. None if they do not fit together.
std::optional<OpSharding> readOpSharding(Operation *op, const ShardingRule &rule,
                                         const ChoiceContext &context);

/// The context of an op all of whose operands and results have recorded shardings.
ChoiceContext recordedContext(Operation *op, const MeshAxes &axes);

/// Whether a value is a constant, or a broadcast of one, with no element but zero.
bool isZeroConstant(Value value);

} // namespace mlir::st
