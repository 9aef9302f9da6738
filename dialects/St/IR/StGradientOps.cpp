//===- StGradientOps.cpp - Gradients that a user defines ------------------===//

#include "dialects/St/IR/StGradientOps.h"

using namespace mlir;
using namespace mlir::st;

#define GET_OP_CLASSES
#include "dialects/St/IR/StGradientOps.cpp.inc"

#include "mlir/IR/TypeUtilities.h"

/// The types of those values that have a cotangent.
static SmallVector<Type> cotangentTypes(TypeRange types) {
  return llvm::filter_to_vector(
      types, [](Type type) { return isa<FloatType, ComplexType>(getElementTypeOrSelf(type)); });
}

LogicalResult CustomGradientOp::verifyRegions() {
  Block &forward = getForward().front(), &backward = getBackward().front();
  for (Block *block : {&forward, &backward})
    if (block->empty() || !block->back().hasTrait<OpTrait::ReturnLike>())
      return emitOpError("expects both regions to end with a return");
  if (forward.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("expects the forward region's arguments to have the types of the inputs, ")
           << getInputs().getTypes() << ", found " << forward.getArgumentTypes();
  TypeRange returned = forward.getTerminator()->getOperandTypes();
  unsigned count = getNumResults();
  if (returned.size() < count || returned.take_front(count) != getResultTypes())
    return emitOpError("expects the forward region to return the results, ")
           << getResultTypes() << ", and then residuals, found " << returned;

  SmallVector<Type> given(returned.drop_front(count));
  llvm::append_range(given, cotangentTypes(getResultTypes()));
  if (backward.getArgumentTypes() != TypeRange(given))
    return emitOpError("expects the backward region's arguments to be residuals and cotangents, ")
           << TypeRange(given) << ", found " << backward.getArgumentTypes();
  SmallVector<Type> wanted = cotangentTypes(getInputs().getTypes());
  if (backward.getTerminator()->getOperandTypes() != TypeRange(wanted))
    return emitOpError("expects the backward region to return cotangents of the inputs, ")
           << TypeRange(wanted) << ", found " << backward.getTerminator()->getOperandTypes();
  return success();
}
