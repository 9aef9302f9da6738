#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Reference/Evaluation/OpHandlers.h"
#include "lib/Reference/Numerics/Elementwise.h"
#include "lib/Reference/TensorTypes.h"

#include "llvm/ADT/TypeSwitch.h"

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
      .Case<chlo::AcosOp>([](auto) { return UnaryKind::Acos; })
      .Case<chlo::AcoshOp>([](auto) { return UnaryKind::Acosh; })
      .Case<chlo::AsinOp>([](auto) { return UnaryKind::Asin; })
      .Case<chlo::AsinhOp>([](auto) { return UnaryKind::Asinh; })
      .Case<chlo::AtanOp>([](auto) { return UnaryKind::Atan; })
      .Case<chlo::AtanhOp>([](auto) { return UnaryKind::Atanh; })
      .Case<chlo::BesselI1eOp>([](auto) { return UnaryKind::BesselI1e; })
      .Case<chlo::ConjOp>([](auto) { return UnaryKind::Conj; })
      .Case<chlo::CoshOp>([](auto) { return UnaryKind::Cosh; })
      .Case<chlo::DigammaOp>([](auto) { return UnaryKind::Digamma; })
      .Case<chlo::SinhOp>([](auto) { return UnaryKind::Sinh; })
      .Case<chlo::TanOp>([](auto) { return UnaryKind::Tan; })
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
      .Case<chlo::MulhiOp>([](auto) { return BinaryKind::MulHigh; })
      .Case<chlo::NextAfterOp>([](auto) { return BinaryKind::NextAfter; })
      .Case<chlo::PolygammaOp>([](auto) { return BinaryKind::Polygamma; })
      .Case<chlo::ZetaOp>([](auto) { return BinaryKind::Zeta; })
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
         isa<ClampOp, CompareOp, ComplexOp, ConvertOp, ImagOp, IsFiniteOp, RealOp,
             ReducePrecisionOp, SelectOp>(op);
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
      .Case<ComplexOp>([&](auto) { return call.finish(makeComplex(operands[0], operands[1])); })
      .Case<RealOp>([&](auto) { return call.finish(realPart(operands[0])); })
      .Case<ImagOp>([&](auto) { return call.finish(imaginaryPart(operands[0])); })
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
