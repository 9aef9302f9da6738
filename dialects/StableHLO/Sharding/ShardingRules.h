//===- ShardingRules.h - Factor rules of stablehlo and chlo -----*- C++ -*-===//
//
// Implementations of ShardingRuleOpInterface, one file for each kind of op. Ops without a rule are
// replicated: branches, calls and custom calls, and random bits from a generator, which are then
// equal on all devices.
//
//===----------------------------------------------------------------------===//

#ifndef ST_DIALECTS_STABLEHLO_SHARDINGRULES_H
#define ST_DIALECTS_STABLEHLO_SHARDINGRULES_H

#include "dialects/St/Interfaces/Shapes.h"
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
using st::shapeOf;
using st::ShardingRule;
using st::TensorFactors;
using Linearity = st::ShardingRule::Linearity;

/// A rule with an entry for every operand and result, whose dimensions have no factors yet.
ShardingRule emptyRule(Operation *op);

/// Gives every dimension of `value` a factor of the kind and returns them. A dimension of size 1
/// gets -1 and no factor.
SmallVector<int64_t> addFactors(ShardingRule &rule, Value value,
                                FactorKind kind = FactorKind::Parallel);

/// Appends factor `factor` to a dimension; does nothing for -1.
void attach(TensorFactors &tensor, int64_t dim, int64_t factor);

/// All operands and results have the same shape, whose dimensions are parallel. Scalar operands of
/// ops on tensors have no factors.
ShardingRule pointwiseRule(Operation *op);

/// The kind of reduction that a computation of two scalars performs, if it is one commutative op on
/// its arguments.
std::optional<ReductionKind> reductionOf(Region &body);

} // namespace sharding
} // namespace mlir::stablehlo

#endif // ST_DIALECTS_STABLEHLO_SHARDINGRULES_H
