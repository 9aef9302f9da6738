#include "dialects/StableHLO/Utils/ProductStrides.h"
#include "dialects/St/Interfaces/Shapes.h"

using namespace mlir;
using namespace mlir::st;
using stablehlo::DotGeneralOp;

std::optional<int64_t> mlir::st::findOnlyDim(Value operand,
                                             llvm::function_ref<bool(int64_t)> isOne) {
  int64_t only = -1;
  for (int64_t dim = 0, rank = shapeOf(operand).size(); dim < rank; ++dim)
    if (shapeOf(operand)[dim] != 1 && isOne(dim)) {
      if (only >= 0)
        return std::nullopt;
      only = dim;
    }
  return only;
}

bool mlir::st::contractsRows(DotGeneralOp dot) {
  ArrayRef<int64_t> shape = shapeOf(dot.getLhs());
  int64_t last = static_cast<int64_t>(shape.size()) - 1;
  while (last >= 0 && shape[last] == 1)
    --last;
  return !llvm::is_contained(dot.getDotDimensionNumbers().getLhsContractingDimensions(), last);
}

FailureOr<ProductDims> mlir::st::findDepths(DotGeneralOp dot) {
  auto numbers = dot.getDotDimensionNumbers();
  auto contracted = [](ArrayRef<int64_t> dims) {
    return [dims](int64_t dim) { return llvm::is_contained(dims, dim); };
  };
  auto left = findOnlyDim(dot.getLhs(), contracted(numbers.getLhsContractingDimensions()));
  auto right = findOnlyDim(dot.getRhs(), contracted(numbers.getRhsContractingDimensions()));
  if (!left || !right)
    return failure();
  return ProductDims{*left, *right};
}

/// Returns true for a dimension of an operand that its product neither contracts nor keeps as
/// batch.
static bool isFree(int64_t dim, ArrayRef<int64_t> batch, ArrayRef<int64_t> contracted) {
  return !llvm::is_contained(batch, dim) && !llvm::is_contained(contracted, dim);
}

FailureOr<ProductDims> mlir::st::findDepthsAndWidth(DotGeneralOp dot) {
  auto numbers = dot.getDotDimensionNumbers();
  FailureOr<ProductDims> dims = findDepths(dot);
  auto width = findOnlyDim(dot.getRhs(), [&](int64_t dim) {
    return isFree(dim, numbers.getRhsBatchingDimensions(), numbers.getRhsContractingDimensions());
  });
  if (failed(dims) || !width)
    return failure();
  dims->width = *width;
  return dims;
}

ProductStrides mlir::st::getOperandStrides(DotGeneralOp dot, Value result,
                                           const IterationSpace &space, ArrayRef<int64_t> left,
                                           ArrayRef<int64_t> right) {
  auto numbers = dot.getDotDimensionNumbers();
  ProductStrides strides{IterationSpace::AxisStrides(space.getNumAxes(), 0),
                         IterationSpace::AxisStrides(space.getNumAxes(), 0)};
  int64_t next = 0; // dimension of the result
  for (auto [l, r] :
       llvm::zip_equal(numbers.getLhsBatchingDimensions(), numbers.getRhsBatchingDimensions()))
    if (std::optional<unsigned> axis = space.getAxis(result, next++)) {
      strides.left[*axis] = left[l];
      strides.right[*axis] = right[r];
    }
  auto addFree = [&](ArrayRef<int64_t> operand, ArrayRef<int64_t> batch,
                     ArrayRef<int64_t> contracted, IterationSpace::AxisStrides &along) {
    for (auto [dim, stride] : llvm::enumerate(operand)) {
      if (!isFree(static_cast<int64_t>(dim), batch, contracted))
        continue;
      if (std::optional<unsigned> axis = space.getAxis(result, next++))
        along[*axis] = stride;
    }
  };
  addFree(left, numbers.getLhsBatchingDimensions(), numbers.getLhsContractingDimensions(),
          strides.left);
  addFree(right, numbers.getRhsBatchingDimensions(), numbers.getRhsContractingDimensions(),
          strides.right);
  return strides;
}

ConsumerStrides mlir::st::getConsumerStrides(DotGeneralOp dot, const ProductDims &dims, Value rows,
                                             const IterationSpace &space, ArrayRef<int64_t> result,
                                             ArrayRef<int64_t> right) {
  auto numbers = dot.getDotDimensionNumbers();
  ArrayRef<int64_t> leftBatch = numbers.getLhsBatchingDimensions(),
                    leftContracted = numbers.getLhsContractingDimensions();
  ConsumerStrides strides;
  strides.left.assign(space.getNumAxes(), 0);
  strides.right.assign(space.getNumAxes(), 0);
  strides.right[*space.getAxis(rows, dims.leftDepth)] = right[dims.rightDepth];
  int64_t next = 0; // dimension of the result
  for (auto [l, r] : llvm::zip_equal(leftBatch, numbers.getRhsBatchingDimensions())) {
    if (std::optional<unsigned> axis = space.getAxis(rows, l)) {
      strides.right[*axis] = right[r];
      strides.left[*axis] = result[next];
    }
    ++next;
  }
  for (int64_t dim = 0, rank = shapeOf(rows).size(); dim < rank; ++dim) {
    if (!isFree(dim, leftBatch, leftContracted))
      continue;
    if (std::optional<unsigned> axis = space.getAxis(rows, dim))
      strides.left[*axis] = result[next];
    ++next;
  }
  // The free dimensions of the right operand are the last ones of the result.
  for (int64_t dim = 0; dim <= dims.width; ++dim)
    if (isFree(dim, numbers.getRhsBatchingDimensions(), numbers.getRhsContractingDimensions()))
      strides.widthDim = next++;
  return strides;
}
