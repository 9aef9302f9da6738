//===- ShardingLinearAlgebra.cpp - Factor rules of transforms and solvers -===//
//
// The operand of a transform or a solver is replicated; a batch of them is parallel.
//
//===----------------------------------------------------------------------===//

#include "dialects/StableHLO/Sharding/ShardingRules.h"
#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::stablehlo::sharding;
using st::ShardingRuleOpInterface;

namespace {

/// Gives dimension `dim` of all operands and results one factor, unless its size is 1.
void addCommonFactor(ShardingRule &rule, Operation *op, int64_t dim, FactorKind kind) {
  int64_t factor = -1;
  auto add = [&](Value value, TensorFactors &tensor) {
    int64_t size = shapeOf(value)[dim];
    if (size == 1)
      return;
    if (factor < 0)
      factor = rule.addFactor(size, kind);
    attach(tensor, dim, factor);
  };
  for (auto [value, tensor] : llvm::zip_equal(op->getOperands(), rule.operands))
    add(value, tensor);
  for (auto [value, tensor] : llvm::zip_equal(op->getResults(), rule.results))
    add(value, tensor);
}

struct FftRule : ShardingRuleOpInterface::ExternalModel<FftRule, FftOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = emptyRule(op);
    int64_t rank = rule.results[0].size();
    int64_t batch = rank - static_cast<int64_t>(cast<FftOp>(op).getFftLength().size());
    for (int64_t dim = 0; dim < rank; ++dim)
      addCommonFactor(rule, op, dim,
                      dim < batch ? FactorKind::Parallel : FactorKind::NeedReplication);
    rule.setLinear(Linearity::Separately, {0});
    return rule;
  }
};

struct CholeskyRule : ShardingRuleOpInterface::ExternalModel<CholeskyRule, CholeskyOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = emptyRule(op);
    int64_t rank = rule.results[0].size();
    for (int64_t dim = 0; dim < rank; ++dim)
      addCommonFactor(rule, op, dim,
                      dim + 2 < rank ? FactorKind::Parallel : FactorKind::NeedReplication);
    return rule;
  }
};

/// The right-hand sides, columns of b or rows if a is on the right, are independent of each other.
struct TriangularSolveRule
    : ShardingRuleOpInterface::ExternalModel<TriangularSolveRule, TriangularSolveOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto solve = cast<TriangularSolveOp>(op);
    ShardingRule rule = emptyRule(op);
    int64_t rank = rule.results[0].size();
    for (int64_t dim = 0; dim < rank - 2; ++dim)
      addCommonFactor(rule, op, dim, FactorKind::Parallel);
    int64_t solved = solve.getLeftSide() ? rank - 2 : rank - 1;
    int64_t free = solve.getLeftSide() ? rank - 1 : rank - 2;
    ArrayRef<int64_t> shape = shapeOf(solve);
    if (shape[solved] != 1) {
      int64_t factor = rule.addFactor(shape[solved], FactorKind::NeedReplication);
      attach(rule.operands[0], rank - 2, factor);
      attach(rule.operands[0], rank - 1, factor);
      attach(rule.operands[1], solved, factor);
      attach(rule.results[0], solved, factor);
    }
    if (shape[free] != 1) {
      int64_t factor = rule.addFactor(shape[free]);
      attach(rule.operands[1], free, factor);
      attach(rule.results[0], free, factor);
    }
    rule.setLinear(Linearity::Separately, {1});
    return rule;
  }
};

} // namespace

void stablehlo::attachLinearAlgebraShardingRules(MLIRContext *context) {
  FftOp::attachInterface<FftRule>(*context);
  CholeskyOp::attachInterface<CholeskyRule>(*context);
  TriangularSolveOp::attachInterface<TriangularSolveRule>(*context);
}
