//===- IndexingRules.cpp - Gradients of indexed access --------------------===//

#include "dialects/StableHLO/ChloOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Autodiff/GradientRules.h"
#include "passes/Autodiff/RuleUtils.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

/// The start indices as the gather uses them. It moves slices that leave the
/// operand back into it, where a scatter would drop them.
static Value clampedIndices(Emitter &emit, GatherOp op) {
  GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
  Value indices = op.getStartIndices();
  // A bound may be more than a narrow type can say.
  if (Emitter::typeOf(indices).getElementType().getIntOrFloatBitWidth() < 32)
    indices = emit.convert(indices, emit.builder.getI32Type());
  auto type = Emitter::typeOf(indices);
  SmallVector<int64_t> limits;
  for (int64_t dim : numbers.getStartIndexMap())
    limits.push_back(Emitter::shapeOf(op.getOperand())[dim] - op.getSliceSizes()[dim]);
  auto scalar = RankedTensorType::get({}, type.getElementType());
  if (llvm::all_equal(limits))
    return emit.clamp(emit.splat(scalar, 0), indices,
                      emit.splat(scalar, limits.empty() ? 0 : limits.front()));

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
    fillWithSum(emit, scatter.getUpdateComputation(), Emitter::typeOf(ct).getElementType());
    return scatter.getResult(0);
  });
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

/// Adds each element of `ct` to zeros like `operand`, at the place along `dim` that
/// the element of `places` says; no two go to one place.
static Value scatterAlong(Emitter &emit, Value operand, Value places, Value ct, int64_t dim) {
  int64_t rank = Emitter::typeOf(operand).getRank();
  SmallVector<int64_t> others = remainingDims(rank, {dim});
  auto numbers = ScatterDimensionNumbersAttr::get(emit.builder.getContext(), {}, {dim}, others,
                                                  others, {dim}, rank);
  auto scatter = ScatterOp::create(emit.builder, emit.loc, ValueRange{emit.zerosLike(operand)},
                                   places, ValueRange{ct}, numbers, false, true);
  fillWithSum(emit, scatter.getUpdateComputation(), Emitter::typeOf(ct).getElementType());
  return scatter.getResult(0);
}

/// The order that a sort puts its operands in: a stable sort of them once more,
/// with their positions as one more operand.
static Value sortedPositions(Emitter &emit, SortOp op, int64_t dim) {
  OpBuilder &builder = emit.builder;
  SmallVector<Value> inputs(op.getInputs());
  inputs.push_back(emit.iota(Emitter::shapeOf(inputs.front()), builder.getI32Type(), dim));
  auto sort = SortOp::create(builder, emit.loc, inputs, dim, true);
  IRMapping mapping;
  op.getComparator().cloneInto(&sort.getComparator(), mapping);
  auto scalar = RankedTensorType::get({}, builder.getI32Type());
  sort.getComparator().front().addArguments({scalar, scalar}, {emit.loc, emit.loc});
  return sort->getResults().back();
}

static LogicalResult sortRule(SortOp op, ArrayRef<Value> cts, Gradients &g) {
  if (!op.getIsStable() && op.getInputs().size() > 1)
    return op.emitOpError("has no gradient rule: expected a stable sort, or one of one operand");
  int64_t dim = static_cast<int64_t>(op.getDimension());
  if (dim < 0)
    dim += Emitter::typeOf(op.getInputs().front()).getRank();
  Value places;
  for (auto [input, ct] : llvm::zip_equal(op.getInputs(), cts)) {
    if (!ct || !g.wants(input))
      continue;
    if (!places)
      places = sortedPositions(g.emit, op, dim);
    g.add(input, scatterAlong(g.emit, input, places, ct, dim));
  }
  return success();
}

static LogicalResult topKRule(chlo::TopKOp op, ArrayRef<Value> cts, Gradients &g) {
  Value x = op.getOperand();
  if (cts.front())
    g.add(x, [&] {
      int64_t last = Emitter::typeOf(x).getRank() - 1;
      return scatterAlong(g.emit, x, op.getIndices(), cts.front(), last);
    });
  return success();
}

void st::populateIndexingRules(GradientRules &rules) {
  rules.add<GatherOp>(gatherRule);
  rules.addChecked<SortOp>(sortRule);
  rules.addChecked<chlo::TopKOp>(topKRule);
  rules.allowComplex<GatherOp, SortOp>();
}
