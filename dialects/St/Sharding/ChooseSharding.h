// Chooses the cheapest way to compute an op in shards.
#pragma once

#include "dialects/St/Sharding/OpSharding.h"

namespace mlir::st {

/// The known facts around an op when its sharding is chosen.
struct ChoiceContext {
  const MeshAxes &axes;
  /// The shardings of the operands. std::nullopt: the operand is available in any sharding.
  SmallVector<std::optional<TensorSharding>> operands;
  /// Other available shardings of operands, because an earlier op uses them. Empty, or one list per
  /// operand.
  std::vector<SmallVector<TensorSharding, 1>> atHand;
  /// Operands whose shards should not move between devices (weights), and operands that are
  /// constant zeros.
  SmallVector<bool> anchored, isZero;
  /// Operands that all their users could take unreduced.
  SmallVector<bool> mayPass;
  /// The required shardings of results. None: any.
  SmallVector<std::optional<TensorSharding>> wanted;
  /// Axes whose positions hold the same weights and compute different rows of the batch. Like
  /// shards of weights, rows should stay on their devices; sums over these axes may be
  /// communicated.
  SmallVector<Axis, 2> replicas = {};
  /// True if costs are those of a complete step, with values that vary along micro-batches counted
  /// once per micro-batch. Only after `micro` is assigned, which does not depend on cost.
  bool isOfStep = false;
  /// Results that are sums over micro-batches and are reduced over devices once per step, after the
  /// last micro-batch. Empty, or one per result.
  SmallVector<bool> isLate = {};
  /// The size of the sum over devices relative to the result, if later linear ops may take
  /// the result unreduced: less than 1 if such an op shrinks it. Empty, or one number per
  /// result.
  SmallVector<double> laterSum = {};
};

/// The cost, in bytes sent by a device, of computing `op` in the sharding `how`. Infinite if an
/// operand cannot be resharded for it.
double costOf(Operation *op, const ShardingRule &rule, const OpSharding &how,
              const ChoiceContext &context);

/// Extends `base` axis by axis at the lowest cost: on one of the factors that an operand or a
/// wanted result splits over the axis, passed on unreduced, or not at all. Axes that `base` uses do
/// not move.
OpSharding chooseOpSharding(Operation *op, const ShardingRule &rule, OpSharding base,
                            const ChoiceContext &context, ArrayRef<Axis> over);

/// Tests whether `how` can be extended by passing `axis` on: the op is linear in operands that are
/// unreduced over it or zero, or can cheaply become so. Returns the extension of part `part`.
std::optional<OpSharding> passOn(Operation *op, const ShardingRule &rule, const OpSharding &how,
                                 Axis axis, int64_t part, const ChoiceContext &context);

/// Returns the op sharding that gives the results exactly the shardings of `context.wanted`, with
/// unreduced axes from the cheapest source, or std::nullopt if there is none.
std::optional<OpSharding> exactOpSharding(Operation *op, const ShardingRule &rule,
                                          const ChoiceContext &context);

/// Derives the sharding of an op from the recorded shardings of its operands and results, without
/// any choice. Returns std::nullopt if they are incompatible.
std::optional<OpSharding> readOpSharding(Operation *op, const ShardingRule &rule,
                                         const ChoiceContext &context);

/// The context of an op all of whose operands and results have recorded shardings.
ChoiceContext recordedContext(Operation *op, const MeshAxes &axes);

/// Returns true if a value is a constant, or a broadcast of one, with only zero elements.
bool isZeroConstant(Value value);

} // namespace mlir::st
