// The part of a kernel of kind "matmul" that one call of cuBLASLt computes.
#pragma once

#include "backends/cuda/IR/CudaDialect.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"

#include <optional>

namespace mlir::cuda {

/// The matrices of a dot_general with dense operands: m x k times k x n.
struct ProductLayout {
  /// Strides in elements between rows, between columns, and between matrices along each dimension
  /// of the batch.
  struct Matrix {
    int64_t row = 1, column = 1;
    SmallVector<int64_t> batch;
  };
  int64_t m = 1, n = 1, k = 1;
  SmallVector<int64_t> batch;
  Matrix a, b, d;

  /// Merges dimensions that are contiguous in all matrices. If several free dimensions remain, the
  /// outer ones become batch dimensions. Returns std::nullopt if several contracted dimensions
  /// remain, or if a matrix has no contiguous side.
  static std::optional<ProductLayout> get(stablehlo::DotGeneralOp dot);
};

/// A product and the operations that cuBLASLt applies before it writes the result: activation(scale
/// * a * b + addend + bias).
struct Product {
  stablehlo::DotGeneralOp dot;
  ProductLayout layout;
  double scale = 1;
  BlockArgument addend; ///< has the result's shape; may be null
  BlockArgument bias;   ///< one number per column; may be null
  Value result;         ///< the written value: the dot_general's, or that of the last op included

  /// GELU of `result`, or `result` times the gradient of GELU at `aux`. Only matchProductKernel
  /// sets it.
  Activation activation = Activation::None;
  /// The gradient's argument of the kernel; or a second result, the argument of GELU; or null.
  Value aux;
  /// A second result, an operand summed along the contracted dimension, or null.
  Value sums;
  Operand summed = Operand::A; ///< the operand that `sums` sums
};

/// Matches a product in a kernel's body and the ops after it that fit. Each must be the only user
/// of the one before:
///
/// - a multiplication with a constant (`scale`), first;
/// - a conversion to the type of the operands, before anything is added;
/// - an addition of a tensor of the result's shape (`addend`) and one of a vector along its columns
///   (`bias`, not of f64), arguments of the kernel, in any order.
///
/// 16-bit floats are rounded once, at the end. Returns std::nullopt if the operands are not
/// arguments, or if no ProductLayout describes the product.
std::optional<Product> matchProduct(stablehlo::DotGeneralOp dot);

/// Matches a kernel of kind "matmul" if one call of cuBLASLt computes all its results: a product as
/// matchProduct finds it; GELU of it, with or without the product as a second result; the product
/// times the gradient of GELU at an argument; or the product and the sums of one of its operands.
std::optional<Product> matchProductKernel(st::KernelOp kernel);

/// Returns the operand that `sums` sums along the contracted dimension, if cuBLASLt can compute it
/// with the product. They are in one kernel, or in several whose arguments `definition` resolves.
std::optional<Operand> matchOperandSums(const Product &product, Value sums,
                                        llvm::function_ref<Value(Value)> definition);

/// An argument with one number per column of a product.
struct Bias {
  BlockArgument argument; ///< null: there is none
  bool isConverted = false;
};
Bias matchBias(Value value, const Product &product);
/// Rebuilds the value given to matchBias from another argument, which needs no conversion.
Value rebuildBias(OpBuilder &builder, Value value, Value argument);

} // namespace mlir::cuda
