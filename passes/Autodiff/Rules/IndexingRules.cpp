//===- IndexingRules.cpp - Gradients of indexed access --------------------===//

#include "dialects/StableHLO/Analysis/Permutation.h"
#include "dialects/StableHLO/ChloOps.h"
#include "passes/Autodiff/ReverseMode.h"
#include "passes/Autodiff/Rules/RuleUtils.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

/// The start indices as the gather uses them. It clamps slices into the operand, where a scatter
/// would drop them.
static Value clampedIndices(Emitter &emit, GatherOp op) {
  GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
  Value indices = op.getStartIndices();
  // The bound may exceed a narrow index type.
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

/// The gradient of a gather sums, at each position, the cotangents of what was read from it. That
/// of a permutation is the inverse permutation.
static void gatherRule(GatherOp op, Value ct, Gradients &g) {
  g.add(op.getOperand(), [&]() -> Value {
    Emitter &emit = g.emit;
    OpBuilder &builder = emit.builder;
    if (std::optional<Permutation> permutation = findPermutation(op))
      return emitPermutation(builder, emit.loc, ct, permutation->getInverse());
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

/// Adds each element of `ct` to zeros of the operand's shape, at the place along `dim` given by
/// `places`; places are distinct.
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

/// The sort with the positions of the elements as an additional operand. So the source of each
/// element is known, even of equal elements, whose order an unstable sort does not define.
static SortOp sortWithPositions(SortOp op, int64_t dim) {
  OpBuilder builder(op);
  Type index = builder.getI32Type();
  SmallVector<Value> inputs(op.getInputs());
  auto type = Emitter::typeOf(inputs.front()).clone(index);
  inputs.push_back(IotaOp::create(builder, op.getLoc(), type, static_cast<uint64_t>(dim)));
  auto sort = SortOp::create(builder, op.getLoc(), inputs, op.getDimension(), op.getIsStable());
  sort.getComparator().takeBody(op.getComparator());
  auto scalar = RankedTensorType::get({}, index);
  sort.getComparator().front().addArguments({scalar, scalar}, {op.getLoc(), op.getLoc()});
  return sort;
}

static LogicalResult sortRule(SortOp op, ArrayRef<Value> cts, Gradients &g) {
  int64_t dim = static_cast<int64_t>(op.getDimension());
  if (dim < 0)
    dim += Emitter::typeOf(op.getInputs().front()).getRank();
  SortOp sort = sortWithPositions(op, dim);
  Value places = sort->getResults().back();
  for (unsigned i = 0; i < cts.size(); ++i) {
    Value input = op.getInputs()[i], ct = cts[i];
    if (ct)
      g.add(input, [&] { return scatterAlong(g.emit, input, places, ct, dim); });
  }
  g.mode.replace(op, sort->getResults().drop_back());
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
