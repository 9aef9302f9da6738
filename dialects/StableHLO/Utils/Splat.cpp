#include "dialects/StableHLO/Utils/Splat.h"

#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

Value mlir::st::skipReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

Value mlir::st::skipBroadcasts(Value value) {
  while (isa_and_nonnull<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

std::optional<double> mlir::st::getSplat(Value value) {
  SplatElementsAttr splat;
  if (!matchPattern(skipBroadcasts(value), m_Constant(&splat)) ||
      !isa<FloatType>(splat.getElementType()))
    return std::nullopt;
  return splat.getSplatValue<APFloat>().convertToDouble();
}
