#include "dialects/StableHLO/Analysis/DotAlgorithm.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

Type mlir::st::getRoundedType(stablehlo::DotGeneralOp product, unsigned operand) {
  Type own = getElementTypeOrSelf(product->getOperand(operand).getType());
  stablehlo::DotAlgorithmAttr algorithm = product.getAlgorithmAttr();
  if (!algorithm || !isa<FloatType>(own))
    return own;
  Type type = operand == 0 ? algorithm.getLhsPrecisionType() : algorithm.getRhsPrecisionType();
  int64_t components =
      operand == 0 ? algorithm.getLhsComponentCount() : algorithm.getRhsComponentCount();
  const bool isSplit = components > 1 || algorithm.getNumPrimitiveOperations() > 1;
  const bool isRounded = !isSplit && (type.isF16() || type.isBF16()) &&
                         type.getIntOrFloatBitWidth() <= own.getIntOrFloatBitWidth();
  return isRounded ? type : own;
}
