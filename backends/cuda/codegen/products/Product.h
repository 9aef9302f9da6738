// Which part of a kernel of kind "matmul" one call of cuBLASLt computes.
#pragma once

#include "backends/cuda/IR/CudaDialect.h"
#include "dialects/St/IR/StDialect.h"
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

/// A product and what cuBLASLt does with it before it writes it:
/// activation(scale * a * b + addend + bias).
struct Product {
  stablehlo::DotGeneralOp dot;
  ProductLayout layout;
  double scale = 1;
  BlockArgument addend; ///< of the result's shape; may be null
  BlockArgument bias;   ///< a number for each column; may be null
  Value result;         ///< what is written: the dot_general's or that of the last op taken along

  /// GELU of what `result` is without it, or the gradient of GELU at `aux` times that. Part of a
  /// product that matchProductKernel finds.
  Activation activation = Activation::None;
  /// An argument of the kernel for the gradient; a second result of it, GELU's argument, or null.
  Value aux;
  /// A second result: an operand, added up along what is contracted. Null where there is none.
  Value sums;
  Operand summed = Operand::A; ///< which operand
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

/// The product that a kernel of kind "matmul" is, if one call of cuBLASLt computes all its results:
/// that of matchProduct; GELU of it, behind which it may be a result too; it times the gradient of
/// GELU at an argument; or it and the sums of one of its operands.
std::optional<Product> matchProductKernel(st::KernelOp kernel);

/// Of which operand `sums` is the sum along what a product contracts, if cuBLASLt computes it with
/// the product: both of one kernel, or of several of which `definition` says what their arguments
/// are.
std::optional<Operand> matchOperandSums(const Product &product, Value sums,
                                        llvm::function_ref<Value(Value)> definition);

/// An argument of which a value has one number for each column of a product.
struct Bias {
  BlockArgument argument; ///< null: there is none
  bool isConverted = false;
};
Bias matchBias(Value value, const Product &product);
/// What matchBias was given with another argument, which needs no conversion.
Value rebuildBias(OpBuilder &builder, Value value, Value argument);

} // namespace mlir::cuda
