// Which part of a kernel of kind "matmul" one call of cuBLASLt computes.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"

#include <optional>

namespace mlir::cuda {

/// The matrices of a dot_general whose operands lie dense in memory: m x k times k x n.
struct ProductLayout {
  /// Elements to the next row, the next column, and the next matrix along each dimension of the
  /// batch.
  struct Matrix {
    int64_t row = 1, column = 1;
    SmallVector<int64_t> batch;
  };
  int64_t m = 1, n = 1, k = 1;
  SmallVector<int64_t> batch;
  Matrix a, b, d;

  /// Neighbouring dimensions that all matrices have behind each other are one. Of free ones that do
  /// not become one, the outer are a dimension of the batch. Nothing where several contracted
  /// dimensions are left, or a matrix has no neighbours in memory.
  static std::optional<ProductLayout> get(stablehlo::DotGeneralOp dot);
};

/// A product and what cuBLASLt does with it before it writes it: scale * a * b + addend + bias.
struct Product {
  stablehlo::DotGeneralOp dot;
  ProductLayout layout;
  double scale = 1;
  BlockArgument addend; ///< of the result's shape; may be null
  BlockArgument bias;   ///< a number for each column; may be null
  Value result;         ///< what is written: the dot_general's or that of the last op taken along
};

/// A product of a kernel's body, with as much of what follows as fits. Followed is what nothing
/// else reads:
///
/// - a multiplication with a constant (`scale`), first;
/// - a conversion to the type of the operands, before anything is added;
/// - an addition of a tensor of the result's shape (`addend`) and one of a vector along its columns
///   (`bias`, not of f64), arguments of the kernel, in any order.
///
/// 16-bit floats are rounded once, behind all of it. Nothing where its operands are not arguments,
/// or no ProductLayout describes it.
std::optional<Product> matchProduct(stablehlo::DotGeneralOp dot);

} // namespace mlir::cuda
