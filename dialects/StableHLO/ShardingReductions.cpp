//===- ShardingReductions.cpp - Factor rules of contractions, reductions --===//

#include "dialects/StableHLO/ShardingRules.h"
#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::stablehlo::sharding;
using st::ShardingRuleOpInterface;

namespace {

/// Batching dimensions and free ones are parallel; contracting ones are summed.
struct DotGeneralRule : ShardingRuleOpInterface::ExternalModel<DotGeneralRule, DotGeneralOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto dot = cast<DotGeneralOp>(op);
    DotDimensionNumbersAttr dims = dot.getDotDimensionNumbers();
    ShardingRule rule = emptyRule(op);
    ArrayRef<int64_t> lhsShape = shapeOf(dot.getLhs());
    int64_t resultDim = 0;
    auto pair = [&](ArrayRef<int64_t> lhsDims, ArrayRef<int64_t> rhsDims, FactorKind kind) {
      for (auto [lhsDim, rhsDim] : llvm::zip_equal(lhsDims, rhsDims)) {
        int64_t factor = lhsShape[lhsDim] == 1 ? -1 : rule.addFactor(lhsShape[lhsDim], kind);
        attach(rule.operands[0], lhsDim, factor);
        attach(rule.operands[1], rhsDim, factor);
        if (kind == FactorKind::Parallel)
          attach(rule.results[0], resultDim++, factor);
      }
    };
    auto free = [&](int64_t operand, ArrayRef<int64_t> batch, ArrayRef<int64_t> contracting) {
      for (auto [dim, size] : llvm::enumerate(shapeOf(op->getOperand(operand)))) {
        if (llvm::is_contained(batch, dim) || llvm::is_contained(contracting, dim))
          continue;
        int64_t factor = size == 1 ? -1 : rule.addFactor(size);
        attach(rule.operands[operand], dim, factor);
        attach(rule.results[0], resultDim++, factor);
      }
    };
    pair(dims.getLhsBatchingDimensions(), dims.getRhsBatchingDimensions(), FactorKind::Parallel);
    free(0, dims.getLhsBatchingDimensions(), dims.getLhsContractingDimensions());
    free(1, dims.getRhsBatchingDimensions(), dims.getRhsContractingDimensions());
    // On truth values, or is not a sum.
    bool isNumber = !getElementTypeOrSelf(dot.getType()).isInteger(1);
    pair(dims.getLhsContractingDimensions(), dims.getRhsContractingDimensions(),
         isNumber ? FactorKind::Reduction : FactorKind::NeedReplication);
    if (isNumber)
      rule.setLinear(Linearity::Separately, {0, 1});
    return rule;
  }
};

/// One tensor reduced by a known combination; anything else needs the reduced
/// dimensions whole.
struct ReduceRule : ShardingRuleOpInterface::ExternalModel<ReduceRule, ReduceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto reduce = cast<ReduceOp>(op);
    int64_t count = reduce.getInputs().size();
    std::optional<ReductionKind> kind;
    if (count == 1)
      kind = reductionOf(reduce.getBody());
    ShardingRule rule = emptyRule(op);
    int64_t resultDim = 0;
    for (auto [dim, size] : llvm::enumerate(shapeOf(op->getOperand(0)))) {
      bool isReduced = llvm::is_contained(reduce.getDimensions(), dim);
      int64_t factor = -1;
      if (size != 1)
        factor = !isReduced ? rule.addFactor(size)
                 : kind     ? rule.addFactor(size, FactorKind::Reduction, *kind)
                            : rule.addFactor(size, FactorKind::NeedReplication);
      for (int64_t i = 0; i < count; ++i) {
        attach(rule.operands[i], dim, factor);
        if (!isReduced)
          attach(rule.results[i], resultDim, factor);
      }
      resultDim += !isReduced;
    }
    if (kind == ReductionKind::Sum) {
      rule.setLinear(Linearity::Jointly, {0, 1});
      rule.countedOnce = {1};
    }
    return rule;
  }
};

/// A dimension that no window covers is parallel.
struct ReduceWindowRule : ShardingRuleOpInterface::ExternalModel<ReduceWindowRule, ReduceWindowOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto reduce = cast<ReduceWindowOp>(op);
    int64_t count = reduce.getInputs().size();
    ShardingRule rule = emptyRule(op);
    ArrayRef<int64_t> from = shapeOf(op->getOperand(0)), to = shapeOf(op->getResult(0));
    for (int64_t dim = 0, rank = from.size(); dim < rank; ++dim) {
      bool isUntouched = reduce.getWindowDimensions()[dim] == 1 && from[dim] == to[dim];
      int64_t operandFactor = -1, resultFactor = -1;
      FactorKind kind = isUntouched ? FactorKind::Parallel : FactorKind::NeedReplication;
      if (from[dim] != 1)
        operandFactor = rule.addFactor(from[dim], kind);
      if (isUntouched)
        resultFactor = operandFactor;
      else if (to[dim] != 1)
        resultFactor = rule.addFactor(to[dim], kind);
      for (int64_t i = 0; i < count; ++i) {
        attach(rule.operands[i], dim, operandFactor);
        attach(rule.results[i], dim, resultFactor);
      }
    }
    return rule;
  }
};

/// Rows are sorted independently of each other.
struct SortRule : ShardingRuleOpInterface::ExternalModel<SortRule, SortOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = emptyRule(op);
    ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
    int64_t rank = shape.size(), sorted = cast<SortOp>(op).getDimension();
    sorted = sorted < 0 ? sorted + rank : sorted;
    for (int64_t dim = 0; dim < rank; ++dim) {
      if (shape[dim] == 1)
        continue;
      int64_t factor = rule.addFactor(shape[dim], dim == sorted ? FactorKind::NeedReplication
                                                                : FactorKind::Parallel);
      for (TensorFactors &operand : rule.operands)
        attach(operand, dim, factor);
      for (TensorFactors &result : rule.results)
        attach(result, dim, factor);
    }
    return rule;
  }
};

} // namespace

void stablehlo::attachReductionShardingRules(MLIRContext *context) {
  DotGeneralOp::attachInterface<DotGeneralRule>(*context);
  ReduceOp::attachInterface<ReduceRule>(*context);
  ReduceWindowOp::attachInterface<ReduceWindowRule>(*context);
  SortOp::attachInterface<SortRule>(*context);
}
