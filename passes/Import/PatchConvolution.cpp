#include "passes/Import/PatchConvolution.h"

using namespace mlir;
using namespace mlir::st;

static int64_t at(std::optional<ArrayRef<int64_t>> values, size_t i) {
  return values ? (*values)[i] : 1;
}

/// Returns true if padding, input dilation, groups and reversal are those of a product.
static bool isPlain(stablehlo::ConvolutionOp op) {
  auto areZero = [](std::optional<DenseIntElementsAttr> padding) {
    return !padding ||
           llvm::all_of(padding->getValues<APInt>(), [](const APInt &v) { return v.isZero(); });
  };
  auto areOne = [](std::optional<ArrayRef<int64_t>> values) {
    return !values || llvm::all_of(*values, [](int64_t v) { return v == 1; });
  };
  auto reversal = op.getWindowReversal();
  return op.getFeatureGroupCount() == 1 && op.getBatchGroupCount() == 1 &&
         areZero(op.getPadding()) && areOne(op.getLhsDilation()) &&
         (!reversal || llvm::none_of(*reversal, [](bool b) { return b; }));
}

Value mlir::st::emitPatchConvolution(Emitter &emit, stablehlo::ConvolutionOp op) {
  auto numbers = op.getDimensionNumbers();
  ArrayRef<int64_t> input = numbers.getInputSpatialDimensions(),
                    kernel = numbers.getKernelSpatialDimensions(),
                    output = numbers.getOutputSpatialDimensions();
  ArrayRef<int64_t> from = emit.shapeOf(op.getLhs()), window = emit.shapeOf(op.getRhs()),
                    to = emit.shapeOf(op.getResult());
  if (!isPlain(op))
    return nullptr;
  // Each spatial dimension becomes two: one of the window and one of the result.
  SmallVector<bool> windowIsMinor;
  for (size_t i = 0; i < input.size(); ++i) {
    int64_t taken = window[kernel[i]], created = to[output[i]];
    int64_t stride = at(op.getWindowStrides(), i), dilation = at(op.getRhsDilation(), i);
    bool areSideBySide = stride == taken && dilation == 1,
         areSpread = stride == 1 && dilation == created;
    if (taken * created != from[input[i]] || (!areSideBySide && !areSpread))
      return nullptr;
    windowIsMinor.push_back(areSideBySide);
  }
  SmallVector<int64_t> shape, resultDims(from.size());
  SmallVector<int64_t> windowDims(input.size());
  int64_t feature = 0, free = 0;
  for (int64_t dim = 0; dim < static_cast<int64_t>(from.size()); ++dim) {
    const int64_t *spatial = llvm::find(input, dim);
    if (spatial == input.end()) {
      if (dim == numbers.getInputFeatureDimension())
        feature = shape.size();
      else
        resultDims[numbers.getOutputBatchDimension()] = free++;
      shape.push_back(from[dim]);
      continue;
    }
    size_t i = spatial - input.begin();
    int64_t taken = window[kernel[i]], created = to[output[i]];
    windowDims[i] = shape.size() + windowIsMinor[i];
    resultDims[output[i]] = free++;
    shape.append(windowIsMinor[i] ? std::initializer_list<int64_t>{created, taken}
                                  : std::initializer_list<int64_t>{taken, created});
  }
  resultDims[numbers.getOutputFeatureDimension()] = free;
  DotDims dims;
  dims.lhsContract = {feature};
  dims.rhsContract = {numbers.getKernelInputFeatureDimension()};
  llvm::append_range(dims.lhsContract, windowDims);
  llvm::append_range(dims.rhsContract, kernel);
  Value product =
      emit.dot(emit.reshape(op.getLhs(), shape), op.getRhs(), dims, op.getPrecisionConfigAttr(),
               emit.typeOf(op.getResult()).getElementType());
  return emit.transpose(product, resultDims);
}
