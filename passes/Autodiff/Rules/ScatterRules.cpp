//===- ScatterRules.cpp - Gradients of scatter ----------------------------===//

#include "passes/Autodiff/Rules/GradientRules.h"
#include "passes/Autodiff/Rules/RuleUtils.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

namespace {
enum class Body { Add, Multiply, Extremum, Overwrite, Other };
} // namespace

/// The way in which a single-operand scatter combines a value with its update.
static Body bodyOf(ScatterOp op) {
  Block &body = op.getUpdateComputation().front();
  if (body.getNumArguments() != 2)
    return Body::Other;
  if (body.getTerminator()->getOperand(0) == body.getArgument(1))
    return Body::Overwrite;
  Operation *single = singleOp(op.getUpdateComputation());
  if (isa_and_nonnull<AddOp>(single))
    return Body::Add;
  if (isa_and_nonnull<MulOp>(single))
    return Body::Multiply;
  bool isFloat = isa<FloatType>(Emitter::typeOf(op.getInputs().front()).getElementType());
  return isa_and_nonnull<MaxOp, MinOp>(single) && isFloat ? Body::Extremum : Body::Other;
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

/// Gathers the values at the places of the updates; undefined beyond the bounds.
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

/// A scatter to the same places with another computation.
static Value scatterLike(Emitter &emit, ScatterOp op, Value target, Value updates,
                         function_ref<Value(Value, Value)> make) {
  auto scatter = ScatterOp::create(
      emit.builder, emit.loc, ValueRange{target}, op.getScatterIndices(), ValueRange{updates},
      op.getScatterDimensionNumbers(), op.getIndicesAreSorted(), op.getUniqueIndices());
  fillBody(emit, scatter.getUpdateComputation(), Emitter::typeOf(target).getElementType(), make);
  return scatter.getResult(0);
}

static Value overwrite(Emitter &emit, ScatterOp op, Value target, Value updates) {
  return scatterLike(emit, op, target, updates, [](Value, Value update) { return update; });
}

/// Marks the updates that are written last to their places, by scattering their numbers. Updates
/// beyond the bounds are not marked.
static Value isWritten(Emitter &emit, ScatterOp op) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(op.getUpdates().front());
  Type index = emit.builder.getI32Type();
  Value numbers = emit.reshape(emit.iota({ShapedType::getNumElements(shape)}, index, 0), shape);
  Value none =
      emit.splat(RankedTensorType::get(Emitter::shapeOf(op.getInputs().front()), index), -1);
  Value left = gatherUpdates(emit, op, overwrite(emit, op, none, numbers));
  return emit.compare(ComparisonDirection::EQ, left, numbers);
}

/// Marks the updates whose window is inside the operand; the others are skipped.
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

/// Gathers the values at the places of the updates, and zero for skipped ones.
static Value gatherInBounds(Emitter &emit, ScatterOp op, Value from) {
  Value found = gatherUpdates(emit, op, from);
  Value counts = isInBounds(emit, op);
  return counts ? emit.select(counts, found, emit.zerosLike(found)) : found;
}

/// The old value and the updates that equal the extremum share its cotangent equally.
static void extremumScatterRule(ScatterOp op, Value ct, Gradients &g) {
  Emitter &emit = g.emit;
  Value input = op.getInputs().front(), update = op.getUpdates().front();
  auto equal = [&](Value a, Value b) {
    return emit.convert(emit.compare(ComparisonDirection::EQ, a, b),
                        Emitter::typeOf(a).getElementType());
  };
  Value kept = equal(input, op.getResult(0));
  Value won = equal(update, gatherUpdates(emit, op, op.getResult(0)));
  Value count = scatterLike(emit, op, kept, won, [&](Value a, Value b) { return emit.add(a, b); });
  Value share = emit.div(ct, count);
  g.add(input, [&] { return emit.mul(share, kept); });
  g.add(update, [&] { return emit.mul(gatherInBounds(emit, op, share), won); });
}

static LogicalResult multiplyScatterRule(ScatterOp op, Value ct, Gradients &g) {
  Emitter &emit = g.emit;
  Value input = op.getInputs().front(), update = op.getUpdates().front();
  if (g.isNeeded(update) && !op.getUniqueIndices())
    return op.emitOpError("has no gradient rule: expected unique_indices because the updates are "
                          "multiplied");
  g.add(input, [&] {
    return scatterLike(emit, op, ct, update, [&](Value a, Value b) { return emit.mul(a, b); });
  });
  g.add(update, [&] { return gatherInBounds(emit, op, emit.mul(ct, input)); });
  return success();
}

static LogicalResult scatterRule(ScatterOp op, ArrayRef<Value> cts, Gradients &g) {
  Body body = op.getInputs().size() == 1 ? bodyOf(op) : Body::Other;
  if (body == Body::Other)
    return op.emitOpError("has no gradient rule: expected one operand and a body that adds, "
                          "multiplies, compares or returns the update");
  Emitter &emit = g.emit;
  Value ct = cts.front(), input = op.getInputs().front(), update = op.getUpdates().front();
  if (isEmpty(input) || isEmpty(update)) {
    g.add(input, ct);
    g.add(update, [&] { return emit.zerosLike(update); });
    return success();
  }
  if (body == Body::Multiply)
    return multiplyScatterRule(op, ct, g);
  if (body == Body::Extremum) {
    extremumScatterRule(op, ct, g);
    return success();
  }
  bool isAdd = body == Body::Add;
  g.add(input, [&] { return isAdd ? ct : overwrite(emit, op, ct, emit.zerosLike(update)); });
  g.add(update, [&] {
    if (isAdd)
      return gatherInBounds(emit, op, ct);
    Value found = gatherUpdates(emit, op, ct);
    return emit.select(isWritten(emit, op), found, emit.zerosLike(found));
  });
  return success();
}

void st::populateScatterRules(GradientRules &rules) {
  rules.addChecked<ScatterOp>(scatterRule);
  rules.allowComplex<ScatterOp>();
}
