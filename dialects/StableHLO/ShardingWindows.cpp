//===- ShardingWindows.cpp - Factor rules of convolutions and pooling -----===//
//
// Windows that lie side by side, as in patch embeddings and most pooling, are
// independent of each other. Where windows overlap, or reach into padding, a part
// of the dimension is not enough to compute a part of the result: it stays whole.
//
//===----------------------------------------------------------------------===//

#include "dialects/StableHLO/ShardingRules.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/VerifierUtils.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::stablehlo::sharding;
using st::ShardingRuleOpInterface;

namespace {

/// The factors of a dimension that windows move along, -1 for those of size 1.
struct WindowedDim {
  SmallVector<int64_t, 2> input;
  int64_t output = -1, within = -1; ///< which window, and where in it
};

WindowedDim addWindowedDim(ShardingRule &rule, int64_t inputSize, int64_t outputSize,
                           const Window &window) {
  WindowedDim dim;
  if (window.size != 1)
    dim.within = rule.addFactor(window.size, FactorKind::NeedReplication);
  bool areSideBySide = window.stride == window.size && window.baseDilation == 1 &&
                       window.dilation == 1 && window.low == 0 && window.high == 0 &&
                       inputSize == outputSize * window.size;
  if (outputSize != 1)
    dim.output = rule.addFactor(outputSize,
                                areSideBySide ? FactorKind::Parallel : FactorKind::NeedReplication);
  if (areSideBySide)
    dim.input = {dim.output, dim.within};
  else if (inputSize != 1)
    dim.input = {dim.output >= 0 ? dim.output : rule.addFactor(1, FactorKind::NeedReplication)};
  return dim;
}

void attachAll(TensorFactors &tensor, int64_t dim, ArrayRef<int64_t> factors) {
  for (int64_t factor : factors)
    attach(tensor, dim, factor);
}

//===----------------------------------------------------------------------===//
// convolution
//===----------------------------------------------------------------------===//

/// The batch and the output features are parallel, the input features are summed.
/// Groups are a parallel factor, major to what is left of the dimensions that they
/// split: of both features, or of the batch and the output features.
struct ConvolutionRule : ShardingRuleOpInterface::ExternalModel<ConvolutionRule, ConvolutionOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto convolution = cast<ConvolutionOp>(op);
    ConvDimensionNumbersAttr dims = convolution.getDimensionNumbers();
    ShardingRule rule = emptyRule(op);
    TensorFactors &lhs = rule.operands[0], &rhs = rule.operands[1], &result = rule.results[0];
    ArrayRef<int64_t> rhsShape = shapeOf(convolution.getRhs()), shape = shapeOf(convolution);
    // On truth values, or is not a sum.
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
    addSpatial(convolution, rule);
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
    return st::localizeByTypes(op, context);
  }

private:
  /// One of the counts is 1.
  static int64_t groupsOf(ConvolutionOp op) {
    return op.getFeatureGroupCount() * op.getBatchGroupCount();
  }

  static void addSpatial(ConvolutionOp op, ShardingRule &rule) {
    ConvDimensionNumbersAttr dims = op.getDimensionNumbers();
    ArrayRef<int64_t> from = shapeOf(op.getLhs()), kernel = shapeOf(op.getRhs()), to = shapeOf(op);
    SmallVector<int64_t> sizes;
    for (int64_t dim : dims.getKernelSpatialDimensions())
      sizes.push_back(kernel[dim]);
    SmallVector<Window> windows = getWindows(sizes, op.getWindowStrides(), op.getPadding(),
                                             op.getLhsDilation(), op.getRhsDilation());
    for (auto [window, lhsDim, rhsDim, resultDim] :
         llvm::zip_equal(windows, dims.getInputSpatialDimensions(),
                         dims.getKernelSpatialDimensions(), dims.getOutputSpatialDimensions())) {
      WindowedDim dim = addWindowedDim(rule, from[lhsDim], to[resultDim], window);
      attachAll(rule.operands[0], lhsDim, dim.input);
      attach(rule.operands[1], rhsDim, dim.within);
      attach(rule.results[0], resultDim, dim.output);
    }
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
    SmallVector<Window> windows =
        getWindows(reduce.getWindowDimensions(), reduce.getWindowStrides(), reduce.getPadding(),
                   reduce.getBaseDilations(), reduce.getWindowDilations());
    for (auto [dim, window] : llvm::enumerate(windows)) {
      WindowedDim factors = addWindowedDim(rule, from[dim], to[dim], window);
      for (int64_t i = 0; i < count; ++i) {
        attachAll(rule.operands[i], dim, factors.input);
        attach(rule.results[i], dim, factors.output);
      }
    }
    if (count == 1 && reductionOf(reduce.getBody()) == ReductionKind::Sum)
      rule.setLinear(Linearity::Jointly, {0, 1});
    return rule;
  }
};

/// Linear in what it scatters.
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
      WindowedDim factors = addWindowedDim(rule, from[dim], to[dim], window);
      attachAll(rule.operands[0], dim, factors.input);
      attach(rule.operands[1], dim, factors.output);
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
