//===- ShardingRules.h - Factor rules of stablehlo and chlo -----*- C++ -*-===//
//
// Implementations of ShardingRuleOpInterface, one file for each kind of op. Ops
// that are in none of them are computed whole on every device: branches and calls,
// custom calls, of which nothing is known, and random bits from a generator, which
// are then the same everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef ST_DIALECTS_STABLEHLO_SHARDINGRULES_H
#define ST_DIALECTS_STABLEHLO_SHARDINGRULES_H

#include "dialects/St/Interfaces/ShardingRule.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::stablehlo {

// Attach the rules to the dialects' ops; called when the dialects are loaded.
void attachElementwiseShardingRules(MLIRContext *context);
void attachShapeShardingRules(MLIRContext *context);
void attachPieceShardingRules(MLIRContext *context);
void attachReductionShardingRules(MLIRContext *context);
void attachIndexingShardingRules(MLIRContext *context);
void attachWindowShardingRules(MLIRContext *context);
void attachLinearAlgebraShardingRules(MLIRContext *context);
void attachLoopShardingRules(MLIRContext *context);
void attachChloShardingRules(MLIRContext *context);

namespace sharding {

using st::FactorKind;
using st::LocalizeContext;
using st::ReductionKind;
using st::ShardingRule;
using st::TensorFactors;
using Linearity = st::ShardingRule::Linearity;

inline ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// A rule with a place for every operand and result, none of whose dimensions
/// has factors yet.
ShardingRule emptyRule(Operation *op);

/// Every dimension of `value` gets a factor of its own kind; returns them. A
/// dimension of size 1 gets -1 and no factor.
SmallVector<int64_t> addFactors(ShardingRule &rule, Value value,
                                FactorKind kind = FactorKind::Parallel);

/// Appends factor `factor` to a dimension; nothing for -1.
void attach(TensorFactors &tensor, int64_t dim, int64_t factor);

/// All operands and results have one shape, whose dimensions are parallel. Scalar
/// operands of ops on tensors have no factors.
ShardingRule pointwiseRule(Operation *op);

/// How a computation of two scalars combines many, or none: one commutative op on
/// the arguments.
std::optional<ReductionKind> reductionOf(Region &body);

} // namespace sharding
} // namespace mlir::stablehlo

#endif // ST_DIALECTS_STABLEHLO_SHARDINGRULES_H
