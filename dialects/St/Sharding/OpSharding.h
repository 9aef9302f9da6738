// How one op is computed in shards: what its factors are split over.
#pragma once

#include "dialects/St/Interfaces/ShardingRule.h"
#include "dialects/St/Sharding/TensorSharding.h"

namespace mlir::st {

/// The rule of an op: its own, or the identity for the ops that only change a
/// sharding or a stage. Ops without a rule get one without factors.
ShardingRule getShardingRule(Operation *op);

/// Whether the op computes each element of its one result from the same elements of
/// its operands, and scalars.
bool isPointwise(const ShardingRule &rule);

/// A way to compute an op in shards. The shardings of all its operands and results
/// follow from it and the op's rule.
struct OpSharding {
  SmallVector<Splits, 4> factors;
  /// For each part of the op the axes over which linear operands arrive, and results
  /// leave, as unreduced sums.
  SmallVector<SmallVector<Axis, 2>, 1> passing;
  /// The operand that does so where an op of one part is linear in single operands.
  int64_t passingOperand = -1;

  OpSharding() : passing(1) {}
  explicit OpSharding(const ShardingRule &rule)
      : factors(rule.factors.size()), passing(rule.parts) {}

  /// The factor of a part of the op that an axis splits.
  std::optional<int64_t> factorOf(const ShardingRule &rule, Axis axis, int64_t part) const;
  bool uses(const ShardingRule &rule, Axis axis, int64_t part) const {
    return factorOf(rule, axis, part) || llvm::is_contained(passing[part], axis);
  }
  /// Whether an axis splits a factor of any part.
  bool splits(Axis axis) const {
    return llvm::any_of(factors, [&](const Splits &s) { return outerOf(s, axis).has_value(); });
  }
  /// Puts an axis on a factor; false where the place is taken or the kind of the
  /// factor or its size forbid it.
  bool place(const ShardingRule &rule, int64_t factor, ArrayRef<Split> splits);
};

/// Whether a tensor sharding can be expressed by the factors of one tensor of the
/// rule. `factors` gets the splits of all factors; false where an axis lies across
/// factors, those of its dimension being left out. Unreduced axes play no part.
bool readFactors(const ShardingRule &rule, const TensorFactors &tensor,
                 const TensorSharding &sharding, MutableArrayRef<Splits> factors);

/// The dimensions of a tensor of a rule whose factors are split as given.
TensorSharding composeDims(const ShardingRule &rule, const TensorFactors &tensor,
                           ArrayRef<Splits> factors);

/// What an op computed as `how` takes and leaves. An op whose rule does not list
/// its operands takes and leaves everything replicated.
TensorSharding operandSharding(const ShardingRule &rule, const OpSharding &how, int64_t operand,
                               int64_t rank);
TensorSharding resultSharding(const ShardingRule &rule, const OpSharding &how, int64_t result,
                              int64_t rank);

/// The kind of reduction that leaves results unreduced, if there is one.
std::optional<ReduceKind> reductionKind(const ShardingRule &rule, const OpSharding &how);

/// The number of parts into which the op's iterations are split.
int64_t shardCount(const OpSharding &how);

} // namespace mlir::st
