//===- WindowRules.cpp - Gradients of windowed reductions -----------------===//

#include "mlir/IR/Matchers.h"
#include "passes/Autodiff/Computations.h"
#include "passes/Autodiff/ReverseMode.h"
#include "passes/Autodiff/Rules/RuleUtils.h"
#include "passes/Autodiff/Rules/WindowDim.h"

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
  // The padding between elements is never the first extremum, unless there is no other.
  SmallVector<int64_t> zeros(Emitter::typeOf(x).getRank(), 0), interior;
  for (const WindowDim &dim : windowDims(op))
    interior.push_back(dim.baseDilation - 1);
  Value spread = x;
  if (llvm::any_of(interior, [](int64_t between) { return between != 0; }))
    spread = emit.pad(x, op.getInitValues().front(), zeros, zeros, interior);
  auto scatter = SelectAndScatterOp::create(emit.builder, emit.loc, spread.getType(), spread, ct,
                                            scalarZero(emit, ct), op.getWindowDimensionsAttr(),
                                            op.getWindowStridesAttr(), op.getPaddingAttr());
  Type element = Emitter::typeOf(x).getElementType();
  auto direction = isMax ? ComparisonDirection::GE : ComparisonDirection::LE;
  fillBody(emit, scatter.getSelect(), element,
           [&](Value a, Value b) { return emit.compare(direction, a, b); });
  fillWithSum(emit, scatter.getScatter(), element);
  Value result = scatter.getResult();
  return spread == x ? result : unpadded(emit, spread.getDefiningOp<PadOp>(), result);
}

namespace {
/// The elements that windows read, gathered from the padded operand, with one dimension for the
/// output and one for the window.
struct Patches {
  Value padded, flat, places, elements;
};
} // namespace

static Patches gatherPatches(Emitter &emit, ReduceWindowOp op, Value x, Value init) {
  SmallVector<WindowDim> dims = windowDims(op);
  SmallVector<int64_t> low, high, interior, shape(Emitter::shapeOf(op.getResult(0)));
  llvm::append_range(shape, op.getWindowDimensions());
  for (auto [i, dim] : llvm::enumerate(dims)) {
    low.push_back(dim.low);
    high.push_back(highPadding(op.getPadding(), i));
    interior.push_back(dim.baseDilation - 1);
  }
  Value padded = emit.pad(x, init, low, high, interior);
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
  Patches patches = gatherPatches(emit, op, x, op.getInitValues().front());
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
  Value padded = emit.reshape(scatter.getResult(0), Emitter::shapeOf(patches.padded));
  return patches.padded == x ? padded
                             : unpadded(emit, patches.padded.getDefiningOp<PadOp>(), padded);
}

/// The dimension along which window i holds the elements up to i (or, in reverse, from i on), as in
/// JAX's cumsum and similar functions.
static std::optional<std::pair<int64_t, bool>> cumulativeDim(ReduceWindowOp op) {
  std::optional<std::pair<int64_t, bool>> found;
  for (auto [i, dim] : llvm::enumerate(windowDims(op))) {
    if (dim.stride != 1 || dim.baseDilation != 1 || dim.output != dim.input)
      return std::nullopt;
    if (dim.size == 1 && dim.low == 0)
      continue;
    bool isReverse = dim.low == 0;
    bool coversInput = dim.size == dim.input && dim.windowDilation == 1;
    if (found || !coversInput || (!isReverse && dim.low != dim.size - 1))
      return std::nullopt;
    found = {static_cast<int64_t>(i), isReverse};
  }
  return found;
}

/// Returns true if combining with the initial value changes nothing.
static bool isIdentity(Operation *body, Value init) {
  DenseFPElementsAttr constant;
  if (!isa_and_nonnull<MaxOp, MinOp, MulOp>(body) || !matchPattern(init, m_Constant(&constant)))
    return false;
  APFloat value = constant.getSplatValue<APFloat>();
  return isa<MulOp>(body) ? value.isExactlyValue(1.0)
                          : value.isInfinity() && value.isNegative() == isa<MaxOp>(body);
}

/// The windows' elements combined in their order, and their result with the initial values.
static SmallVector<Value> expandWindows(Emitter &emit, ReduceWindowOp op) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(op.getResult(0));
  SmallVector<Value> inits, xs;
  for (auto [x, init] : llvm::zip_equal(op.getInputs(), op.getInitValues())) {
    inits.push_back(emit.broadcast(init, {}, shape));
    xs.push_back(emit.convert(x, Emitter::typeOf(init).getElementType()));
  }
  if (auto dim = cumulativeDim(op)) {
    xs = scanAlong(emit, op.getBody(), xs, dim->first, dim->second);
  } else {
    SmallVector<int64_t> windows(shape);
    windows.push_back(ShapedType::getNumElements(op.getWindowDimensions()));
    for (auto [x, init] : llvm::zip_equal(xs, op.getInitValues()))
      x = emit.reshape(gatherPatches(emit, op, x, init).elements, windows);
    for (Value &x : xs = foldAlong(emit, op.getBody(), xs, shape.size()))
      x = emit.reshape(x, shape);
  }
  if (xs.size() == 1 && isIdentity(singleOp(op.getBody()), op.getInitValues().front()))
    return xs;
  SmallVector<Value> arguments(inits);
  llvm::append_range(arguments, xs);
  return applyElementwise(emit, op.getBody(), arguments, shape);
}

static LogicalResult reduceWindowRule(ReduceWindowOp op, ArrayRef<Value> cts, Gradients &g) {
  Operation *body = op.getInputs().size() == 1 ? singleOp(op.getBody()) : nullptr;
  Value x = op->getOperand(0), init = op->getOperand(1), ct = cts.front();
  if (isa_and_nonnull<AddOp>(body) && !g.isNeeded(init)) {
    g.add(x, [&] { return windowSumCotangent(g.emit, op, ct); });
    return success();
  }
  bool isIdentityInit = isIdentity(body, init), isCumulative = cumulativeDim(op).has_value();
  if (isa_and_nonnull<MulOp>(body) && !g.isNeeded(init) && !isCumulative) {
    g.add(x, [&] { return windowProductCotangent(g.emit, op, ct); });
    return success();
  }
  bool isDilated =
      llvm::any_of(windowDims(op), [](const WindowDim &dim) { return dim.windowDilation != 1; });
  if (isa_and_nonnull<MaxOp, MinOp>(body) && isIdentityInit && !isDilated && !isCumulative) {
    g.add(x, [&] { return windowExtremumCotangent(g.emit, op, ct, isa<MaxOp>(body)); });
    return success();
  }
  if (!isElementwise(op.getBody()))
    return op.emitOpError("has no gradient rule: expected a computation of elementwise ops");
  // Windows that do not exist, or that hold no operand elements, pass no gradient.
  if (isEmpty(op.getResult(0)) || (isEmpty(x) && !g.isNeeded(init)))
    return success();
  return g.mode.expand(op, cts, g, [&](Emitter &emit) { return expandWindows(emit, op); });
}

//===----------------------------------------------------------------------===//
// select_and_scatter
//===----------------------------------------------------------------------===//

/// Reads from `ct` the element that each window of the operand selected, by reducing a window of
/// both with the same selection. Padding is never selected.
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

/// No gradient flows to the operand: it only selects the positions of the source's elements.
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
