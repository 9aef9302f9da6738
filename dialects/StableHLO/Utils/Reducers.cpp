#include "dialects/StableHLO/Utils/Reducers.h"

#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
namespace hlo = mlir::stablehlo;

Operation *mlir::st::findCombiner(Region &reducer) {
  Block &block = reducer.front();
  Operation *end = block.getTerminator();
  if (block.getNumArguments() != 2 || end->getNumOperands() != 1)
    return nullptr;
  Operation *combiner = end->getOperand(0).getDefiningOp();
  if (!combiner || combiner->getNumOperands() != 2 ||
      combiner->getOperand(0) == combiner->getOperand(1) ||
      !llvm::all_of(combiner->getOperands(), llvm::IsaPred<BlockArgument>))
    return nullptr;
  return combiner;
}

Attribute mlir::st::getNeutralElement(Operation *combiner, Type element) {
  Operation &op = *combiner;
  if (auto complex = dyn_cast<ComplexType>(element)) {
    auto part = cast<FloatType>(complex.getElementType());
    auto pair = [&](Attribute re, Attribute im) {
      return ArrayAttr::get(op.getContext(), {re, im});
    };
    if (isa<hlo::AddOp, hlo::MulOp>(op))
      return pair(FloatAttr::get(part, isa<hlo::MulOp>(op) ? 1.0 : 0.0), FloatAttr::get(part, 0.0));
    // The ends of the order by real, then by imaginary part.
    if (!isa<hlo::MaxOp, hlo::MinOp>(op))
      return nullptr;
    auto end = FloatAttr::get(part, APFloat::getInf(part.getFloatSemantics(), isa<hlo::MaxOp>(op)));
    return pair(end, end);
  }
  bool isFloat = isa<FloatType>(element);
  auto integer = [&](const APInt &value) { return IntegerAttr::get(element, value); };
  unsigned width = isFloat || !element.isIntOrFloat() ? 64 : element.getIntOrFloatBitWidth();
  if (isa<hlo::AddOp>(op))
    return isFloat ? Attribute(FloatAttr::get(element, 0.0)) : integer(APInt::getZero(width));
  if (isa<hlo::MulOp>(op))
    return isFloat ? Attribute(FloatAttr::get(element, 1.0)) : integer(APInt(width, 1));
  if (isa<hlo::AndOp>(op))
    return integer(APInt::getAllOnes(width));
  if (isa<hlo::OrOp, hlo::XorOp>(op))
    return integer(APInt::getZero(width));
  if (!isa<hlo::MaxOp, hlo::MinOp>(op))
    return nullptr;
  bool isMax = isa<hlo::MaxOp>(op);
  if (isFloat) {
    const llvm::fltSemantics &semantics = cast<FloatType>(element).getFloatSemantics();
    if (!APFloat::semanticsHasInf(semantics))
      return nullptr;
    return FloatAttr::get(element, APFloat::getInf(semantics, /*Negative=*/isMax));
  }
  if (element.isUnsignedInteger() || width == 1)
    return integer(isMax ? APInt::getZero(width) : APInt::getAllOnes(width));
  return integer(isMax ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width));
}

bool mlir::st::isNeutral(Region &reducer, Value value) {
  Operation *combiner = findCombiner(reducer);
  DenseElementsAttr constant;
  if (!combiner || !matchPattern(value, m_Constant(&constant)) || !constant.isSplat() ||
      isa<ComplexType>(constant.getElementType()))
    return false;
  // Zeros of both signs are neutral in a sum.
  if (isa<hlo::AddOp>(combiner) && isa<FloatType>(constant.getElementType()))
    return constant.getSplatValue<APFloat>().isZero();
  return constant.getSplatValue<Attribute>() ==
         getNeutralElement(combiner, constant.getElementType());
}
