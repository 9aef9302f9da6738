// The cuda dialect: work of a task that a vendor's library does.
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

/// Whether cuBLASLt multiplies two matrices of type `operand` into one of type `result`.
bool hasProduct(Type operand, Type result);
/// Whether a matrix of so many rows and columns is one that cuBLASLt takes, as it is or transposed.
bool isMatrix(int64_t row, int64_t column, int64_t rows, int64_t columns);
/// Whether cuBLASLt applies GELU or its gradient to a result of so many dimensions of a batch,
/// which lies so far apart by row and column: to single matrices, and what it stores or reads of
/// GELU's argument has rows that are a multiple of 8 elements apart.
bool hasActivation(Type result, size_t batch, int64_t row, int64_t column);
/// Whether cuBLASLt adds up an operand beside a product: of single matrices.
bool hasOperandSums(Type result, size_t batch);
/// Checks that the body of an op, which does the same as the op, has launches, products and copies
/// alone.
LogicalResult verifyIsBody(Operation *user, Block &body);

} // namespace mlir::cuda
