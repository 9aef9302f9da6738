//===- ApplyToElements.cpp - Scalar computations on tensors ---------------===//

#include "dialects/StableHLO/Utils/ApplyToElements.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::st;

std::optional<SmallVector<Value>> mlir::st::applyToElements(Emitter &emit, Region &computation,
                                                            ValueRange arguments) {
  Block &block = computation.front();
  ArrayRef<int64_t> shape = Emitter::shapeOf(arguments.front());
  auto widen = [&](Value scalar) {
    return Emitter::shapeOf(scalar).empty() ? emit.broadcast(scalar, {}, shape) : Value();
  };
  for (Operation &op : block.without_terminator()) {
    bool isPlain = op.getNumResults() == 1 && op.getNumRegions() == 0 &&
                   isa<RankedTensorType>(op.getResult(0).getType()) &&
                   Emitter::shapeOf(op.getResult(0)).empty();
    bool isKnown = op.hasTrait<OpTrait::Elementwise>() ||
                   isa<stablehlo::SelectOp, stablehlo::ClampOp, stablehlo::ConstantOp,
                       stablehlo::ReshapeOp, stablehlo::BitcastConvertOp>(op);
    if (!isPlain || !isKnown)
      return std::nullopt;
  }
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  auto lookup = [&](Value value) {
    return mapping.contains(value) ? mapping.lookup(value) : widen(value);
  };
  for (Operation &op : block.without_terminator()) {
    Value result = op.getResult(0);
    if (DenseElementsAttr value; matchPattern(result, m_Constant(&value))) {
      mapping.map(result, emit.constant(value.resizeSplat(Emitter::typeOf(result).clone(shape))));
    } else if (isa<stablehlo::ReshapeOp>(op)) {
      mapping.map(result, lookup(op.getOperand(0)));
    } else {
      SmallVector<Value> operands = llvm::map_to_vector(op.getOperands(), lookup);
      OperationState state(emit.loc, op.getName(), operands,
                           TypeRange{Emitter::typeOf(result).clone(shape)}, op.getAttrs());
      mapping.map(result, emit.builder.create(state)->getResult(0));
    }
  }
  return llvm::map_to_vector(block.getTerminator()->getOperands(), lookup);
}
