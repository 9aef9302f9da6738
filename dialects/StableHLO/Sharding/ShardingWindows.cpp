//===- ShardingWindows.cpp - Factor rules of convolutions and pooling -----===//
//
// Adjacent windows, as in patch embeddings and most pooling, are independent of each other. If
// windows overlap or extend into padding, a device receives the elements next to its part from its
// neighbours (a halo), provided that input and output divide in the same way: each part has an
// integral number of strides. The gradient of a kernel is a convolution whose window is as large as
// its input; its positions are summed over, and their parts need the same halos. Scatters of
// overlapping windows, and valid convolutions, whose output is smaller than their input by less
// than a stride, replicate the dimension.
//
//===----------------------------------------------------------------------===//

#include "dialects/StableHLO/Sharding/ShardingRules.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Verification/VerifierUtils.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::stablehlo::sharding;
using st::ShardingRuleOpInterface;

namespace {

/// The factors of a dimension along which windows move.
struct WindowedDim {
  SmallVector<int64_t, 2> input, output, within; ///< within: of the window
  /// The factor that splits overlapping windows, -1 if none: it numbers the windows or, if these
  /// are summed over, the positions in a window.
  int64_t overlapping = -1;
};

/// The kinds of splits of a windowed dimension that an op supports.
enum class Overlap { None, OfWindows, OfWindowsOrWithin };

/// Number of elements before and after a part that its windows read.
struct Reach {
  int64_t before = 0, behind = 0;
};

/// The reach of windows from `low` positions of the dilated input before a part to position `end`
/// after it, counted from 0.
Reach reachOf(const Window &window, int64_t end) {
  Reach reach;
  reach.before = std::max<int64_t>(0, llvm::divideCeilSigned(window.low, window.baseDilation));
  reach.behind = end >= 0 ? end / window.baseDilation + 1 : 0;
  return reach;
}

/// For windows split into parts: the last one of a part begins a stride before the part's end.
Reach reachOfWindows(const Window &window) {
  return reachOf(window, (window.size - 1) * window.dilation - window.stride - window.low);
}

/// For positions in a window split into parts: the last window begins `(count - 1) * stride` later.
Reach reachWithin(const Window &window, int64_t count) {
  return reachOf(window, (count - 1) * window.stride - window.low - window.dilation);
}

/// Gives two dimensions, one `times` as large as the other, the smaller size as a common first
/// factor.
int64_t addCommonFactor(ShardingRule &rule, int64_t size, FactorKind kind, int64_t aTimes,
                        SmallVectorImpl<int64_t> &a, int64_t bTimes, SmallVectorImpl<int64_t> &b) {
  int64_t factor = rule.addFactor(size, kind);
  for (auto [dim, times] : {std::pair(&a, aTimes), std::pair(&b, bTimes)}) {
    dim->push_back(factor);
    if (times > 1)
      dim->push_back(rule.addFactor(times, FactorKind::NeedReplication));
  }
  return factor;
}

WindowedDim addWindowedDim(ShardingRule &rule, int64_t inputSize, int64_t outputSize,
                           const Window &window, Overlap overlap) {
  WindowedDim dim;
  int64_t places = inputSize * window.baseDilation;
  auto fits = [&](int64_t size, int64_t stride) {
    return size > 1 && inputSize > 1 && places == size * stride &&
           (window.baseDilation == 1 || stride == 1);
  };
  auto mark = [&](int64_t factor, const Reach &reach, int64_t times) {
    dim.overlapping = factor;
    int64_t maximum = std::max(reach.before, reach.behind);
    rule.factors[factor].minPartSize = std::max<int64_t>(1, llvm::divideCeil(maximum, times));
  };
  bool areSideBySide = window.stride == window.size && window.baseDilation == 1 &&
                       window.dilation == 1 && window.low == 0 && window.high == 0 &&
                       inputSize == outputSize * window.size;
  if (areSideBySide) {
    if (outputSize != 1)
      dim.output = {rule.addFactor(outputSize)};
    if (window.size != 1)
      dim.within = {rule.addFactor(window.size, FactorKind::NeedReplication)};
    llvm::append_range(dim.input, dim.output);
    llvm::append_range(dim.input, dim.within);
    return dim;
  }
  if (overlap != Overlap::None && fits(outputSize, window.stride)) {
    int64_t factor = addCommonFactor(rule, std::min(inputSize, outputSize), FactorKind::Parallel,
                                     window.stride, dim.input, window.baseDilation, dim.output);
    mark(factor, reachOfWindows(window), window.stride);
    if (window.size != 1)
      dim.within = {rule.addFactor(window.size, FactorKind::NeedReplication)};
    return dim;
  }
  if (overlap == Overlap::OfWindowsOrWithin && fits(window.size, window.dilation)) {
    int64_t factor = addCommonFactor(rule, std::min(inputSize, window.size), FactorKind::Reduction,
                                     window.dilation, dim.input, window.baseDilation, dim.within);
    mark(factor, reachWithin(window, outputSize), window.dilation);
    if (outputSize != 1)
      dim.output = {rule.addFactor(outputSize, FactorKind::NeedReplication)};
    return dim;
  }
  auto addUnsplit = [&](int64_t size, SmallVectorImpl<int64_t> &factors) {
    if (size != 1)
      factors.push_back(rule.addFactor(size, FactorKind::NeedReplication));
  };
  addUnsplit(window.size, dim.within);
  addUnsplit(outputSize, dim.output);
  if (inputSize == outputSize)
    dim.input = dim.output;
  else
    addUnsplit(inputSize, dim.input);
  return dim;
}

void attachAll(TensorFactors &tensor, int64_t dim, ArrayRef<int64_t> factors) {
  for (int64_t factor : factors)
    attach(tensor, dim, factor);
}

//===----------------------------------------------------------------------===//
// Parts of overlapping windows
//===----------------------------------------------------------------------===//

int64_t sizeOf(const ShardingRule &rule, ArrayRef<int64_t> factors) {
  int64_t size = 1;
  for (int64_t factor : factors)
    size *= rule.factors[factor].size;
  return size;
}

/// Returns true if the windows along a dimension overlap between devices.
bool isSplit(const LocalizeContext &context, ArrayRef<int64_t> input) {
  return !input.empty() && context.rule.factors[input.front()].minPartSize > 0 &&
         context.factorShards[input.front()] > 1;
}

/// Extends a device's part of the input by its halos; returns the window that computes `count`
/// windows of `size` positions from it.
Window localWindow(LocalizeContext &context, OpOperand &input, int64_t dim, Window window,
                   int64_t size, int64_t count, Value fill) {
  int64_t factor = context.rule.operands[input.getOperandNumber()][dim].front();
  bool isSummed = context.rule.factors[factor].kind == FactorKind::Reduction;
  Reach reach = isSummed ? reachWithin(window, count) : reachOfWindows(window);
  input.set(context.withNeighbours(input.get(), dim, factor, reach.before, reach.behind, fill));
  int64_t places = (shapeOf(input.get())[dim] - 1) * window.baseDilation + 1;
  window.size = size;
  window.low -= reach.before * window.baseDilation;
  window.high =
      (count - 1) * window.stride + (size - 1) * window.dilation + 1 - places - window.low;
  return window;
}

DenseIntElementsAttr paddingOf(OpBuilder &builder, ArrayRef<Window> windows) {
  SmallVector<int64_t> padding;
  for (const Window &window : windows)
    padding.append({window.low, window.high});
  auto type =
      RankedTensorType::get({static_cast<int64_t>(windows.size()), 2}, builder.getI64Type());
  return DenseIntElementsAttr::get(type, padding);
}

//===----------------------------------------------------------------------===//
// convolution
//===----------------------------------------------------------------------===//

/// The batch and the output features are parallel; the input features are summed. Groups are a
/// parallel factor that is major in the dimensions that they split: both feature dimensions, or the
/// batch and the output features.
struct ConvolutionRule : ShardingRuleOpInterface::ExternalModel<ConvolutionRule, ConvolutionOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto convolution = cast<ConvolutionOp>(op);
    ConvDimensionNumbersAttr dims = convolution.getDimensionNumbers();
    ShardingRule rule = emptyRule(op);
    TensorFactors &lhs = rule.operands[0], &rhs = rule.operands[1], &result = rule.results[0];
    ArrayRef<int64_t> rhsShape = shapeOf(convolution.getRhs()), shape = shapeOf(convolution);
    // A convolution of i1 is not a sum.
    bool isNumber = !getElementTypeOrSelf(convolution.getType()).isInteger(1);
    auto add = [&](int64_t size, FactorKind kind = FactorKind::Parallel) {
      return size == 1 ? -1 : rule.addFactor(size, kind);
    };

    int64_t batchGroups = convolution.getBatchGroupCount(), groups = groupsOf(convolution);
    int64_t outputs = rhsShape[dims.getKernelOutputFeatureDimension()];
    int64_t group = add(groups), output = add(outputs / groups);
    if (group >= 0)
      rule.factors[group].isCounted = true;
    int64_t batch = add(shape[dims.getOutputBatchDimension()]);
    int64_t input = add(rhsShape[dims.getKernelInputFeatureDimension()],
                        isNumber ? FactorKind::Reduction : FactorKind::NeedReplication);
    attach(lhs, batchGroups > 1 ? dims.getInputBatchDimension() : dims.getInputFeatureDimension(),
           group);
    attach(lhs, dims.getInputBatchDimension(), batch);
    attach(lhs, dims.getInputFeatureDimension(), input);
    attach(rhs, dims.getKernelInputFeatureDimension(), input);
    attachAll(rhs, dims.getKernelOutputFeatureDimension(), {group, output});
    attach(result, dims.getOutputBatchDimension(), batch);
    attachAll(result, dims.getOutputFeatureDimension(), {group, output});
    addSpatial(convolution, isNumber, rule);
    if (isNumber)
      rule.setLinear(Linearity::Separately, {0, 1});
    return rule;
  }

  LogicalResult localize(Operation *op, LocalizeContext &context) const {
    auto convolution = cast<ConvolutionOp>(op);
    if (int64_t groups = groupsOf(convolution); groups > 1) {
      int64_t outputDim = convolution.getDimensionNumbers().getOutputFeatureDimension();
      groups /= context.factorShards[context.rule.results[0][outputDim][0]];
      if (convolution.getBatchGroupCount() > 1)
        convolution.setBatchGroupCount(groups);
      else
        convolution.setFeatureGroupCount(groups);
    }
    exchange(convolution, context);
    return st::localizeByTypes(op, context);
  }

private:
  /// Exchanges the halos of parts, and adapts the padding.
  static void exchange(ConvolutionOp op, LocalizeContext &context) {
    ConvDimensionNumbersAttr dims = op.getDimensionNumbers();
    const TensorFactors &lhs = context.rule.operands[0], &rhs = context.rule.operands[1];
    SmallVector<int64_t> kernel(rhs.size());
    for (auto [dim, factors] : llvm::enumerate(rhs))
      kernel[dim] = sizeOf(context.rule, factors);
    SmallVector<Window> windows = windowsOf(op, kernel);
    bool any = false;
    for (auto [window, lhsDim, rhsDim, resultDim] :
         llvm::zip_equal(windows, dims.getInputSpatialDimensions(),
                         dims.getKernelSpatialDimensions(), dims.getOutputSpatialDimensions()))
      if (isSplit(context, lhs[lhsDim])) {
        any = true;
        int64_t count = cast<RankedTensorType>(context.resultTypes[0]).getDimSize(resultDim);
        window = localWindow(context, op.getLhsMutable(), lhsDim, window,
                             shapeOf(op.getRhs())[rhsDim], count, /*fill=*/nullptr);
      }
    if (any)
      op.setPaddingAttr(paddingOf(context.builder, windows));
  }

  /// One of the two counts is 1.
  static int64_t groupsOf(ConvolutionOp op) {
    return op.getFeatureGroupCount() * op.getBatchGroupCount();
  }

  static void addSpatial(ConvolutionOp op, bool isNumber, ShardingRule &rule) {
    ConvDimensionNumbersAttr dims = op.getDimensionNumbers();
    ArrayRef<int64_t> from = shapeOf(op.getLhs()), kernel = shapeOf(op.getRhs()), to = shapeOf(op);
    SmallVector<Window> windows = windowsOf(op, kernel);
    for (auto [window, lhsDim, rhsDim, resultDim] :
         llvm::zip_equal(windows, dims.getInputSpatialDimensions(),
                         dims.getKernelSpatialDimensions(), dims.getOutputSpatialDimensions())) {
      bool isReversed = op.getWindowReversal() && llvm::is_contained(*op.getWindowReversal(), true);
      Overlap overlap = isNumber && !isReversed ? Overlap::OfWindowsOrWithin : Overlap::OfWindows;
      WindowedDim dim = addWindowedDim(rule, from[lhsDim], to[resultDim], window, overlap);
      attachAll(rule.operands[0], lhsDim, dim.input);
      attachAll(rule.operands[1], rhsDim, dim.within);
      attachAll(rule.results[0], resultDim, dim.output);
    }
  }

  static SmallVector<Window> windowsOf(ConvolutionOp op, ArrayRef<int64_t> kernel) {
    SmallVector<int64_t> sizes;
    for (int64_t dim : op.getDimensionNumbers().getKernelSpatialDimensions())
      sizes.push_back(kernel[dim]);
    return getWindows(sizes, op.getWindowStrides(), op.getPadding(), op.getLhsDilation(),
                      op.getRhsDilation());
  }
};

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

struct ReduceWindowRule : ShardingRuleOpInterface::ExternalModel<ReduceWindowRule, ReduceWindowOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto reduce = cast<ReduceWindowOp>(op);
    int64_t count = reduce.getInputs().size();
    ShardingRule rule = emptyRule(op);
    ArrayRef<int64_t> from = shapeOf(op->getOperand(0)), to = shapeOf(op->getResult(0));
    for (auto [dim, window] : llvm::enumerate(windowsOf(reduce))) {
      WindowedDim factors = addWindowedDim(rule, from[dim], to[dim], window, Overlap::OfWindows);
      for (int64_t i = 0; i < count; ++i) {
        attachAll(rule.operands[i], dim, factors.input);
        attachAll(rule.results[i], dim, factors.output);
      }
    }
    if (count == 1 && reductionOf(reduce.getBody()) == ReductionKind::Sum)
      rule.setLinear(Linearity::Jointly, {0, 1});
    return rule;
  }

  /// Positions beyond the ends of the input have the initial value.
  LogicalResult localize(Operation *op, LocalizeContext &context) const {
    auto reduce = cast<ReduceWindowOp>(op);
    auto count = static_cast<unsigned>(reduce.getInputs().size());
    SmallVector<Window> windows = windowsOf(reduce);
    bool any = false;
    for (auto [dim, window] : llvm::enumerate(windows)) {
      if (!isSplit(context, context.rule.operands[0][dim]))
        continue;
      any = true;
      Window global = window;
      int64_t results = cast<RankedTensorType>(context.resultTypes[0]).getDimSize(dim);
      for (unsigned i = 0; i < count; ++i)
        window = localWindow(context, op->getOpOperand(i), dim, global, global.size, results,
                             op->getOperand(count + i));
    }
    if (any)
      reduce.setPaddingAttr(paddingOf(context.builder, windows));
    return st::localizeByTypes(op, context);
  }

private:
  static SmallVector<Window> windowsOf(ReduceWindowOp op) {
    return getWindows(op.getWindowDimensions(), op.getWindowStrides(), op.getPadding(),
                      op.getBaseDilations(), op.getWindowDilations());
  }
};

/// Linear in the scattered values.
struct SelectAndScatterRule
    : ShardingRuleOpInterface::ExternalModel<SelectAndScatterRule, SelectAndScatterOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto scatter = cast<SelectAndScatterOp>(op);
    ShardingRule rule = emptyRule(op);
    ArrayRef<int64_t> from = shapeOf(scatter.getOperand()), to = shapeOf(scatter.getSource());
    SmallVector<int64_t> sizes(from.size(), 1);
    if (std::optional<ArrayRef<int64_t>> given = scatter.getWindowDimensions())
      llvm::copy(*given, sizes.begin());
    SmallVector<Window> windows =
        getWindows(sizes, scatter.getWindowStrides(), scatter.getPadding(), {}, {});
    for (auto [dim, window] : llvm::enumerate(windows)) {
      WindowedDim factors = addWindowedDim(rule, from[dim], to[dim], window, Overlap::None);
      attachAll(rule.operands[0], dim, factors.input);
      attachAll(rule.operands[1], dim, factors.output);
    }
    rule.results[0] = rule.operands[0];
    if (reductionOf(scatter.getScatter()) == ReductionKind::Sum)
      rule.setLinear(Linearity::Jointly, {1, 2});
    return rule;
  }
};

} // namespace

void stablehlo::attachWindowShardingRules(MLIRContext *context) {
  ConvolutionOp::attachInterface<ConvolutionRule>(*context);
  ReduceWindowOp::attachInterface<ReduceWindowRule>(*context);
  SelectAndScatterOp::attachInterface<SelectAndScatterRule>(*context);
}
