//===- NormalizationVerifiers.cpp - Constraints of batch normalization ----===//
//
// Labels like (C1) are those of the StableHLO specification.
//
//===----------------------------------------------------------------------===//

#include "dialects/St/Interfaces/Notes.h"
#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::stablehlo;

/// (C1) The feature dimension exists; (C2)-(C5) tensors that are not like the
/// operand have one element per feature.
static LogicalResult verifyBatchNorm(Operation *op, int64_t feature, ValueRange perFeature) {
  auto operand = cast<RankedTensorType>(op->getOperand(0).getType());
  if (feature >= operand.getRank())
    return op->emitOpError("expects feature_index to be in [0, ")
           << operand.getRank() << "), got " << feature;
  auto expected = RankedTensorType::get({operand.getDimSize(feature)}, operand.getElementType());
  for (Value value : perFeature)
    if (value.getType() != expected)
      return mlir::st::withNote(op->emitOpError("expects ")
                                    << expected << ", one element per feature, got "
                                    << value.getType(),
                                value, "the value is defined here");
  return success();
}

LogicalResult BatchNormGradOp::verify() {
  if (getGradOutput().getType() != getOperand().getType())
    return mlir::st::withNote(emitOpError("expects grad_output of type ")
                                  << getOperand().getType() << ", got "
                                  << getGradOutput().getType(),
                              getGradOutput(), "grad_output is defined here");
  return verifyBatchNorm(*this, getFeatureIndex(), {getScale(), getMean(), getVariance()});
}

LogicalResult BatchNormInferenceOp::verify() {
  return verifyBatchNorm(*this, getFeatureIndex(),
                         {getScale(), getOffset(), getMean(), getVariance()});
}

LogicalResult BatchNormTrainingOp::verify() {
  return verifyBatchNorm(*this, getFeatureIndex(), {getScale(), getOffset()});
}
