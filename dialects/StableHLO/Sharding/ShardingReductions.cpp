//===- ShardingReductions.cpp - Factor rules of contractions, reductions --===//

#include "dialects/StableHLO/Sharding/ShardingRules.h"
#include "dialects/StableHLO/StableHLOOps.h"

#include "mlir/IR/TypeUtilities.h"

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
    // A product of i1 is not a sum.
    bool isNumber = !getElementTypeOrSelf(dot.getType()).isInteger(1);
    pair(dims.getLhsContractingDimensions(), dims.getRhsContractingDimensions(),
         isNumber ? FactorKind::Reduction : FactorKind::NeedReplication);
    if (isNumber)
      rule.setLinear(Linearity::Separately, {0, 1});
    return rule;
  }
};

/// A reduction of one tensor by a known combination. Other reductions need replicated reduced
/// dimensions.
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

/// Features are independent of each other; statistics cover all other dimensions.
template <typename OpTy>
struct BatchNormRule : ShardingRuleOpInterface::ExternalModel<BatchNormRule<OpTy>, OpTy> {
  ShardingRule getShardingRule(Operation *op) const {
    constexpr bool makesStatistics = !std::is_same_v<OpTy, BatchNormInferenceOp>;
    int64_t feature = cast<OpTy>(op).getFeatureIndex();
    ShardingRule rule = emptyRule(op);
    SmallVector<int64_t> factors = addFactors(rule, op->getOperand(0));
    for (auto [dim, factor] : llvm::enumerate(factors))
      if (makesStatistics && factor >= 0 && static_cast<int64_t>(dim) != feature)
        rule.factors[factor].kind = FactorKind::NeedReplication;
    auto attachAll = [&](TensorFactors &tensor) {
      if (tensor.size() != factors.size())
        return attach(tensor, 0, factors[feature]);
      for (auto [dim, factor] : llvm::enumerate(factors))
        attach(tensor, dim, factor);
    };
    llvm::for_each(rule.operands, attachAll);
    llvm::for_each(rule.results, attachAll);
    return rule;
  }
};

} // namespace

void stablehlo::attachReductionShardingRules(MLIRContext *context) {
  DotGeneralOp::attachInterface<DotGeneralRule>(*context);
  ReduceOp::attachInterface<ReduceRule>(*context);
  SortOp::attachInterface<SortRule>(*context);
  BatchNormTrainingOp::attachInterface<BatchNormRule<BatchNormTrainingOp>>(*context);
  BatchNormGradOp::attachInterface<BatchNormRule<BatchNormGradOp>>(*context);
  BatchNormInferenceOp::attachInterface<BatchNormRule<BatchNormInferenceOp>>(*context);
}
