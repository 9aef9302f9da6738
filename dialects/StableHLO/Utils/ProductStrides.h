// Strides of a product's matrices along the loops of a kernel that computes its result, or that
// computes its left operand.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"

#include <optional>

namespace mlir::st {

/// Returns the only dimension of size above 1 for which `isOne` holds: -1 if there is none,
/// std::nullopt if there are several.
std::optional<int64_t> findOnlyDim(Value operand, llvm::function_ref<bool(int64_t)> isOne);

/// Returns true if a product contracts the rows of its left operand rather than its columns, the
/// last dimension of size above 1.
bool contractsRows(stablehlo::DotGeneralOp dot);

/// The dimensions of size above 1 that a product contracts, and the one of the right operand that
/// it keeps; each -1 if there is none.
struct ProductDims {
  int64_t leftDepth = -1, rightDepth = -1;
  int64_t width = -1;
};

/// Fails without a diagnostic if a product contracts several dimensions.
FailureOr<ProductDims> findDepths(stablehlo::DotGeneralOp dot);
/// Also finds `width`. Fails if several dimensions of the right operand are kept.
FailureOr<ProductDims> findDepthsAndWidth(stablehlo::DotGeneralOp dot);

/// Strides along the axes of a space of two matrices of a product.
struct ProductStrides {
  IterationSpace::AxisStrides left, right;
};

/// The strides of both operands if the loops compute the result, whose dimensions are batch, rows
/// and columns. `result` is the value of the space that represents it; `left` and `right` are the
/// operands' strides by dimension.
ProductStrides getOperandStrides(stablehlo::DotGeneralOp dot, Value result,
                                 const IterationSpace &space, ArrayRef<int64_t> left,
                                 ArrayRef<int64_t> right);

/// The strides of the result (`left`) and of the right operand (`right`) if the loops compute the
/// left operand, which `rows` represents in the space. `result` and `right` are their strides by
/// dimension. `widthDim` is the result's dimension of `dims.width`, or -1.
struct ConsumerStrides : ProductStrides {
  int64_t widthDim = -1;
};
ConsumerStrides getConsumerStrides(stablehlo::DotGeneralOp dot, const ProductDims &dims, Value rows,
                                   const IterationSpace &space, ArrayRef<int64_t> result,
                                   ArrayRef<int64_t> right);

} // namespace mlir::st
