#include "dialects/StableHLO/Analysis/DotAlgorithm.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Reference/Evaluation/OpHandlers.h"
#include "lib/Reference/Numerics/Contraction.h"
#include "lib/Reference/TensorTypes.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mlir::st::ref {

using namespace stablehlo;

static Outcome evalDotGeneral(TensorCall &call, DotGeneralOp op) {
  DotDimensionNumbersAttr dims = op.getDotDimensionNumbers();
  DotDims kernelDims{dims.getLhsBatchingDimensions(), dims.getRhsBatchingDimensions(),
                     dims.getLhsContractingDimensions(), dims.getRhsContractingDimensions()};
  // An algorithm may round the operands. Then, of two types of floats, the wider one is used, as in
  // XLA's CPU backend.
  auto getOperand = [&](unsigned i) {
    const ElementType type = *getElementType(getRoundedType(op, i));
    const Tensor &operand = call.operands[i];
    return operand.getType() == type ? operand : convert(operand, type);
  };
  Tensor lhs = getOperand(0), rhs = getOperand(1);
  if (::st::byteWidth(lhs.getType()) < ::st::byteWidth(rhs.getType()))
    lhs = convert(lhs, rhs.getType());
  else if (lhs.getType() != rhs.getType())
    rhs = convert(rhs, lhs.getType());
  return call.finish(dotGeneral(lhs, rhs, kernelDims, call.resultType()));
}

static Outcome evalConvolution(TensorCall &call, ConvolutionOp op) {
  ConvDimensionNumbersAttr dims = op.getDimensionNumbers();
  size_t spatial = dims.getInputSpatialDimensions().size();
  Convolution conv{{dims.getInputBatchDimension(), dims.getInputFeatureDimension(),
                    dims.getInputSpatialDimensions()},
                   {dims.getKernelOutputFeatureDimension(), dims.getKernelInputFeatureDimension(),
                    dims.getKernelSpatialDimensions()},
                   {dims.getOutputBatchDimension(), dims.getOutputFeatureDimension(),
                    dims.getOutputSpatialDimensions()},
                   orOnes(op.getWindowStrides(), spatial),
                   Shape(spatial, 0),
                   Shape(spatial, 0),
                   orOnes(op.getLhsDilation(), spatial),
                   orOnes(op.getRhsDilation(), spatial),
                   SmallVector<bool>(spatial, false),
                   static_cast<int64_t>(op.getFeatureGroupCount()),
                   static_cast<int64_t>(op.getBatchGroupCount())};
  if (std::optional<DenseIntElementsAttr> padding = op.getPadding())
    for (auto [i, value] : llvm::enumerate(padding->getValues<int64_t>()))
      (i % 2 == 0 ? conv.padLow : conv.padHigh)[i / 2] = value;
  if (std::optional<ArrayRef<bool>> reversal = op.getWindowReversal())
    conv.reversed.assign(reversal->begin(), reversal->end());
  return call.finish(
      convolution(call.operands[0], call.operands[1], conv, call.resultShape(), call.resultType()));
}

Outcome evalContraction(TensorCall &call) {
  return llvm::TypeSwitch<Operation *, Outcome>(&call.op)
      .Case<DotGeneralOp>([&](DotGeneralOp op) { return evalDotGeneral(call, op); })
      .Case<ConvolutionOp>([&](ConvolutionOp op) { return evalConvolution(call, op); })
      .Default(Outcome::Unknown);
}

} // namespace mlir::st::ref
