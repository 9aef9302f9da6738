//===- ConvolutionRules.cpp - Gradients of convolution --------------------===//

#include "passes/Autodiff/Rules/GradientRules.h"
#include "passes/Autodiff/Rules/RuleUtils.h"
#include "passes/Autodiff/Rules/WindowDim.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

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

/// Splits dimension `from`, a multiple of `groups`, and moves the groups before dimension `to`, as
/// its major part.
static Value exchangeGroups(Emitter &emit, Value x, int64_t groups, int64_t from, int64_t to) {
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

/// Convolves the cotangent with the reversed kernel, with its input and output features exchanged.
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
  kernel = exchangeGroups(emit, kernel, groups, n.getKernelOutputFeatureDimension(),
                          n.getKernelInputFeatureDimension());
  // The result has batch groups as major parts of the features.
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
  return exchangeGroups(emit, product, batchGroups, n.getInputFeatureDimension(),
                        n.getInputBatchDimension());
}

/// Convolves the input, with batch and features exchanged, with the cotangent.
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

void st::populateConvolutionRules(GradientRules &rules) {
  rules.addChecked<ConvolutionOp>(convolutionRule);
  rules.allowComplex<ConvolutionOp>();
}
