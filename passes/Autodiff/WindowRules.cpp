//===- WindowRules.cpp - Gradients of windowed reductions and convolution -===//

#include "passes/Autodiff/GradientRules.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

namespace {
/// One dimension that a window slides along: output o reads, through window
/// element k, the place o * stride + k * windowDilation - low of the operand
/// whose elements lie baseDilation apart.
struct WindowDim {
  int64_t size, stride, baseDilation, windowDilation, low, input, output;

  int64_t reach() const { return (size - 1) * windowDilation + 1; }
  static int64_t spread(int64_t count, int64_t dilation) { return (count - 1) * dilation + 1; }
  /// The padding of the cotangent, spread by the stride, under which a window of
  /// the same size that steps by the base dilation leads back to the operand.
  int64_t backLow() const { return reach() - 1 - low; }
  int64_t backHigh() const {
    return spread(input, baseDilation) - 1 + reach() - backLow() - spread(output, stride);
  }
};
} // namespace

static SmallVector<int64_t> listOr(std::optional<ArrayRef<int64_t>> list, int64_t rank,
                                   int64_t value) {
  return list ? SmallVector<int64_t>(*list) : SmallVector<int64_t>(rank, value);
}

static int64_t lowPadding(std::optional<DenseIntElementsAttr> padding, int64_t dim) {
  return padding ? padding->getValues<int64_t>()[{static_cast<uint64_t>(dim), 0}] : 0;
}

static bool isEmpty(Value x) { return Emitter::typeOf(x).getNumElements() == 0; }

/// The first op of a body that applies one op to its two arguments, or null.
static Operation *singleOp(Region &region) {
  Block &body = region.front();
  if (body.getNumArguments() != 2 || !llvm::hasNItems(body, 2))
    return nullptr;
  Operation &inner = body.front();
  bool applies = inner.getNumOperands() == 2 && inner.getNumResults() == 1 &&
                 llvm::is_contained(inner.getOperands(), body.getArgument(0)) &&
                 llvm::is_contained(inner.getOperands(), body.getArgument(1)) &&
                 body.getTerminator()->getOperand(0) == inner.getResult(0);
  return applies ? &inner : nullptr;
}

/// Fills a region with one op of two scalars.
template <typename Make>
static void fillBody(Emitter &emit, Region &region, Type elementType, Make make) {
  OpBuilder::InsertionGuard guard(emit.builder);
  auto scalar = RankedTensorType::get({}, elementType);
  Block *body = emit.builder.createBlock(&region, {}, {scalar, scalar}, {emit.loc, emit.loc});
  Value result = make(body->getArgument(0), body->getArgument(1));
  stablehlo::ReturnOp::create(emit.builder, emit.loc, ValueRange{result});
}

static Value scalarZero(Emitter &emit, Value like) {
  return emit.splat(RankedTensorType::get({}, Emitter::typeOf(like).getElementType()), 0.0);
}

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
  fillBody(emit, sum.getBody(), Emitter::typeOf(ct).getElementType(),
           [&](Value a, Value b) { return emit.add(a, b); });
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
  fillBody(emit, scatter.getScatter(), element, [&](Value a, Value b) { return emit.add(a, b); });
  return scatter.getResult();
}

static LogicalResult reduceWindowRule(ReduceWindowOp op, ArrayRef<Value> cts, Gradients &g) {
  Operation *body = op.getInputs().size() == 1 ? singleOp(op.getBody()) : nullptr;
  Value x = op->getOperand(0), init = op->getOperand(1);
  if (isa_and_nonnull<AddOp>(body) && !g.wants(init)) {
    g.add(x, [&] { return windowSumCotangent(g.emit, op, cts.front()); });
    return success();
  }
  bool isPlain = llvm::all_of(windowDims(op), [](const WindowDim &dim) {
    return dim.baseDilation == 1 && dim.windowDilation == 1;
  });
  if (isa_and_nonnull<MaxOp, MinOp>(body) && !g.wants(init) && isPlain) {
    g.add(x, [&] { return windowExtremumCotangent(g.emit, op, cts.front(), isa<MaxOp>(body)); });
    return success();
  }
  return op.emitOpError("has no gradient rule: expected one operand, a constant initial value and "
                        "a body that is one add, or one maximum or minimum without dilations");
}

//===----------------------------------------------------------------------===//
// convolution
//===----------------------------------------------------------------------===//

namespace {
/// The parts of a convolution that its gradients share.
struct Convolution {
  ConvolutionOp op;
  ConvDimensionNumbersAttr numbers;
  SmallVector<WindowDim> dims;
  SmallVector<bool> reversal;
};
} // namespace

static Convolution analyze(ConvolutionOp op) {
  Convolution conv{op, op.getDimensionNumbers(), {}, {}};
  int64_t rank = conv.numbers.getInputSpatialDimensions().size();
  SmallVector<int64_t> strides = listOr(op.getWindowStrides(), rank, 1);
  SmallVector<int64_t> base = listOr(op.getLhsDilation(), rank, 1);
  SmallVector<int64_t> dilations = listOr(op.getRhsDilation(), rank, 1);
  for (int64_t i = 0; i < rank; ++i) {
    conv.dims.push_back(
        {Emitter::shapeOf(op.getRhs())[conv.numbers.getKernelSpatialDimensions()[i]], strides[i],
         base[i], dilations[i], lowPadding(op.getPadding(), i),
         Emitter::shapeOf(op.getLhs())[conv.numbers.getInputSpatialDimensions()[i]],
         Emitter::shapeOf(op.getResult())[conv.numbers.getOutputSpatialDimensions()[i]]});
    conv.reversal.push_back(op.getWindowReversal() && (*op.getWindowReversal())[i]);
  }
  return conv;
}

/// Emits a convolution; `padding` has low and high of each spatial dimension.
static Value convolve(Emitter &emit, RankedTensorType type, Value lhs, Value rhs,
                      ArrayRef<int64_t> strides, ArrayRef<int64_t> padding, ArrayRef<int64_t> base,
                      ArrayRef<int64_t> dilations, ArrayRef<bool> reversal,
                      ConvDimensionNumbersAttr numbers, int64_t featureGroups, int64_t batchGroups,
                      ArrayAttr precision) {
  OpBuilder &b = emit.builder;
  auto paddingType =
      RankedTensorType::get({static_cast<int64_t>(strides.size()), 2}, b.getI64Type());
  return ConvolutionOp::create(
      b, emit.loc, type, lhs, rhs, b.getDenseI64ArrayAttr(strides),
      DenseIntElementsAttr::get(paddingType, padding), b.getDenseI64ArrayAttr(base),
      b.getDenseI64ArrayAttr(dilations), b.getDenseBoolArrayAttr(reversal), numbers,
      static_cast<uint64_t>(featureGroups), static_cast<uint64_t>(batchGroups), precision);
}

/// Splits dimension `from`, of `groups` times something, and puts the groups
/// before dimension `to`, as its major part.
static Value moveGroups(Emitter &emit, Value x, int64_t groups, int64_t from, int64_t to) {
  if (groups == 1)
    return x;
  SmallVector<int64_t> shape(Emitter::shapeOf(x)), result(shape), permutation;
  result[from] /= groups;
  result[to] *= groups;
  shape[from] /= groups;
  shape.insert(shape.begin() + from, groups);
  for (int64_t dim = 0; dim < static_cast<int64_t>(result.size()); ++dim) {
    if (dim == to)
      permutation.push_back(from);
    permutation.push_back(dim < from ? dim : dim + 1);
  }
  return emit.reshape(emit.transpose(emit.reshape(x, shape), permutation), result);
}

/// The convolution of the cotangent with the kernel, reversed, whose input and
/// output features change places.
static Value inputCotangent(Emitter &emit, const Convolution &conv, Value ct) {
  ConvolutionOp op = conv.op;
  ConvDimensionNumbersAttr n = conv.numbers;
  int64_t featureGroups = op.getFeatureGroupCount(), batchGroups = op.getBatchGroupCount();
  int64_t groups = featureGroups * batchGroups;
  SmallVector<int64_t> strides, padding, base, dilations;
  SmallVector<bool> reversal;
  for (auto [dim, reversed] : llvm::zip_equal(conv.dims, conv.reversal)) {
    strides.push_back(dim.baseDilation);
    llvm::append_values(padding, dim.backLow(), dim.backHigh());
    base.push_back(dim.stride);
    dilations.push_back(dim.windowDilation);
    reversal.push_back(!reversed);
  }
  auto inputType = Emitter::typeOf(op.getLhs());
  Value kernel = emit.convert(op.getRhs(), Emitter::typeOf(ct).getElementType());
  kernel = moveGroups(emit, kernel, groups, n.getKernelOutputFeatureDimension(),
                      n.getKernelInputFeatureDimension());
  // Batch groups come out as major parts of the features.
  SmallVector<int64_t> shape(inputType.getShape());
  shape[n.getInputBatchDimension()] /= batchGroups;
  shape[n.getInputFeatureDimension()] *= batchGroups;
  auto numbers = ConvDimensionNumbersAttr::get(
      op.getContext(), n.getOutputBatchDimension(), n.getOutputFeatureDimension(),
      n.getOutputSpatialDimensions(), n.getKernelOutputFeatureDimension(),
      n.getKernelInputFeatureDimension(), n.getKernelSpatialDimensions(),
      n.getInputBatchDimension(), n.getInputFeatureDimension(), n.getInputSpatialDimensions());
  Value product =
      convolve(emit, RankedTensorType::get(shape, inputType.getElementType()), ct, kernel, strides,
               padding, base, dilations, reversal, numbers, groups, 1, op.getPrecisionConfigAttr());
  return moveGroups(emit, product, batchGroups, n.getInputFeatureDimension(),
                    n.getInputBatchDimension());
}

/// The convolution of the input with the cotangent, batches and features of the
/// input having changed places.
static Value kernelCotangent(Emitter &emit, const Convolution &conv, Value ct) {
  ConvolutionOp op = conv.op;
  ConvDimensionNumbersAttr n = conv.numbers;
  SmallVector<int64_t> strides, padding, base, dilations, reversed;
  for (auto [i, dim] : llvm::enumerate(conv.dims)) {
    strides.push_back(dim.windowDilation);
    int64_t needed = dim.reach() - 1 + WindowDim::spread(dim.output, dim.stride);
    llvm::append_values(padding, dim.low,
                        needed - dim.low - WindowDim::spread(dim.input, dim.baseDilation));
    base.push_back(dim.baseDilation);
    dilations.push_back(dim.stride);
    if (conv.reversal[i])
      reversed.push_back(n.getKernelSpatialDimensions()[i]);
  }
  SmallVector<bool> reversal(conv.dims.size(), false);
  auto numbers = ConvDimensionNumbersAttr::get(
      op.getContext(), n.getInputFeatureDimension(), n.getInputBatchDimension(),
      n.getInputSpatialDimensions(), n.getOutputBatchDimension(), n.getOutputFeatureDimension(),
      n.getOutputSpatialDimensions(), n.getKernelInputFeatureDimension(),
      n.getKernelOutputFeatureDimension(), n.getKernelSpatialDimensions());
  Value input = emit.convert(op.getLhs(), Emitter::typeOf(ct).getElementType());
  Value product = convolve(emit, Emitter::typeOf(op.getRhs()), input, ct, strides, padding, base,
                           dilations, reversal, numbers, op.getBatchGroupCount(),
                           op.getFeatureGroupCount(), op.getPrecisionConfigAttr());
  return reversed.empty() ? product : emit.reverse(product, reversed);
}

static LogicalResult convolutionRule(ConvolutionOp op, ArrayRef<Value> cts, Gradients &g) {
  Value ct = cts.front(), lhs = op.getLhs(), rhs = op.getRhs();
  bool empty = isEmpty(lhs) || isEmpty(rhs) || isEmpty(ct);
  Convolution conv = analyze(op);
  g.add(lhs, [&] { return empty ? g.emit.zerosLike(lhs) : inputCotangent(g.emit, conv, ct); });
  g.add(rhs, [&] { return empty ? g.emit.zerosLike(rhs) : kernelCotangent(g.emit, conv, ct); });
  return success();
}

void st::populateWindowRules(GradientRules &rules) {
  rules.addChecked<ReduceWindowOp>(reduceWindowRule);
  rules.addChecked<ConvolutionOp>(convolutionRule);
}
