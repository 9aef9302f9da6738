//===- ConvolutionVerifiers.cpp - Constraints of convolution --------------===//
//
// Labels like (C1) are those of the StableHLO specification.
//
//===----------------------------------------------------------------------===//

#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Verification/VerifierUtils.h"

using namespace mlir;
using namespace mlir::stablehlo;

/// A list with one number per spatial dimension, at least one, or absent.
static LogicalResult verifySpatialList(ConvolutionOp op, StringRef name,
                                       std::optional<ArrayRef<int64_t>> values, int64_t count) {
  if (!values)
    return success();
  if (failed(verifySizeIsRank(op, name, values->size(), count)))
    return failure();
  for (int64_t value : *values)
    if (value < 1)
      return op.emitOpError() << "expects " << name << " to be positive, got [" << *values << "]";
  return success();
}

/// Two lettered and all spatial dimensions cover a tensor: (C12), (C13), (C17)-(C20).
static LogicalResult verifyLayout(ConvolutionOp op, StringRef name, int64_t first, int64_t second,
                                  ArrayRef<int64_t> spatial, int64_t rank) {
  SmallVector<int64_t> dims{first, second};
  llvm::append_range(dims, spatial);
  std::string list = ("dimension_numbers of the " + name).str();
  if (failed(verifySizeIsRank(op, list, dims.size(), rank)))
    return failure();
  return verifyDims(op, list, dims, rank);
}

static LogicalResult verifyLayouts(ConvolutionOp op) {
  ConvDimensionNumbersAttr numbers = op.getDimensionNumbers();
  int64_t rank = op.getLhs().getType().getRank();
  // (C1), (C26)
  if (op.getRhs().getType().getRank() != rank || op.getType().getRank() != rank)
    return op.emitOpError("expects one rank for lhs, rhs and result, got ")
           << op.getLhs().getType() << ", " << op.getRhs().getType() << " and " << op.getType();
  if (failed(verifyLayout(op, "input", numbers.getInputBatchDimension(),
                          numbers.getInputFeatureDimension(), numbers.getInputSpatialDimensions(),
                          rank)) ||
      failed(verifyLayout(op, "kernel", numbers.getKernelInputFeatureDimension(),
                          numbers.getKernelOutputFeatureDimension(),
                          numbers.getKernelSpatialDimensions(), rank)))
    return failure();
  return verifyLayout(op, "output", numbers.getOutputBatchDimension(),
                      numbers.getOutputFeatureDimension(), numbers.getOutputSpatialDimensions(),
                      rank);
}

static LogicalResult verifyWindow(ConvolutionOp op) {
  int64_t count = op.getLhs().getType().getRank() - 2;
  // (C2), (C3), (C5)-(C8)
  if (failed(verifySpatialList(op, "window_strides", op.getWindowStrides(), count)) ||
      failed(verifySpatialList(op, "lhs_dilation", op.getLhsDilation(), count)) ||
      failed(verifySpatialList(op, "rhs_dilation", op.getRhsDilation(), count)))
    return failure();
  // (C9)
  if (std::optional<ArrayRef<bool>> reversal = op.getWindowReversal())
    if (failed(verifySizeIsRank(op, "window_reversal", reversal->size(), count)))
      return failure();
  // (C4)
  if (auto padding = op.getPadding())
    if (padding->getType().getShape() != ArrayRef<int64_t>{count, 2})
      return op.emitOpError("expects padding of the shape ")
             << count << "x2, got " << padding->getType();
  return success();
}

/// Groups divide the dimensions that they split: (C10), (C11), (C14)-(C16), (C23).
static LogicalResult verifyGroups(ConvolutionOp op) {
  ConvDimensionNumbersAttr numbers = op.getDimensionNumbers();
  RankedTensorType lhs = op.getLhs().getType(), rhs = op.getRhs().getType();
  int64_t batchGroups = op.getBatchGroupCount(), featureGroups = op.getFeatureGroupCount();
  int64_t batch = lhs.getDimSize(numbers.getInputBatchDimension());
  int64_t features = lhs.getDimSize(numbers.getInputFeatureDimension());
  int64_t outputs = rhs.getDimSize(numbers.getKernelOutputFeatureDimension());
  if (batchGroups != 1 && featureGroups != 1)
    return op.emitOpError("expects batch_group_count or feature_group_count to be 1, got ")
           << batchGroups << " and " << featureGroups;
  if (batch % batchGroups != 0 || outputs % batchGroups != 0)
    return op.emitOpError("expects batch_group_count ")
           << batchGroups << " to divide the batch of " << lhs << " and the output features of "
           << rhs;
  if (features % featureGroups != 0 || outputs % featureGroups != 0)
    return op.emitOpError("expects feature_group_count ")
           << featureGroups << " to divide the features of " << lhs
           << " and the output features of " << rhs;
  if (rhs.getDimSize(numbers.getKernelInputFeatureDimension()) != features / featureGroups)
    return op.emitOpError("expects ")
           << features / featureGroups << " input features in the kernel, got " << rhs;
  return success();
}

/// (C25)
static FailureOr<SmallVector<int64_t>> getResultShape(ConvolutionOp op) {
  ConvDimensionNumbersAttr numbers = op.getDimensionNumbers();
  RankedTensorType lhs = op.getLhs().getType(), rhs = op.getRhs().getType();
  SmallVector<int64_t> sizes, shape(lhs.getRank());
  for (int64_t dim : numbers.getKernelSpatialDimensions())
    sizes.push_back(rhs.getDimSize(dim));
  SmallVector<Window> windows = getWindows(sizes, op.getWindowStrides(), op.getPadding(),
                                           op.getLhsDilation(), op.getRhsDilation());
  for (auto [window, from, to] : llvm::zip(windows, numbers.getInputSpatialDimensions(),
                                           numbers.getOutputSpatialDimensions())) {
    std::optional<int64_t> count = countWindows(lhs.getDimSize(from), window);
    if (!count)
      return op.emitOpError("has more windows in dimension ") << from << " than 64 bits can count";
    shape[to] = *count;
  }
  shape[numbers.getOutputBatchDimension()] =
      lhs.getDimSize(numbers.getInputBatchDimension()) / op.getBatchGroupCount();
  shape[numbers.getOutputFeatureDimension()] =
      rhs.getDimSize(numbers.getKernelOutputFeatureDimension());
  return shape;
}

LogicalResult ConvolutionOp::verify() {
  if (failed(verifyLayouts(*this)) || failed(verifyWindow(*this)) || failed(verifyGroups(*this)))
    return failure();
  // (C24)
  if (ArrayAttr precision = getPrecisionConfigAttr(); precision && precision.size() != 2)
    return emitOpError("expects 2 precisions, one per operand, got ") << precision.size();
  // (C27)
  if (getLhs().getType().getElementType() != getRhs().getType().getElementType())
    return emitOpError("expects one element type for lhs and rhs, got ")
           << getLhs().getType() << " and " << getRhs().getType();
  FailureOr<SmallVector<int64_t>> shape = getResultShape(*this);
  if (failed(shape))
    return failure();
  if (getType().getShape() != ArrayRef(*shape))
    return emitOpError("expects a result of shape [") << *shape << "], got " << getType();
  return success();
}
