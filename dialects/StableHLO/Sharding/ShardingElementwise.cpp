//===- ShardingElementwise.cpp - Factor rules of elementwise ops ----------===//

#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/Sharding/ShardingRules.h"
#include "dialects/StableHLO/StableHLOOps.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::stablehlo::sharding;
using st::ShardingRuleOpInterface;

namespace {

/// Returns false for i1, where + is the logical or.
bool isNumber(Value value) { return !getElementTypeOrSelf(value.getType()).isInteger(1); }

/// Returns true if a sum of converted values is the converted sum: nothing is rounded.
bool isExactConversion(ConvertOp op) {
  Type from = getElementTypeOrSelf(op.getOperand().getType());
  Type to = getElementTypeOrSelf(op.getType());
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  return fromFloat && toFloat && fromFloat.getFPMantissaWidth() <= toFloat.getFPMantissaWidth() &&
         fromFloat.getWidth() <= toFloat.getWidth();
}

void setLinearity(Operation *op, ShardingRule &rule) {
  TypeSwitch<Operation *>(op)
      .Case<AddOp, SubtractOp>([&](auto op) {
        if (isNumber(op.getLhs()))
          rule.setLinear(Linearity::Jointly, {0, 1});
      })
      .Case<MulOp>([&](auto op) {
        if (isNumber(op.getLhs()))
          rule.setLinear(Linearity::Separately, {0, 1});
      })
      .Case<DivOp>([&](auto op) {
        if (isa<FloatType, ComplexType>(getElementTypeOrSelf(op.getType())))
          rule.setLinear(Linearity::Separately, {0});
      })
      .Case<NegOp, RealOp, ImagOp, chlo::ConjOp>(
          [&](auto) { rule.setLinear(Linearity::Separately, {0}); })
      .Case<ConvertOp>([&](auto op) {
        if (isExactConversion(op))
          rule.setLinear(Linearity::Separately, {0});
      })
      .Case<SelectOp>([&](auto) { rule.setLinear(Linearity::Jointly, {1, 2}); });
}

template <typename OpTy>
struct PointwiseRule : ShardingRuleOpInterface::ExternalModel<PointwiseRule<OpTy>, OpTy> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = pointwiseRule(op);
    setLinearity(op, rule);
    return rule;
  }
};

/// Each operand and its result are separate from the others.
struct BarrierRule : ShardingRuleOpInterface::ExternalModel<BarrierRule, OptimizationBarrierOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = emptyRule(op);
    rule.parts = std::max<int64_t>(op->getNumOperands(), 1);
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      for (auto [dim, factor] : llvm::enumerate(addFactors(rule, operand))) {
        attach(rule.operands[i], dim, factor);
        attach(rule.results[i], dim, factor);
        if (factor >= 0)
          rule.factors[factor].part = i;
      }
    rule.setLinear(Linearity::Separately,
                   llvm::to_vector(llvm::seq<int64_t>(0, op->getNumOperands())));
    return rule;
  }
};

/// The last dimension must be replicated for the search.
struct TopKRule : ShardingRuleOpInterface::ExternalModel<TopKRule, chlo::TopKOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = emptyRule(op);
    ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
    for (size_t dim = 0; dim + 1 < shape.size(); ++dim) {
      int64_t factor = shape[dim] == 1 ? -1 : rule.addFactor(shape[dim]);
      attach(rule.operands[0], dim, factor);
      attach(rule.results[0], dim, factor);
      attach(rule.results[1], dim, factor);
    }
    auto addUnsplit = [&](TensorFactors &tensor, int64_t size) {
      if (size != 1)
        attach(tensor, shape.size() - 1, rule.addFactor(size, FactorKind::NeedReplication));
    };
    addUnsplit(rule.operands[0], shape.back());
    addUnsplit(rule.results[0], shapeOf(op->getResult(0)).back());
    addUnsplit(rule.results[1], shapeOf(op->getResult(1)).back());
    return rule;
  }
};

template <typename... Ops> void attachPointwise(MLIRContext *context) {
  (Ops::template attachInterface<PointwiseRule<Ops>>(*context), ...);
}

} // namespace

void stablehlo::attachElementwiseShardingRules(MLIRContext *context) {
  attachPointwise<AbsOp, CbrtOp, CeilOp, ClzOp, CosineOp, ExpOp, Expm1Op, FloorOp, LogOp, Log1pOp,
                  LogisticOp, NegOp, NotOp, PopulationCountOp, RoundOp, RoundNearestEvenOp, RsqrtOp,
                  SignOp, SineOp, SqrtOp, TanOp, TanhOp, IsFiniteOp, RealOp, ImagOp, ConvertOp,
                  ReducePrecisionOp>(context);
  attachPointwise<AddOp, AndOp, Atan2Op, DivOp, MaxOp, MinOp, MulOp, OrOp, PowOp, RemOp,
                  ShiftLeftOp, ShiftRightArithmeticOp, ShiftRightLogicalOp, SubtractOp, XorOp,
                  ComplexOp, CompareOp, SelectOp, ClampOp, MapOp>(context);
  OptimizationBarrierOp::attachInterface<BarrierRule>(*context);
}

void stablehlo::attachChloShardingRules(MLIRContext *context) {
  attachPointwise<chlo::AcosOp, chlo::AcoshOp, chlo::AsinOp, chlo::AsinhOp, chlo::AtanOp,
                  chlo::AtanhOp, chlo::BesselI1eOp, chlo::ConjOp, chlo::CoshOp, chlo::DigammaOp,
                  chlo::ErfOp, chlo::ErfcOp, chlo::ErfInvOp, chlo::LgammaOp, chlo::MulhiOp,
                  chlo::NextAfterOp, chlo::PolygammaOp, chlo::SinhOp, chlo::SquareOp, chlo::TanOp,
                  chlo::ZetaOp>(context);
  chlo::TopKOp::attachInterface<TopKRule>(*context);
}
