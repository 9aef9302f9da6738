//===- WindowRules.cpp - Gradients of windowed reductions -----------------===//

#include "passes/Autodiff/GradientRules.h"
#include "passes/Autodiff/RuleUtils.h"
#include "passes/Autodiff/WindowDim.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

//===----------------------------------------------------------------------===//
// reduce_window
//===----------------------------------------------------------------------===//

static SmallVector<WindowDim> windowDims(ReduceWindowOp op) {
  int64_t rank = op.getWindowDimensions().size();
  SmallVector<int64_t> strides = listOr(op.getWindowStrides(), rank, 1);
  SmallVector<int64_t> base = listOr(op.getBaseDilations(), rank, 1);
  SmallVector<int64_t> dilations = listOr(op.getWindowDilations(), rank, 1);
  SmallVector<WindowDim> dims;
  for (int64_t i = 0; i < rank; ++i)
    dims.push_back({op.getWindowDimensions()[i], strides[i], base[i], dilations[i],
                    lowPadding(op.getPadding(), i), Emitter::shapeOf(op.getInputs().front())[i],
                    Emitter::shapeOf(op.getResult(0))[i]});
  return dims;
}

/// Each element gets the sum of the cotangents of the windows it was in: a sum
/// over windows of the cotangent.
static Value windowSumCotangent(Emitter &emit, ReduceWindowOp op, Value ct) {
  Value x = op.getInputs().front();
  if (isEmpty(x) || isEmpty(ct))
    return emit.zerosLike(x);
  SmallVector<int64_t> low, high, interior, sizes, strides, dilations;
  for (const WindowDim &dim : windowDims(op)) {
    low.push_back(dim.backLow());
    high.push_back(dim.backHigh());
    interior.push_back(dim.stride - 1);
    sizes.push_back(dim.size);
    strides.push_back(dim.baseDilation);
    dilations.push_back(dim.windowDilation);
  }
  Value zero = scalarZero(emit, ct);
  Value padded = emit.pad(ct, zero, low, high, interior);
  auto sum = ReduceWindowOp::create(
      emit.builder, emit.loc, TypeRange{x.getType()}, ValueRange{padded}, ValueRange{zero}, sizes,
      emit.builder.getDenseI64ArrayAttr(strides), DenseI64ArrayAttr(),
      emit.builder.getDenseI64ArrayAttr(dilations), DenseIntElementsAttr());
  fillWithSum(emit, sum.getBody(), Emitter::typeOf(ct).getElementType());
  return sum.getResult(0);
}

/// The cotangent goes to the first extremum of each window, as in JAX.
static Value windowExtremumCotangent(Emitter &emit, ReduceWindowOp op, Value ct, bool isMax) {
  Value x = op.getInputs().front();
  if (isEmpty(x) || isEmpty(ct))
    return emit.zerosLike(x);
  auto scatter = SelectAndScatterOp::create(emit.builder, emit.loc, x.getType(), x, ct,
                                            scalarZero(emit, ct), op.getWindowDimensionsAttr(),
                                            op.getWindowStridesAttr(), op.getPaddingAttr());
  Type element = Emitter::typeOf(x).getElementType();
  auto direction = isMax ? ComparisonDirection::GE : ComparisonDirection::LE;
  fillBody(emit, scatter.getSelect(), element,
           [&](Value a, Value b) { return emit.compare(direction, a, b); });
  fillWithSum(emit, scatter.getScatter(), element);
  return scatter.getResult();
}

namespace {
/// What the windows of a product read: their elements in a dimension each of the output
/// and the window, gathered from the padded operand.
struct Patches {
  Value padded, flat, places, elements;
};
} // namespace

static Patches gatherPatches(Emitter &emit, ReduceWindowOp op) {
  Value x = op.getInputs().front();
  SmallVector<WindowDim> dims = windowDims(op);
  SmallVector<int64_t> low, high, interior, shape(Emitter::shapeOf(op.getResult(0)));
  llvm::append_range(shape, op.getWindowDimensions());
  for (auto [i, dim] : llvm::enumerate(dims)) {
    low.push_back(dim.low);
    high.push_back(highPadding(op.getPadding(), i));
    interior.push_back(dim.baseDilation - 1);
  }
  Value padded = emit.pad(x, op.getInitValues().front(), low, high, interior);
  int64_t rank = dims.size(), step = 1;
  Value places = emit.splat(RankedTensorType::get(shape, emit.builder.getI64Type()), 0);
  for (int64_t i = rank - 1; i >= 0; --i) {
    auto along = [&](int64_t dim, int64_t factor) {
      Value position = emit.iota(shape, emit.builder.getI64Type(), dim);
      places = emit.add(places, emit.scale(position, static_cast<double>(factor * step)));
    };
    along(i, dims[i].stride);
    along(rank + i, dims[i].windowDilation);
    step *= Emitter::shapeOf(padded)[i];
  }
  Value flat = emit.reshape(padded, {step});
  auto numbers = GatherDimensionNumbersAttr::get(op.getContext(), {}, {0}, {}, {}, {0},
                                                 static_cast<int64_t>(shape.size()));
  Type type = RankedTensorType::get(shape, Emitter::typeOf(x).getElementType());
  Value elements = GatherOp::create(emit.builder, emit.loc, type, flat, places, numbers,
                                    ArrayRef<int64_t>{1}, false);
  return {padded, flat, places, elements};
}

/// Each element gets, from each window it was in, the cotangent times the product of the
/// window's other elements and the initial value.
static Value windowProductCotangent(Emitter &emit, ReduceWindowOp op, Value ct) {
  Value x = op.getInputs().front();
  if (isEmpty(x) || isEmpty(ct))
    return emit.zerosLike(x);
  Patches patches = gatherPatches(emit, op);
  int64_t rank = Emitter::typeOf(ct).getRank();
  ArrayRef<int64_t> shape = Emitter::shapeOf(patches.elements);
  SmallVector<int64_t> windows(Emitter::shapeOf(ct));
  windows.push_back(ShapedType::getNumElements(op.getWindowDimensions()));
  Value others = productOfOthers(emit, emit.reshape(patches.elements, windows), rank);
  Value init = emit.broadcast(op.getInitValues().front(), {}, Emitter::shapeOf(ct));
  Value scaled = emit.broadcast(emit.mul(ct, init), remainingDims(rank, {}), windows);
  Value updates = emit.reshape(emit.mul(scaled, others), shape);
  auto numbers = ScatterDimensionNumbersAttr::get(op.getContext(), {}, {0}, {}, {}, {0},
                                                  static_cast<int64_t>(shape.size()));
  auto scatter = ScatterOp::create(emit.builder, emit.loc, ValueRange{emit.zerosLike(patches.flat)},
                                   patches.places, ValueRange{updates}, numbers, false, false);
  fillWithSum(emit, scatter.getUpdateComputation(), Emitter::typeOf(ct).getElementType());
  Value whole = emit.reshape(scatter.getResult(0), Emitter::shapeOf(patches.padded));
  return patches.padded == x ? whole : unpadded(emit, patches.padded.getDefiningOp<PadOp>(), whole);
}

static LogicalResult reduceWindowRule(ReduceWindowOp op, ArrayRef<Value> cts, Gradients &g) {
  Operation *body = op.getInputs().size() == 1 ? singleOp(op.getBody()) : nullptr;
  Value x = op->getOperand(0), init = op->getOperand(1);
  if (isa_and_nonnull<AddOp>(body) && !g.wants(init)) {
    g.add(x, [&] { return windowSumCotangent(g.emit, op, cts.front()); });
    return success();
  }
  if (isa_and_nonnull<MulOp>(body) && !g.wants(init)) {
    g.add(x, [&] { return windowProductCotangent(g.emit, op, cts.front()); });
    return success();
  }
  bool isPlain = llvm::all_of(windowDims(op), [](const WindowDim &dim) {
    return dim.baseDilation == 1 && dim.windowDilation == 1;
  });
  bool isFloat = isa<FloatType>(Emitter::typeOf(x).getElementType());
  if (isa_and_nonnull<MaxOp, MinOp>(body) && !g.wants(init) && isPlain && isFloat) {
    g.add(x, [&] { return windowExtremumCotangent(g.emit, op, cts.front(), isa<MaxOp>(body)); });
    return success();
  }
  return op.emitOpError("has no gradient rule: expected one operand, a constant initial value and "
                        "a body that is one add or multiply, or one maximum or minimum without "
                        "dilations");
}

//===----------------------------------------------------------------------===//
// select_and_scatter
//===----------------------------------------------------------------------===//

/// What each window of the operand selected is read back from `ct`, where a window of both
/// is reduced by the same choice. Outside the operand nothing is ever selected.
static Value selectAndGather(Emitter &emit, SelectAndScatterOp op, CompareOp choice, Value ct) {
  Value x = op.getOperand();
  Type element = Emitter::typeOf(x).getElementType();
  auto scalar = RankedTensorType::get({}, element);
  bool isMax = choice.getComparisonDirection() == ComparisonDirection::GE ||
               choice.getComparisonDirection() == ComparisonDirection::GT;
  APFloat worst = APFloat::getInf(cast<FloatType>(element).getFloatSemantics(), isMax);
  Value first = emit.constant(DenseElementsAttr::get(scalar, worst));
  int64_t rank = Emitter::typeOf(x).getRank();
  SmallVector<int64_t> window = listOr(op.getWindowDimensions(), rank, 1);
  auto gathered = ReduceWindowOp::create(
      emit.builder, emit.loc, TypeRange{op.getSource().getType(), op.getSource().getType()},
      ValueRange{x, ct}, ValueRange{first, scalarZero(emit, ct)}, window, op.getWindowStridesAttr(),
      DenseI64ArrayAttr(), DenseI64ArrayAttr(), op.getPaddingAttr());
  OpBuilder::InsertionGuard guard(emit.builder);
  Block *body = emit.builder.createBlock(&gathered.getBody(), {}, {scalar, scalar, scalar, scalar},
                                         SmallVector<Location>(4, emit.loc));
  Value keeps =
      emit.compare(choice.getComparisonDirection(), body->getArgument(0), body->getArgument(2));
  Value value = emit.select(keeps, body->getArgument(0), body->getArgument(2));
  Value taken = emit.select(keeps, body->getArgument(1), body->getArgument(3));
  stablehlo::ReturnOp::create(emit.builder, emit.loc, ValueRange{value, taken});
  return gathered.getResult(1);
}

/// No gradient flows to the operand: it only says where the source goes.
static LogicalResult selectAndScatterRule(SelectAndScatterOp op, ArrayRef<Value> cts,
                                          Gradients &g) {
  auto choice = dyn_cast_or_null<CompareOp>(singleOp(op.getSelect()));
  Block &select = op.getSelect().front();
  bool isOrder = choice && choice.getLhs() == select.getArgument(0) &&
                 choice.getComparisonDirection() != ComparisonDirection::EQ &&
                 choice.getComparisonDirection() != ComparisonDirection::NE;
  if (!isOrder || !isa_and_nonnull<AddOp>(singleOp(op.getScatter())))
    return op.emitOpError("has no gradient rule: expected a selection by one comparison of its "
                          "arguments and a scatter by one add");
  Value ct = cts.front();
  g.add(op.getSource(), [&] {
    bool empty = isEmpty(op.getSource()) || isEmpty(ct);
    return empty ? g.emit.zerosLike(op.getSource()) : selectAndGather(g.emit, op, choice, ct);
  });
  g.add(op.getInitValue(), [&] { return sumAll(g.emit, ct); });
  return success();
}

void st::populateWindowRules(GradientRules &rules) {
  rules.addChecked<ReduceWindowOp>(reduceWindowRule);
  rules.addChecked<SelectAndScatterOp>(selectAndScatterRule);
  rules.allowComplex<ReduceWindowOp>();
}
