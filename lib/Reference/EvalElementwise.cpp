#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Reference/Elementwise.h"
#include "lib/Reference/OpHandlers.h"
#include "lib/Reference/TensorTypes.h"

namespace mlir::st::ref {

using namespace stablehlo;

static std::optional<UnaryKind> getUnaryKind(Operation &op) {
  using Result = std::optional<UnaryKind>;
  return llvm::TypeSwitch<Operation *, Result>(&op)
      .Case<AbsOp>([](auto) { return UnaryKind::Abs; })
      .Case<CbrtOp>([](auto) { return UnaryKind::Cbrt; })
      .Case<CeilOp>([](auto) { return UnaryKind::Ceil; })
      .Case<ClzOp>([](auto) { return UnaryKind::CountLeadingZeros; })
      .Case<CosineOp>([](auto) { return UnaryKind::Cos; })
      .Case<ExpOp>([](auto) { return UnaryKind::Exp; })
      .Case<Expm1Op>([](auto) { return UnaryKind::Expm1; })
      .Case<FloorOp>([](auto) { return UnaryKind::Floor; })
      .Case<LogOp>([](auto) { return UnaryKind::Log; })
      .Case<Log1pOp>([](auto) { return UnaryKind::Log1p; })
      .Case<LogisticOp>([](auto) { return UnaryKind::Logistic; })
      .Case<NegOp>([](auto) { return UnaryKind::Neg; })
      .Case<NotOp>([](auto) { return UnaryKind::Not; })
      .Case<PopulationCountOp>([](auto) { return UnaryKind::PopulationCount; })
      .Case<RoundOp>([](auto) { return UnaryKind::RoundAwayFromZero; })
      .Case<RoundNearestEvenOp>([](auto) { return UnaryKind::RoundToEven; })
      .Case<RsqrtOp>([](auto) { return UnaryKind::Rsqrt; })
      .Case<SignOp>([](auto) { return UnaryKind::Sign; })
      .Case<SineOp>([](auto) { return UnaryKind::Sin; })
      .Case<SqrtOp>([](auto) { return UnaryKind::Sqrt; })
      .Case<TanOp>([](auto) { return UnaryKind::Tan; })
      .Case<TanhOp>([](auto) { return UnaryKind::Tanh; })
      .Case<chlo::ErfOp>([](auto) { return UnaryKind::Erf; })
      .Case<chlo::ErfcOp>([](auto) { return UnaryKind::Erfc; })
      .Case<chlo::ErfInvOp>([](auto) { return UnaryKind::ErfInv; })
      .Case<chlo::LgammaOp>([](auto) { return UnaryKind::Lgamma; })
      .Case<chlo::SquareOp>([](auto) { return UnaryKind::Square; })
      .Default(std::nullopt);
}

std::optional<BinaryKind> getBinaryKind(Operation &op) {
  using Result = std::optional<BinaryKind>;
  return llvm::TypeSwitch<Operation *, Result>(&op)
      .Case<AddOp>([](auto) { return BinaryKind::Add; })
      .Case<AndOp>([](auto) { return BinaryKind::And; })
      .Case<Atan2Op>([](auto) { return BinaryKind::Atan2; })
      .Case<DivOp>([](auto) { return BinaryKind::Div; })
      .Case<MaxOp>([](auto) { return BinaryKind::Max; })
      .Case<MinOp>([](auto) { return BinaryKind::Min; })
      .Case<MulOp>([](auto) { return BinaryKind::Mul; })
      .Case<OrOp>([](auto) { return BinaryKind::Or; })
      .Case<PowOp>([](auto) { return BinaryKind::Pow; })
      .Case<RemOp>([](auto) { return BinaryKind::Rem; })
      .Case<ShiftLeftOp>([](auto) { return BinaryKind::ShiftLeft; })
      .Case<ShiftRightArithmeticOp>([](auto) { return BinaryKind::ShiftRightArithmetic; })
      .Case<ShiftRightLogicalOp>([](auto) { return BinaryKind::ShiftRightLogical; })
      .Case<SubtractOp>([](auto) { return BinaryKind::Sub; })
      .Case<XorOp>([](auto) { return BinaryKind::Xor; })
      .Default(std::nullopt);
}

static CompareKind getCompareKind(ComparisonDirection direction) {
  switch (direction) {
  case ComparisonDirection::EQ:
    return CompareKind::EQ;
  case ComparisonDirection::NE:
    return CompareKind::NE;
  case ComparisonDirection::GE:
    return CompareKind::GE;
  case ComparisonDirection::GT:
    return CompareKind::GT;
  case ComparisonDirection::LE:
    return CompareKind::LE;
  case ComparisonDirection::LT:
    return CompareKind::LT;
  }
  llvm_unreachable("all directions are listed");
}

bool isElementwise(Operation &op) {
  return getUnaryKind(op) || getBinaryKind(op) ||
         isa<ClampOp, CompareOp, ConvertOp, IsFiniteOp, ReducePrecisionOp, SelectOp>(op);
}

Outcome evalElementwise(TensorCall &call) {
  ArrayRef<Tensor> operands = call.operands;
  if (std::optional<UnaryKind> kind = getUnaryKind(call.op))
    return call.finish(unary(*kind, operands[0]));
  if (std::optional<BinaryKind> kind = getBinaryKind(call.op))
    return call.finish(binary(*kind, operands[0], operands[1]));
  return llvm::TypeSwitch<Operation *, Outcome>(&call.op)
      .Case<ClampOp>(
          [&](auto) { return call.finish(clamp(operands[0], operands[1], operands[2])); })
      .Case<CompareOp>([&](CompareOp op) {
        return call.finish(compare(getCompareKind(op.getComparisonDirection()), operands[0],
                                   operands[1], op.getCompareType() == ComparisonType::TOTALORDER));
      })
      .Case<ConvertOp>([&](auto) { return call.finish(convert(operands[0], call.resultType())); })
      .Case<IsFiniteOp>([&](auto) { return call.finish(isFinite(operands[0])); })
      .Case<ReducePrecisionOp>([&](ReducePrecisionOp op) {
        return call.finish(reducePrecision(operands[0], static_cast<int>(op.getExponentBits()),
                                           static_cast<int>(op.getMantissaBits())));
      })
      .Case<SelectOp>(
          [&](auto) { return call.finish(select(operands[0], operands[1], operands[2])); })
      .Default(Outcome::Unknown);
}

} // namespace mlir::st::ref
