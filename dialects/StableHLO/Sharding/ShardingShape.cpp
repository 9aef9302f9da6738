//===- ShardingShape.cpp - Factor rules of sources and shape changes ------===//

#include "dialects/StableHLO/Sharding/ShardingRules.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include <numeric>

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::stablehlo::sharding;
using st::ShardingRuleOpInterface;

namespace {

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

/// Any part of a splat is a smaller splat; other constants are replicated.
struct ConstantRule : ShardingRuleOpInterface::ExternalModel<ConstantRule, ConstantOp> {
  ShardingRule getShardingRule(Operation *op) const {
    bool isSplat = isa<SplatElementsAttr>(cast<ConstantOp>(op).getValue());
    ShardingRule rule = emptyRule(op);
    FactorKind kind = isSplat ? FactorKind::Parallel : FactorKind::NeedReplication;
    for (auto [dim, factor] : llvm::enumerate(addFactors(rule, op->getResult(0), kind)))
      attach(rule.results[0], dim, factor);
    return rule;
  }

  LogicalResult localize(Operation *op, LocalizeContext &context) const {
    auto type = cast<RankedTensorType>(context.resultTypes[0]);
    if (type == op->getResult(0).getType())
      return success();
    auto constant = cast<ConstantOp>(op);
    constant.setValueAttr(cast<SplatElementsAttr>(constant.getValue()).resizeSplat(type));
    return st::localizeByTypes(op, context);
  }
};

/// A shard counts from its first position.
struct IotaRule : ShardingRuleOpInterface::ExternalModel<IotaRule, IotaOp> {
  ShardingRule getShardingRule(Operation *op) const { return pointwiseRule(op); }

  LogicalResult localize(Operation *op, LocalizeContext &context) const {
    auto iota = cast<IotaOp>(op);
    int64_t dim = iota.getIotaDimension();
    ArrayRef<int64_t> factors = context.rule.results[0][dim];
    if (factors.empty() || context.factorShards[factors[0]] == 1)
      return st::localizeByTypes(op, context);
    OpBuilder &builder = context.builder;
    auto localType = cast<RankedTensorType>(context.resultTypes[0]);
    Type word = builder.getI32Type();
    Value positions = IotaOp::create(builder, op->getLoc(), localType.clone(word), dim);
    positions = context.toGlobal(factors[0], positions);
    if (localType.getElementType() != word)
      positions = ConvertOp::create(builder, op->getLoc(), localType, positions);
    op->getResult(0).replaceAllUsesWith(positions);
    op->erase();
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

struct BroadcastRule : ShardingRuleOpInterface::ExternalModel<BroadcastRule, BroadcastInDimOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto broadcast = cast<BroadcastInDimOp>(op);
    ShardingRule rule = emptyRule(op);
    SmallVector<int64_t> factors = addFactors(rule, broadcast.getResult());
    for (auto [dim, factor] : llvm::enumerate(factors))
      attach(rule.results[0], dim, factor);
    ArrayRef<int64_t> from = shapeOf(broadcast.getOperand());
    for (auto [dim, to] : llvm::enumerate(broadcast.getBroadcastDimensions()))
      if (from[dim] != 1)
        attach(rule.operands[0], dim, factors[to]);
    rule.setLinear(Linearity::Separately, {0});
    return rule;
  }
};

struct TransposeRule : ShardingRuleOpInterface::ExternalModel<TransposeRule, TransposeOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto transpose = cast<TransposeOp>(op);
    ShardingRule rule = emptyRule(op);
    SmallVector<int64_t> factors = addFactors(rule, transpose.getOperand());
    for (auto [dim, from] : llvm::enumerate(transpose.getPermutation())) {
      attach(rule.operands[0], from, factors[from]);
      attach(rule.results[0], dim, factors[from]);
    }
    rule.setLinear(Linearity::Separately, {0});
    return rule;
  }
};

struct ReverseRule : ShardingRuleOpInterface::ExternalModel<ReverseRule, ReverseOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = pointwiseRule(op);
    for (int64_t dim : cast<ReverseOp>(op).getDimensions())
      for (int64_t factor : rule.operands[0][dim])
        rule.factors[factor].kind = FactorKind::Permutation;
    rule.setLinear(Linearity::Separately, {0});
    return rule;
  }
};

/// Walks two shapes of the same number of elements, major to minor, and splits their dimensions
/// into common factors. Where boundaries interleave ([2,3] and [3,2]), only the common divisor can
/// be split; the rest is replicated.
class ReshapeFactors {
public:
  ReshapeFactors(ShardingRule &rule, ArrayRef<int64_t> from, ArrayRef<int64_t> to)
      : rule(rule), from{rule.operands[0], from, 0, 1}, to{rule.results[0], to, 0, 1} {}

  void run() {
    while (from.next() && to.next()) {
      int64_t common = std::gcd(from.left, to.left);
      if (common == 1) {
        addUnsplit();
        continue;
      }
      int64_t factor = rule.addFactor(common);
      from.take(common, factor);
      to.take(common, factor);
    }
  }

private:
  struct Side {
    TensorFactors &factors;
    ArrayRef<int64_t> shape;
    size_t dim;   ///< index after the current dimension
    int64_t left; ///< of the current dimension

    /// Advances to a dimension with a remainder.
    bool next() {
      while (left == 1 && dim < shape.size())
        left = shape[dim++];
      return left != 1;
    }
    void take(int64_t size, int64_t factor) {
      factors[dim - 1].push_back(factor);
      left /= size;
    }
  };

  /// Adds dimensions on both sides until they hold the same elements.
  void addUnsplit() {
    int64_t products[2] = {1, 1};
    Side *sides[2] = {&from, &to};
    do {
      int smaller = products[0] <= products[1] ? 0 : 1;
      Side &side = *sides[smaller];
      if (!side.next())
        return;
      products[smaller] *= side.left;
      side.take(side.left, rule.addFactor(side.left, FactorKind::NeedReplication));
    } while (products[0] != products[1]);
  }

  ShardingRule &rule;
  Side from, to;
};

struct ReshapeRule : ShardingRuleOpInterface::ExternalModel<ReshapeRule, ReshapeOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto reshape = cast<ReshapeOp>(op);
    if (reshape.getType().getNumElements() == 0)
      return {};
    ShardingRule rule = emptyRule(op);
    ReshapeFactors(rule, shapeOf(reshape.getOperand()), shapeOf(reshape)).run();
    rule.setLinear(Linearity::Separately, {0});
    return rule;
  }
};

/// Conversions of equal width keep positions; otherwise the minor dimension, which counts the
/// narrow elements of a wide one, is replicated.
struct BitcastConvertRule
    : ShardingRuleOpInterface::ExternalModel<BitcastConvertRule, BitcastConvertOp> {
  ShardingRule getShardingRule(Operation *op) const {
    Value from = op->getOperand(0), to = op->getResult(0);
    bool isWider = shapeOf(from).size() > shapeOf(to).size();
    ShardingRule rule = emptyRule(op);
    for (auto [dim, factor] : llvm::enumerate(addFactors(rule, isWider ? to : from))) {
      attach(rule.operands[0], dim, factor);
      attach(rule.results[0], dim, factor);
    }
    auto keepMinorUnsplit = [&](Value value, TensorFactors &tensor) {
      if (shapeOf(value).back() != 1)
        tensor.back() = {rule.addFactor(shapeOf(value).back(), FactorKind::NeedReplication)};
    };
    if (shapeOf(from).size() != shapeOf(to).size())
      keepMinorUnsplit(isWider ? from : to, isWider ? rule.operands[0] : rule.results[0]);
    return rule;
  }
};

} // namespace

void stablehlo::attachShapeShardingRules(MLIRContext *context) {
  ConstantOp::attachInterface<ConstantRule>(*context);
  IotaOp::attachInterface<IotaRule>(*context);
  BroadcastInDimOp::attachInterface<BroadcastRule>(*context);
  TransposeOp::attachInterface<TransposeRule>(*context);
  ReverseOp::attachInterface<ReverseRule>(*context);
  ReshapeOp::attachInterface<ReshapeRule>(*context);
  BitcastConvertOp::attachInterface<BitcastConvertRule>(*context);
}
