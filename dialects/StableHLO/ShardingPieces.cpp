//===- ShardingPieces.cpp - Factor rules of slices and joins --------------===//
//
// A dimension that an op takes whole is parallel; along the others elements move.
//
//===----------------------------------------------------------------------===//

#include "dialects/StableHLO/ShardingRules.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::stablehlo::sharding;
using st::ShardingRuleOpInterface;

namespace {

/// Gives dimension `dim` of operand 0 and the result one factor: parallel where the
/// op leaves the dimension as it is, a permutation otherwise.
void addPieceFactor(ShardingRule &rule, Operation *op, int64_t dim, bool isUntouched) {
  int64_t size = shapeOf(op->getOperand(0))[dim];
  int64_t resultSize = shapeOf(op->getResult(0))[dim];
  if (size == 1 && resultSize == 1)
    return;
  int64_t factor =
      rule.addFactor(size, isUntouched ? FactorKind::Parallel : FactorKind::Permutation);
  attach(rule.operands[0], dim, factor);
  attach(rule.results[0], dim, factor);
}

int64_t rankOf(Operation *op) { return shapeOf(op->getResult(0)).size(); }

struct SliceRule : ShardingRuleOpInterface::ExternalModel<SliceRule, SliceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = emptyRule(op);
    for (int64_t dim = 0; dim < rankOf(op); ++dim)
      addPieceFactor(rule, op, dim, isWhole(cast<SliceOp>(op), dim));
    rule.setLinear(Linearity::Separately, {0});
    return rule;
  }

  LogicalResult localize(Operation *op, LocalizeContext &context) const {
    auto slice = cast<SliceOp>(op);
    auto type = cast<RankedTensorType>(context.resultTypes[0]);
    SmallVector<int64_t> limits(slice.getLimitIndices());
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      // Only a dimension taken whole changes its size.
      if (type.getDimSize(dim) != slice.getType().getDimSize(dim))
        limits[dim] = type.getDimSize(dim);
    slice.setLimitIndices(limits);
    return st::localizeByTypes(op, context);
  }

private:
  static bool isWhole(SliceOp op, int64_t dim) {
    return shapeOf(op.getOperand())[dim] == shapeOf(op)[dim];
  }
};

struct PadRule : ShardingRuleOpInterface::ExternalModel<PadRule, PadOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto pad = cast<PadOp>(op);
    ShardingRule rule = emptyRule(op);
    for (int64_t dim = 0; dim < rankOf(op); ++dim)
      addPieceFactor(rule, op, dim,
                     pad.getEdgePaddingLow()[dim] == 0 && pad.getEdgePaddingHigh()[dim] == 0 &&
                         pad.getInteriorPadding()[dim] == 0);
    rule.setLinear(Linearity::Jointly, {0, 1});
    return rule;
  }
};

struct ConcatenateRule : ShardingRuleOpInterface::ExternalModel<ConcatenateRule, ConcatenateOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto concatenate = cast<ConcatenateOp>(op);
    ShardingRule rule = emptyRule(op);
    int64_t joined = concatenate.getDimension();
    for (int64_t dim = 0; dim < rankOf(op); ++dim) {
      int64_t size = shapeOf(concatenate)[dim];
      if (size == 1)
        continue;
      FactorKind kind = dim == joined ? FactorKind::Permutation : FactorKind::Parallel;
      int64_t factor = rule.addFactor(size, kind);
      attach(rule.results[0], dim, factor);
      for (TensorFactors &operand : rule.operands)
        attach(operand, dim, factor);
    }
    rule.setLinear(Linearity::Jointly,
                   llvm::to_vector(llvm::seq<int64_t>(0, op->getNumOperands())));
    return rule;
  }
};

struct DynamicSliceRule : ShardingRuleOpInterface::ExternalModel<DynamicSliceRule, DynamicSliceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = emptyRule(op);
    for (int64_t dim = 0; dim < rankOf(op); ++dim)
      // A slice of full size starts at 0, whatever its index.
      addPieceFactor(rule, op, dim,
                     shapeOf(op->getOperand(0))[dim] == shapeOf(op->getResult(0))[dim]);
    rule.setLinear(Linearity::Separately, {0});
    return rule;
  }

  LogicalResult localize(Operation *op, LocalizeContext &context) const {
    auto type = cast<RankedTensorType>(context.resultTypes[0]);
    cast<DynamicSliceOp>(op).setSliceSizes(type.getShape());
    return st::localizeByTypes(op, context);
  }
};

struct DynamicUpdateSliceRule
    : ShardingRuleOpInterface::ExternalModel<DynamicUpdateSliceRule, DynamicUpdateSliceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = emptyRule(op);
    ArrayRef<int64_t> updateShape = shapeOf(op->getOperand(1));
    for (int64_t dim = 0; dim < rankOf(op); ++dim) {
      bool isUntouched = updateShape[dim] == shapeOf(op->getResult(0))[dim];
      addPieceFactor(rule, op, dim, isUntouched);
      if (updateShape[dim] == 1)
        continue;
      if (isUntouched)
        rule.operands[1][dim] = rule.results[0][dim];
      else
        attach(rule.operands[1], dim,
               rule.addFactor(updateShape[dim], FactorKind::NeedReplication));
    }
    rule.setLinear(Linearity::Jointly, {0, 1});
    return rule;
  }
};

} // namespace

void stablehlo::attachPieceShardingRules(MLIRContext *context) {
  SliceOp::attachInterface<SliceRule>(*context);
  PadOp::attachInterface<PadRule>(*context);
  ConcatenateOp::attachInterface<ConcatenateRule>(*context);
  DynamicSliceOp::attachInterface<DynamicSliceRule>(*context);
  DynamicUpdateSliceOp::attachInterface<DynamicUpdateSliceRule>(*context);
}
