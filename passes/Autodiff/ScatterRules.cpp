//===- ScatterRules.cpp - Gradients of scatter ----------------------------===//

#include "passes/Autodiff/GradientRules.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

namespace {
enum class Body { Add, Overwrite, Other };
} // namespace

/// What a scatter of one operand does with a value and its update.
static Body bodyOf(ScatterOp op) {
  Block &body = op.getUpdateComputation().front();
  if (body.getNumArguments() != 2)
    return Body::Other;
  Value result = body.getTerminator()->getOperand(0);
  if (result == body.getArgument(1))
    return Body::Overwrite;
  auto add = result.getDefiningOp<AddOp>();
  bool isSum = add && add->getBlock() == &body &&
               llvm::is_contained(add->getOperands(), body.getArgument(0)) &&
               llvm::is_contained(add->getOperands(), body.getArgument(1));
  return isSum ? Body::Add : Body::Other;
}

/// The size of an update's window in each dimension of the operand.
static SmallVector<int64_t> windowSizes(ScatterOp op) {
  ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
  int64_t rank = Emitter::typeOf(op.getInputs().front()).getRank();
  SmallVector<int64_t> sizes(rank, 1), windowDims(numbers.getUpdateWindowDims());
  llvm::sort(windowDims);
  SmallVector<int64_t> operandDims =
      remainingDims(rank, numbers.getInsertedWindowDims(), numbers.getInputBatchingDims());
  for (auto [operandDim, dim] : llvm::zip_equal(operandDims, windowDims))
    sizes[operandDim] = Emitter::shapeOf(op.getUpdates().front())[dim];
  return sizes;
}

/// What stands at the places of the updates; beyond the bounds, something else.
static Value gatherUpdates(Emitter &emit, ScatterOp op, Value from) {
  ScatterDimensionNumbersAttr n = op.getScatterDimensionNumbers();
  auto numbers = GatherDimensionNumbersAttr::get(
      op.getContext(), n.getUpdateWindowDims(), n.getInsertedWindowDims(), n.getInputBatchingDims(),
      n.getScatterIndicesBatchingDims(), n.getScatterDimsToOperandDims(), n.getIndexVectorDim());
  auto type = RankedTensorType::get(Emitter::shapeOf(op.getUpdates().front()),
                                    Emitter::typeOf(from).getElementType());
  return GatherOp::create(emit.builder, emit.loc, type, from, op.getScatterIndices(), numbers,
                          windowSizes(op), op.getIndicesAreSorted());
}

/// A scatter to the same places that overwrites what stands in `target`.
static Value overwrite(Emitter &emit, ScatterOp op, Value target, Value updates) {
  auto scatter = ScatterOp::create(
      emit.builder, emit.loc, ValueRange{target}, op.getScatterIndices(), ValueRange{updates},
      op.getScatterDimensionNumbers(), op.getIndicesAreSorted(), op.getUniqueIndices());
  OpBuilder::InsertionGuard guard(emit.builder);
  auto scalar = RankedTensorType::get({}, Emitter::typeOf(target).getElementType());
  Block *body = emit.builder.createBlock(&scatter.getUpdateComputation(), {}, {scalar, scalar},
                                         {emit.loc, emit.loc});
  stablehlo::ReturnOp::create(emit.builder, emit.loc, ValueRange{body->getArgument(1)});
  return scatter.getResult(0);
}

/// The updates that are the last written to their places: they leave their number
/// there. An update beyond the bounds leaves none.
static Value isWritten(Emitter &emit, ScatterOp op) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(op.getUpdates().front());
  Type index = emit.builder.getI32Type();
  Value numbers = emit.reshape(emit.iota({ShapedType::getNumElements(shape)}, index, 0), shape);
  Value none =
      emit.splat(RankedTensorType::get(Emitter::shapeOf(op.getInputs().front()), index), -1);
  Value left = gatherUpdates(emit, op, overwrite(emit, op, none, numbers));
  return emit.compare(ComparisonDirection::EQ, left, numbers);
}

/// The updates whose window lies within the operand: the others are skipped.
static Value isInBounds(Emitter &emit, ScatterOp op) {
  Value indices = op.getScatterIndices();
  ScatterDimensionNumbersAttr n = op.getScatterDimensionNumbers();
  ArrayRef<int64_t> operandShape = Emitter::shapeOf(op.getInputs().front());
  ArrayRef<int64_t> updateShape = Emitter::shapeOf(op.getUpdates().front());
  SmallVector<int64_t> sizes = windowSizes(op);
  auto indexType = Emitter::typeOf(indices);
  SmallVector<int64_t> batchDims = remainingDims(updateShape.size(), n.getUpdateWindowDims());
  int64_t vectorDim = n.getIndexVectorDim();
  bool hasVector = vectorDim < indexType.getRank();
  Value all;
  for (auto [i, dim] : llvm::enumerate(n.getScatterDimsToOperandDims())) {
    Value component = indices;
    if (hasVector) {
      SmallVector<int64_t> shape(indexType.getShape());
      shape.erase(shape.begin() + vectorDim);
      component = emit.reshape(emit.sliceDim(indices, vectorDim, i, i + 1), shape);
    }
    component = emit.convert(component, emit.builder.getI64Type());
    Value high = emit.splatLike(component, static_cast<double>(operandShape[dim] - sizes[dim]));
    Value fits =
        emit.bitAnd(emit.compare(ComparisonDirection::GE, component, emit.zerosLike(component)),
                    emit.compare(ComparisonDirection::LE, component, high));
    all = all ? emit.bitAnd(all, fits) : fits;
  }
  return all ? emit.broadcast(all, batchDims, updateShape) : Value();
}

static LogicalResult scatterRule(ScatterOp op, ArrayRef<Value> cts, Gradients &g) {
  Body body = op.getInputs().size() == 1 ? bodyOf(op) : Body::Other;
  if (body == Body::Other)
    return op.emitOpError("has no gradient rule: expected one operand and a body that adds the "
                          "update or returns it");
  Emitter &emit = g.emit;
  Value ct = cts.front(), input = op.getInputs().front(), update = op.getUpdates().front();
  bool isAdd = body == Body::Add;
  bool isEmpty =
      Emitter::typeOf(input).getNumElements() == 0 || Emitter::typeOf(update).getNumElements() == 0;
  g.add(input,
        [&] { return isAdd || isEmpty ? ct : overwrite(emit, op, ct, emit.zerosLike(update)); });
  g.add(update, [&] {
    if (isEmpty)
      return emit.zerosLike(update);
    Value found = gatherUpdates(emit, op, ct);
    Value counts = isAdd ? isInBounds(emit, op) : isWritten(emit, op);
    return counts ? emit.select(counts, found, emit.zerosLike(found)) : found;
  });
  return success();
}

void st::populateScatterRules(GradientRules &rules) { rules.addChecked<ScatterOp>(scatterRule); }
