// Convolutions and pooling, from slices of the padded operand.

#include "dialects/StableHLO/Utils/Reducers.h"
#include "mlir/IR/Matchers.h"
#include "passes/Kernels/Lowering/LowerTensorOps.h"
#include <numeric>

using namespace mlir;
using namespace mlir::st;
using Direction = stablehlo::ComparisonDirection;

/// The largest number of slices per op.
static constexpr int64_t kMaxSlices = 1024;

static int64_t product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
}

static int64_t at(std::optional<ArrayRef<int64_t>> values, size_t i) {
  return values ? (*values)[i] : 1;
}

/// Low (side 0) or high padding of dimension i.
static int64_t paddingAt(std::optional<DenseIntElementsAttr> padding, size_t i, int side) {
  return padding ? padding->getValues<APInt>()[2 * i + side].getSExtValue() : 0;
}

/// Calls `body` with every index below `sizes`, row-major.
static void forEachIndex(ArrayRef<int64_t> sizes,
                         llvm::function_ref<void(ArrayRef<int64_t>)> body) {
  SmallVector<int64_t> index(sizes.size(), 0);
  for (int64_t left = product(sizes); left > 0; --left) {
    body(index);
    for (size_t dim = sizes.size(); dim-- > 0 && ++index[dim] == sizes[dim];)
      index[dim] = 0;
  }
}

static Value zeroLike(Emitter &emit, Value x) {
  return emit.splat(RankedTensorType::get({}, Emitter::typeOf(x).getElementType()), 0);
}

// ---- convolution --------------------------------------------------------------------------------

namespace {
/// A convolution as one product of stacked slices, one per window position; or as one product per
/// result if there are fewer results than positions.
class ConvolutionLowering {
public:
  ConvolutionLowering(Emitter &emit, stablehlo::ConvolutionOp op)
      : emit(emit), op(op), numbers(op.getDimensionNumbers()),
        inputSpatial(numbers.getInputSpatialDimensions()),
        kernelSpatial(numbers.getKernelSpatialDimensions()),
        outputSpatial(numbers.getOutputSpatialDimensions()) {}

  Value run();

private:
  Emitter &emit;
  stablehlo::ConvolutionOp op;
  stablehlo::ConvDimensionNumbersAttr numbers;
  ArrayRef<int64_t> inputSpatial, kernelSpatial, outputSpatial;
  Value input, kernel; ///< padded and dilated; reversed
  SmallVector<int64_t> window, places;

  void prepare();
  Value stackWindows();
  Value slicePlace(ArrayRef<int64_t> place);
  Value multiply(Value slices, bool areStacked);
};
} // namespace

void ConvolutionLowering::prepare() {
  input = op.getLhs();
  kernel = op.getRhs();
  size_t rank = Emitter::typeOf(input).getRank();
  SmallVector<int64_t> low(rank, 0), high(rank, 0), interior(rank, 0), reversed;
  for (size_t i = 0; i < inputSpatial.size(); ++i) {
    low[inputSpatial[i]] = paddingAt(op.getPadding(), i, 0);
    high[inputSpatial[i]] = paddingAt(op.getPadding(), i, 1);
    interior[inputSpatial[i]] = at(op.getLhsDilation(), i) - 1;
    if (op.getWindowReversal() && (*op.getWindowReversal())[i])
      reversed.push_back(kernelSpatial[i]);
    window.push_back(Emitter::shapeOf(kernel)[kernelSpatial[i]]);
    places.push_back(Emitter::shapeOf(op.getResult())[outputSpatial[i]]);
  }
  input = emit.pad(input, zeroLike(emit, input), low, high, interior);
  if (!reversed.empty())
    kernel = emit.reverse(kernel, reversed);
}

/// [window..., dimensions of the input, with the result's spatial sizes].
Value ConvolutionLowering::stackWindows() {
  SmallVector<Value> slices;
  SmallVector<int64_t> sliceShape;
  forEachIndex(window, [&](ArrayRef<int64_t> position) {
    SmallVector<int64_t> starts(Emitter::typeOf(input).getRank(), 0),
        limits(Emitter::shapeOf(input)), strides(starts.size(), 1);
    for (size_t i = 0; i < inputSpatial.size(); ++i) {
      int64_t dim = inputSpatial[i];
      starts[dim] = position[i] * at(op.getRhsDilation(), i);
      strides[dim] = at(op.getWindowStrides(), i);
      limits[dim] = starts[dim] + (places[i] - 1) * strides[dim] + 1;
    }
    Value slice = emit.slice(input, starts, limits, strides);
    sliceShape.assign(Emitter::shapeOf(slice).begin(), Emitter::shapeOf(slice).end());
    SmallVector<int64_t> shape = {1};
    llvm::append_range(shape, sliceShape);
    slices.push_back(emit.reshape(slice, shape));
  });
  SmallVector<int64_t> shape(window);
  llvm::append_range(shape, sliceShape);
  return emit.reshape(slices.size() == 1 ? slices[0] : emit.concatenate(slices, 0), shape);
}

/// The input under the window at one place, with the window's spatial sizes.
Value ConvolutionLowering::slicePlace(ArrayRef<int64_t> place) {
  SmallVector<int64_t> starts(Emitter::typeOf(input).getRank(), 0), limits(Emitter::shapeOf(input)),
      strides(starts.size(), 1);
  for (size_t i = 0; i < inputSpatial.size(); ++i) {
    int64_t dim = inputSpatial[i];
    starts[dim] = place[i] * at(op.getWindowStrides(), i);
    strides[dim] = at(op.getRhsDilation(), i);
    limits[dim] = starts[dim] + (window[i] - 1) * strides[dim] + 1;
  }
  return emit.slice(input, starts, limits, strides);
}

/// Contracts window and features, with one product per group. `slices` has the input's dimensions,
/// preceded by those of the window if they are stacked. Returns [batch, places..., features] of all
/// groups, without places if they are not stacked.
Value ConvolutionLowering::multiply(Value slices, bool areStacked) {
  int64_t spatial = window.size(), lead = areStacked ? spatial : 0;
  int64_t groups = op.getFeatureGroupCount() * op.getBatchGroupCount();
  bool splitsBatch = op.getBatchGroupCount() > 1;
  int64_t batch = numbers.getInputBatchDimension(), feature = numbers.getInputFeatureDimension();
  // The group dimension comes before the dimension that the groups split.
  int64_t split = splitsBatch ? batch : feature;
  auto moved = [&](int64_t dim) { return lead + dim + (dim >= split ? 1 : 0); };
  SmallVector<int64_t> shape(Emitter::shapeOf(slices));
  shape[lead + split] /= groups;
  shape.insert(shape.begin() + lead + split, groups);
  Value lhs = emit.reshape(slices, shape);

  int64_t out = numbers.getKernelOutputFeatureDimension(),
          in = numbers.getKernelInputFeatureDimension();
  SmallVector<int64_t> kernelShape(Emitter::shapeOf(kernel));
  kernelShape[out] /= groups;
  kernelShape.insert(kernelShape.begin() + out, groups);
  Value rhs = emit.reshape(kernel, kernelShape);
  auto kernelMoved = [&](int64_t dim) { return dim + (dim >= out ? 1 : 0); };

  DotDims dims;
  dims.lhsBatch = {lead + split};
  dims.rhsBatch = {out};
  dims.lhsContract = {moved(feature)};
  dims.rhsContract = {kernelMoved(in)};
  for (int64_t i = 0; i < spatial; ++i) {
    dims.lhsContract.push_back(areStacked ? i : moved(inputSpatial[i]));
    dims.rhsContract.push_back(kernelMoved(kernelSpatial[i]));
  }
  SmallVector<int64_t> free = remainingDims(shape.size(), dims.lhsBatch, dims.lhsContract);
  Value result = emit.dot(lhs, rhs, dims, op.getPrecisionConfigAttr(),
                          Emitter::typeOf(op.getResult()).getElementType());
  // [groups, free dimensions of the input, features of a group]
  auto find = [&](int64_t dim) { return 1 + (llvm::find(free, dim) - free.begin()); };
  SmallVector<int64_t> order = {find(moved(batch))};
  for (int64_t i = 0; areStacked && i < spatial; ++i)
    order.push_back(find(moved(inputSpatial[i])));
  order.push_back(0);
  order.push_back(static_cast<int64_t>(free.size()) + 1);
  result = emit.transpose(result, order);
  SmallVector<int64_t> merged(Emitter::shapeOf(result));
  merged.pop_back();
  merged.back() *= kernelShape[out + 1];
  return emit.reshape(result, merged);
}

Value ConvolutionLowering::run() {
  prepare();
  SmallVector<int64_t> shape = {
      Emitter::shapeOf(op.getResult())[numbers.getOutputBatchDimension()]};
  llvm::append_range(shape, places);
  shape.push_back(Emitter::shapeOf(op.getResult())[numbers.getOutputFeatureDimension()]);
  Value result; // [batch, places..., features]
  if (product(window) <= product(places)) {
    result = multiply(stackWindows(), /*areStacked=*/true);
  } else {
    SmallVector<Value> all;
    forEachIndex(places, [&](ArrayRef<int64_t> place) {
      all.push_back(emit.reshape(multiply(slicePlace(place), /*areStacked=*/false),
                                 {shape.front(), 1, shape.back()}));
    });
    result = emit.reshape(all.size() == 1 ? all[0] : emit.concatenate(all, 1), shape);
  }
  SmallVector<int64_t> order(shape.size());
  order[numbers.getOutputBatchDimension()] = 0;
  order[numbers.getOutputFeatureDimension()] = static_cast<int64_t>(shape.size()) - 1;
  for (auto [i, dim] : llvm::enumerate(outputSpatial))
    order[dim] = static_cast<int64_t>(i) + 1;
  return emit.transpose(result, order);
}

Replacement mlir::st::lowerConvolution(Emitter &emit, stablehlo::ConvolutionOp op) {
  auto numbers = op.getDimensionNumbers();
  int64_t window = 1, places = 1;
  for (int64_t dim : numbers.getKernelSpatialDimensions())
    window *= Emitter::shapeOf(op.getRhs())[dim];
  for (int64_t dim : numbers.getOutputSpatialDimensions())
    places *= Emitter::shapeOf(op.getResult())[dim];
  bool isEmpty = Emitter::typeOf(op.getLhs()).getNumElements() == 0 ||
                 Emitter::typeOf(op.getRhs()).getNumElements() == 0 ||
                 Emitter::typeOf(op.getResult()).getNumElements() == 0;
  if (isEmpty)
    return SmallVector<Value>{emit.zerosLike(op.getResult())};
  if (std::min(window, places) > kMaxSlices ||
      isa<ComplexType>(Emitter::typeOf(op.getLhs()).getElementType()))
    return std::nullopt;
  return SmallVector<Value>{ConvolutionLowering(emit, op).run()};
}

// ---- reduce_window ------------------------------------------------------------------------------

/// Combines `size` elements that are `dilation` apart along `dim`, for each result: spans of 2^k
/// are built from spans of half the length and then combined to `size`.
static std::optional<SmallVector<Value>> combineAlong(Emitter &emit, Region &body,
                                                      SmallVector<Value> spans, int64_t dim,
                                                      int64_t size, int64_t dilation,
                                                      int64_t stride, int64_t results) {
  SmallVector<Value> total;
  auto take = [&](ArrayRef<Value> from, int64_t start, int64_t count, int64_t step) {
    return llvm::map_to_vector(from, [&](Value value) {
      SmallVector<int64_t> starts(Emitter::typeOf(value).getRank(), 0),
          limits(Emitter::shapeOf(value)), strides(starts.size(), 1);
      starts[dim] = start;
      strides[dim] = step;
      limits[dim] = start + (count - 1) * step + 1;
      return emit.slice(value, starts, limits, strides);
    });
  };
  auto combine = [&](ArrayRef<Value> a, ArrayRef<Value> b) {
    SmallVector<Value> arguments(a);
    llvm::append_range(arguments, b);
    return applyToElements(emit, body, arguments);
  };
  int64_t offset = 0;
  for (int64_t span = 1; span <= size; span *= 2) {
    if (size & span) {
      SmallVector<Value> piece = take(spans, offset, results, stride);
      if (!total.empty()) {
        auto sum = combine(total, piece);
        if (!sum)
          return std::nullopt;
        piece = *sum;
      }
      total = piece;
      offset += span * dilation;
    }
    if (2 * span > size)
      break;
    int64_t length = Emitter::shapeOf(spans.front())[dim] - span * dilation;
    auto longer = combine(take(spans, 0, length, 1), take(spans, span * dilation, length, 1));
    if (!longer)
      return std::nullopt;
    spans = *longer;
  }
  return total;
}

Replacement mlir::st::lowerReduceWindow(Emitter &emit, stablehlo::ReduceWindowOp op) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(op.getInputs().front());
  ArrayRef<int64_t> resultShape = Emitter::shapeOf(op.getResult(0));
  SmallVector<Value> values;
  SmallVector<int64_t> low, high, interior;
  for (size_t i = 0; i < shape.size(); ++i) {
    low.push_back(paddingAt(op.getPadding(), i, 0));
    high.push_back(paddingAt(op.getPadding(), i, 1));
    interior.push_back(at(op.getBaseDilations(), i) - 1);
  }
  bool areIdentities = true;
  for (auto [input, init] : llvm::zip_equal(op.getInputs(), op.getInitValues())) {
    if (isa<ComplexType>(Emitter::typeOf(input).getElementType()))
      return std::nullopt;
    values.push_back(emit.pad(input, init, low, high, interior));
    areIdentities &= op.getInputs().size() == 1 && isNeutral(op.getBody(), init);
  }
  auto broadcastInits = [&] {
    return llvm::map_to_vector(op.getInitValues(),
                               [&](Value init) { return emit.broadcast(init, {}, resultShape); });
  };
  if (llvm::is_contained(resultShape, 0))
    return broadcastInits();
  // Combining rows first keeps the order of a window's elements.
  auto dims = llvm::to_vector(llvm::seq<size_t>(0, shape.size()));
  if (!isCommutative(op.getBody()))
    std::reverse(dims.begin(), dims.end());
  for (size_t dim : dims) {
    int64_t size = op.getWindowDimensions()[dim], stride = at(op.getWindowStrides(), dim);
    if (size == 1 && stride == 1)
      continue;
    auto combined = combineAlong(emit, op.getBody(), values, dim, size,
                                 at(op.getWindowDilations(), dim), stride, resultShape[dim]);
    if (!combined)
      return std::nullopt;
    values = *combined;
  }
  if (areIdentities)
    return values;
  SmallVector<Value> arguments = broadcastInits();
  llvm::append_range(arguments, values);
  return applyToElements(emit, op.getBody(), arguments);
}

// ---- select_and_scatter -------------------------------------------------------------------------

namespace {
/// Every window selects one of its positions; then each position adds its contributions to the
/// operand's places.
class PoolGradient {
public:
  PoolGradient(Emitter &emit, stablehlo::SelectAndScatterOp op) : emit(emit), op(op) {
    size_t rank = Emitter::typeOf(op.getOperand()).getRank();
    for (size_t i = 0; i < rank; ++i) {
      window.push_back(at(op.getWindowDimensions(), i));
      strides.push_back(at(op.getWindowStrides(), i));
      low.push_back(paddingAt(op.getPadding(), i, 0));
      high.push_back(paddingAt(op.getPadding(), i, 1));
    }
  }
  std::optional<Value> run();

private:
  Emitter &emit;
  stablehlo::SelectAndScatterOp op;
  SmallVector<int64_t> window, strides, low, high;

  Value slice(Value padded, ArrayRef<int64_t> position);
  std::optional<Value> pick();
  Value spread(Value source, ArrayRef<int64_t> position);
};
} // namespace

Value PoolGradient::slice(Value padded, ArrayRef<int64_t> position) {
  ArrayRef<int64_t> places = Emitter::shapeOf(op.getSource());
  SmallVector<int64_t> limits;
  for (size_t i = 0; i < window.size(); ++i)
    limits.push_back(position[i] + (places[i] - 1) * strides[i] + 1);
  return emit.slice(padded, position, limits, strides);
}

/// The number of the position that each window selects.
std::optional<Value> PoolGradient::pick() {
  SmallVector<int64_t> none(window.size(), 0);
  Value operand = op.getOperand();
  Value padded = emit.pad(operand, zeroLike(emit, operand), low, high, none);
  Type i1 = emit.builder.getI1Type(), i32 = emit.builder.getI32Type();
  auto truth = RankedTensorType::get(Emitter::shapeOf(operand), i1);
  Value inside =
      emit.pad(emit.splat(truth, 1), emit.splat(RankedTensorType::get({}, i1), 0), low, high, none);
  Value best, chosen, found;
  int64_t number = 0;
  bool isPlain = true;
  forEachIndex(window, [&](ArrayRef<int64_t> position) {
    Value value = slice(padded, position), exists = slice(inside, position);
    auto type = RankedTensorType::get(Emitter::shapeOf(value), i32);
    Value mine = emit.splat(type, static_cast<double>(number++));
    if (!best) {
      best = value, chosen = mine, found = exists;
      return;
    }
    auto stays = applyToElements(emit, op.getSelect(), {best, value});
    if (!stays) {
      isPlain = false;
      return;
    }
    Value one = emit.splatLike(exists, 1);
    Value loses = emit.bitAnd(found, (*stays)[0]);
    Value wins = emit.bitAnd(exists, emit.bitXor(loses, one));
    best = emit.select(wins, value, best);
    chosen = emit.select(wins, mine, chosen);
    found = emit.bitOr(found, exists);
  });
  return isPlain ? std::optional<Value>(chosen) : std::nullopt;
}

/// Places one value per window at that window's position in the operand; zeros elsewhere.
Value PoolGradient::spread(Value source, ArrayRef<int64_t> position) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(op.getOperand()), places = Emitter::shapeOf(source);
  SmallVector<int64_t> before, after, interior;
  for (size_t i = 0; i < window.size(); ++i) {
    before.push_back(position[i] - low[i]);
    interior.push_back(strides[i] - 1);
    after.push_back(shape[i] - before[i] - ((places[i] - 1) * strides[i] + 1));
  }
  return emit.pad(source, zeroLike(emit, source), before, after, interior);
}

std::optional<Value> PoolGradient::run() {
  std::optional<Value> chosen = pick();
  if (!chosen)
    return std::nullopt;
  Value source = op.getSource(),
        result = emit.broadcast(op.getInitValue(), {}, Emitter::shapeOf(op.getOperand()));
  int64_t number = 0;
  bool isPlain = true;
  forEachIndex(window, [&](ArrayRef<int64_t> position) {
    Value picked = emit.compare(Direction::EQ, *chosen,
                                emit.splatLike(*chosen, static_cast<double>(number++)));
    Value added = spread(source, position), where = spread(picked, position);
    auto sum = applyToElements(emit, op.getScatter(), {result, added});
    isPlain &= sum.has_value();
    if (sum)
      result = emit.select(where, (*sum)[0], result);
  });
  return isPlain ? std::optional<Value>(result) : std::nullopt;
}

Replacement mlir::st::lowerSelectAndScatter(Emitter &emit, stablehlo::SelectAndScatterOp op) {
  RankedTensorType operand = Emitter::typeOf(op.getOperand()),
                   source = Emitter::typeOf(op.getSource());
  if (isa<ComplexType>(operand.getElementType()))
    return std::nullopt;
  if (operand.getNumElements() == 0 || source.getNumElements() == 0)
    return SmallVector<Value>{emit.broadcast(op.getInitValue(), {}, operand.getShape())};
  if (op.getWindowDimensions() && product(*op.getWindowDimensions()) > kMaxSlices)
    return std::nullopt;
  std::optional<Value> result = PoolGradient(emit, op).run();
  return result ? Replacement(SmallVector<Value>{*result}) : std::nullopt;
}
