//===- IndexingRules.cpp - Gradients of indexed access --------------------===//

#include "passes/Autodiff/GradientRules.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

/// The start indices as the gather uses them. It moves slices that leave the
/// operand back into it, where a scatter would drop them.
static Value clampedIndices(Emitter &emit, GatherOp op) {
  GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
  Value indices = op.getStartIndices();
  auto type = Emitter::typeOf(indices);
  SmallVector<int64_t> limits;
  for (int64_t dim : numbers.getStartIndexMap())
    limits.push_back(Emitter::shapeOf(op.getOperand())[dim] - op.getSliceSizes()[dim]);
  auto scalar = RankedTensorType::get({}, type.getElementType());
  if (llvm::all_equal(limits))
    return emit.clamp(emit.splat(scalar, 0), indices, emit.splat(scalar, limits.front()));

  unsigned width = type.getElementType().getIntOrFloatBitWidth();
  SmallVector<APInt> values;
  for (int64_t limit : limits)
    values.emplace_back(width, limit);
  int64_t count = limits.size();
  Value vector = emit.constant(
      DenseElementsAttr::get(RankedTensorType::get({count}, type.getElementType()), values));
  Value high = emit.broadcast(vector, {numbers.getIndexVectorDim()}, type.getShape());
  return emit.clamp(emit.zerosLike(indices), indices, high);
}

/// A gather's gradient adds up at each place what was read from there.
static void gatherRule(GatherOp op, Value ct, Gradients &g) {
  g.add(op.getOperand(), [&]() -> Value {
    Emitter &emit = g.emit;
    OpBuilder &builder = emit.builder;
    GatherDimensionNumbersAttr from = op.getDimensionNumbers();
    auto numbers = ScatterDimensionNumbersAttr::get(
        builder.getContext(), from.getOffsetDims(), from.getCollapsedSliceDims(),
        from.getOperandBatchingDims(), from.getStartIndicesBatchingDims(), from.getStartIndexMap(),
        from.getIndexVectorDim());
    auto scatter = ScatterOp::create(builder, emit.loc, ValueRange{emit.zerosLike(op.getOperand())},
                                     clampedIndices(emit, op), ValueRange{ct}, numbers,
                                     op.getIndicesAreSorted());
    OpBuilder::InsertionGuard guard(builder);
    auto scalar = RankedTensorType::get({}, Emitter::typeOf(ct).getElementType());
    Block *body = builder.createBlock(&scatter.getUpdateComputation(), {}, {scalar, scalar},
                                      {emit.loc, emit.loc});
    Value sum = emit.add(body->getArgument(0), body->getArgument(1));
    stablehlo::ReturnOp::create(builder, emit.loc, ValueRange{sum});
    return scatter.getResult(0);
  });
}

void st::populateIndexingRules(GradientRules &rules) { rules.add<GatherOp>(gatherRule); }
