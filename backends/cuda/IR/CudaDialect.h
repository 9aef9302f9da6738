// The cuda dialect: ops that a vendor's library computes.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "backends/cuda/IR/CudaDialect.h.inc"
#include "backends/cuda/IR/CudaEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "backends/cuda/IR/CudaAttrs.h.inc"

#define GET_OP_CLASSES
#include "backends/cuda/IR/CudaOps.h.inc"

namespace mlir::cuda {

/// Returns true if cuBLASLt multiplies two matrices of type `operand` into one of type `result`.
bool hasProduct(Type operand, Type result);
/// Returns true if cuBLASLt accepts a matrix of this size, as it is or transposed.
bool isMatrix(int64_t row, int64_t column, int64_t rows, int64_t columns);
/// Returns true if cuBLASLt applies GELU or its gradient to a result with this number of batch
/// dimensions and these strides: only to single matrices, and the rows of GELU's stored argument
/// must be a multiple of 8 elements apart.
bool hasActivation(Type result, size_t batch, int64_t row, int64_t column);
/// Returns true if cuBLASLt sums an operand along with a product: for single matrices.
bool hasOperandSums(Type result, size_t batch);
/// Checks that the body of an op, which computes the same as the op, has only launches, products
/// and copies.
LogicalResult verifyIsBody(Operation *user, Block &body);

} // namespace mlir::cuda
