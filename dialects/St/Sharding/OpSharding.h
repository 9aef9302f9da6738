// The way to compute one op in shards: the axes of its factors.
#pragma once

#include "dialects/St/Interfaces/ShardingRule.h"
#include "dialects/St/Sharding/TensorSharding.h"

namespace mlir::st {

/// Returns the rule of an op. Ops that only change a sharding or a stage have the identity rule.
/// For ops without a rule, it has no factors.
ShardingRule getShardingRule(Operation *op);

/// Returns true if the op computes each element of its only result from the same elements of its
/// operands, and scalars.
bool isPointwise(const ShardingRule &rule);

/// A way to compute an op in shards. It determines the shardings of all operands and results by the
/// op's rule.
struct OpSharding {
  SmallVector<Splits, 4> factors;
  /// For each part of the op, the axes over which linear operands and results are unreduced sums.
  SmallVector<SmallVector<Axis, 2>, 1> passing;
  /// The unreduced operand, for an op of one part that is linear in single operands.
  int64_t passingOperand = -1;

  OpSharding() : passing(1) {}
  explicit OpSharding(const ShardingRule &rule)
      : factors(rule.factors.size()), passing(rule.parts) {}

  /// The factor of a part of the op that an axis splits.
  std::optional<int64_t> factorOf(const ShardingRule &rule, Axis axis, int64_t part) const;
  bool uses(const ShardingRule &rule, Axis axis, int64_t part) const {
    return factorOf(rule, axis, part) || llvm::is_contained(passing[part], axis);
  }
  /// Returns true if an axis splits a factor of any part.
  bool splits(Axis axis) const {
    return llvm::any_of(factors, [&](const Splits &s) { return outerOf(s, axis).has_value(); });
  }
  /// Assigns an axis to a factor; false if the position is occupied, or if the kind or the size of
  /// the factor forbids it.
  bool place(const ShardingRule &rule, int64_t factor, ArrayRef<Split> splits);
};

/// Tests whether the factors of one tensor of the rule can express a tensor sharding. `factors`
/// gets the splits of all factors; false if an axis crosses factors, without those of its
/// dimension. Unreduced axes are ignored.
bool readFactors(const ShardingRule &rule, const TensorFactors &tensor,
                 const TensorSharding &sharding, MutableArrayRef<Splits> factors);

/// The dimensions of a tensor of a rule whose factors are split as given.
TensorSharding composeDims(const ShardingRule &rule, const TensorFactors &tensor,
                           ArrayRef<Splits> factors);

/// The shardings of operands and results of an op computed as `how`. An op whose rule does not list
/// its operands has all of them replicated.
TensorSharding operandSharding(const ShardingRule &rule, const OpSharding &how, int64_t operand,
                               int64_t rank);
TensorSharding resultSharding(const ShardingRule &rule, const OpSharding &how, int64_t result,
                              int64_t rank);

/// The kind of reduction of unreduced results, if there are any.
std::optional<ReduceKind> reductionKind(const ShardingRule &rule, const OpSharding &how);

/// The number of parts of the op's iterations.
int64_t shardCount(const OpSharding &how);

} // namespace mlir::st
