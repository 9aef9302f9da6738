#include "backends/dtu/codegen/kernels/VectorOps.h"

#include "backends/dtu/isa/Names.h"
#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dtu;
namespace hlo = mlir::stablehlo;
using ::st::dtu::DType;
using ::st::dtu::VectorOp;

std::optional<DType> mlir::dtu::getDType(Type type) {
  if (type.isF32())
    return DType::F32;
  if (type.isF64())
    return DType::F64;
  if (type.isBF16())
    return DType::BF16;
  if (type.isF16())
    return DType::F16;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return DType::I1;
  case 8:
    return isUnsigned ? DType::U8 : DType::I8;
  case 16:
    return isUnsigned ? DType::U16 : DType::I16;
  case 32:
    return isUnsigned ? DType::U32 : DType::I32;
  case 64:
    return isUnsigned ? DType::U64 : DType::I64;
  default:
    return std::nullopt;
  }
}

// ---- elementwise ops ----------------------------------------------------------------

static VectorOp getComparison(hlo::ComparisonDirection direction) {
  switch (direction) {
  case hlo::ComparisonDirection::EQ:
    return VectorOp::CmpEq;
  case hlo::ComparisonDirection::NE:
    return VectorOp::CmpNe;
  case hlo::ComparisonDirection::LT:
    return VectorOp::CmpLt;
  case hlo::ComparisonDirection::LE:
    return VectorOp::CmpLe;
  case hlo::ComparisonDirection::GT:
    return VectorOp::CmpGt;
  case hlo::ComparisonDirection::GE:
    return VectorOp::CmpGe;
  }
  llvm_unreachable("all directions are listed");
}

static std::optional<VectorOp> getUnary(Operation *op) {
  return TypeSwitch<Operation *, std::optional<VectorOp>>(op)
      .Case([](hlo::ConvertOp) { return VectorOp::Copy; })
      .Case([](hlo::NegOp) { return VectorOp::Neg; })
      .Case([](hlo::AbsOp) { return VectorOp::Abs; })
      .Case([](hlo::NotOp) { return VectorOp::Not; })
      .Case([](hlo::SignOp) { return VectorOp::Sign; })
      .Case([](hlo::ExpOp) { return VectorOp::Exp; })
      .Case([](hlo::Expm1Op) { return VectorOp::Expm1; })
      .Case([](hlo::LogOp) { return VectorOp::Log; })
      .Case([](hlo::Log1pOp) { return VectorOp::Log1p; })
      .Case([](hlo::LogisticOp) { return VectorOp::Logistic; })
      .Case([](hlo::TanhOp) { return VectorOp::Tanh; })
      .Case([](hlo::SqrtOp) { return VectorOp::Sqrt; })
      .Case([](hlo::RsqrtOp) { return VectorOp::Rsqrt; })
      .Case([](hlo::CbrtOp) { return VectorOp::Cbrt; })
      .Case([](hlo::SineOp) { return VectorOp::Sin; })
      .Case([](hlo::CosineOp) { return VectorOp::Cos; })
      .Case([](hlo::FloorOp) { return VectorOp::Floor; })
      .Case([](hlo::CeilOp) { return VectorOp::Ceil; })
      .Case([](hlo::RoundOp) { return VectorOp::Round; })
      .Case([](hlo::RoundNearestEvenOp) { return VectorOp::RoundEven; })
      .Case([](hlo::IsFiniteOp) { return VectorOp::IsFinite; })
      .Case([](chlo::ErfOp) { return VectorOp::Erf; })
      .Case([](chlo::ErfcOp) { return VectorOp::Erfc; })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<VectorOp> mlir::dtu::getVectorOp(Operation *op) {
  if (std::optional<VectorOp> unary = getUnary(op))
    return unary;
  return TypeSwitch<Operation *, std::optional<VectorOp>>(op)
      .Case([](hlo::AddOp) { return VectorOp::Add; })
      .Case([](hlo::SubtractOp) { return VectorOp::Sub; })
      .Case([](hlo::MulOp) { return VectorOp::Mul; })
      .Case([](hlo::DivOp) { return VectorOp::Div; })
      .Case([](hlo::MaxOp) { return VectorOp::Max; })
      .Case([](hlo::MinOp) { return VectorOp::Min; })
      .Case([](hlo::PowOp) { return VectorOp::Pow; })
      .Case([](hlo::RemOp) { return VectorOp::Rem; })
      .Case([](hlo::AndOp) { return VectorOp::And; })
      .Case([](hlo::OrOp) { return VectorOp::Or; })
      .Case([](hlo::XorOp) { return VectorOp::Xor; })
      .Case([](hlo::ShiftLeftOp) { return VectorOp::Shl; })
      .Case([](hlo::ShiftRightLogicalOp) { return VectorOp::ShrLogical; })
      .Case([](hlo::ShiftRightArithmeticOp) { return VectorOp::ShrArith; })
      .Case([](hlo::SelectOp) { return VectorOp::Select; })
      .Case([](hlo::ClampOp) { return VectorOp::Clamp; })
      .Case([](hlo::CompareOp compare) -> std::optional<VectorOp> {
        if (compare.getCompareType() == hlo::ComparisonType::TOTALORDER)
          return std::nullopt;
        return getComparison(compare.getComparisonDirection());
      })
      .Default([](Operation *) { return std::nullopt; });
}

// ---- reductions -------------------------------------------------------------------

std::optional<Reduction> mlir::dtu::getReduction(Operation *op, bool isPredicate) {
  Block &body = op->getRegion(0).front();
  auto results = body.getTerminator()->getOperands();
  if (results.size() != 1 || body.getNumArguments() != 2)
    return std::nullopt;
  Operation *inner = results[0].getDefiningOp();
  if (!inner || inner->getNumOperands() != 2 ||
      !llvm::all_of(inner->getOperands(), [](Value v) { return isa<BlockArgument>(v); }) ||
      inner->getOperand(0) == inner->getOperand(1))
    return std::nullopt;
  using Kind = std::optional<Reduction>;
  return TypeSwitch<Operation *, Kind>(inner)
      .Case([&](hlo::AddOp) { return Kind(isPredicate ? Reduction::Or : Reduction::Sum); })
      .Case([&](hlo::MaxOp) { return Kind(isPredicate ? Reduction::Or : Reduction::Max); })
      .Case([&](hlo::MinOp) { return Kind(isPredicate ? Reduction::And : Reduction::Min); })
      .Case([&](hlo::MulOp) { return isPredicate ? Kind(Reduction::And) : Kind(); })
      .Case([&](hlo::AndOp) { return isPredicate ? Kind(Reduction::And) : Kind(); })
      .Case([&](hlo::OrOp) { return isPredicate ? Kind(Reduction::Or) : Kind(); })
      .Default([](Operation *) { return Kind(); });
}

VectorOp mlir::dtu::getReductionOp(Reduction reduction, bool alongColumns) {
  switch (reduction) {
  case Reduction::Sum:
    return alongColumns ? VectorOp::RowSum : VectorOp::ColSum;
  case Reduction::Max:
  case Reduction::Or:
    return alongColumns ? VectorOp::RowMax : VectorOp::ColMax;
  case Reduction::Min:
  case Reduction::And:
    return alongColumns ? VectorOp::RowMin : VectorOp::ColMin;
  }
  llvm_unreachable("all reductions are listed");
}

VectorOp mlir::dtu::getCombineOp(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return VectorOp::Add;
  case Reduction::Max:
    return VectorOp::Max;
  case Reduction::Min:
    return VectorOp::Min;
  case Reduction::And:
    return VectorOp::And;
  case Reduction::Or:
    return VectorOp::Or;
  }
  llvm_unreachable("all reductions are listed");
}

/// The largest (or smallest) value of a type; infinite for floats.
static uint64_t getExtreme(DType type, bool largest) {
  switch (type) {
  case DType::I1:
    return largest;
  case DType::BF16:
    return largest ? 0x7F80 : 0xFF80;
  case DType::F16:
    return largest ? 0x7C00 : 0xFC00;
  case DType::F32:
    return largest ? 0x7F800000 : 0xFF800000;
  case DType::F64:
    return largest ? 0x7FF0000000000000 : 0xFFF0000000000000;
  case DType::U8:
  case DType::U16:
  case DType::U32:
  case DType::U64:
    return largest ? ~uint64_t(0) >> (64 - 8 * ::st::dtu::byteWidth(type)) : 0;
  default: {
    uint64_t top = uint64_t(1) << (8 * ::st::dtu::byteWidth(type) - 1);
    return largest ? top - 1 : top;
  }
  }
}

uint64_t mlir::dtu::getIdentity(Reduction reduction, DType type) {
  switch (reduction) {
  case Reduction::Sum:
    return 0;
  case Reduction::Max:
  case Reduction::Or:
    return getExtreme(type, /*largest=*/false);
  case Reduction::Min:
  case Reduction::And:
    return getExtreme(type, /*largest=*/true);
  }
  llvm_unreachable("all reductions are listed");
}

std::optional<uint64_t> mlir::dtu::getSplatBits(Attribute value) {
  auto splat = dyn_cast<SplatElementsAttr>(value);
  if (!splat)
    return std::nullopt;
  Attribute element = splat.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(element))
    return number.getValue().bitcastToAPInt().getZExtValue();
  if (auto number = dyn_cast<IntegerAttr>(element))
    return number.getValue().getZExtValue();
  return std::nullopt;
}
