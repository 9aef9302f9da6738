// The cuda dialect: work of a task that a vendor's library does.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "backends/cuda/IR/CudaDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "backends/cuda/IR/CudaAttrs.h.inc"

#define GET_OP_CLASSES
#include "backends/cuda/IR/CudaOps.h.inc"

namespace mlir::cuda {

/// Whether cuBLASLt multiplies two matrices of type `operand` into one of type `result`.
bool hasProduct(Type operand, Type result);
/// Whether a matrix of so many rows and columns is one that cuBLASLt takes, as it is or transposed.
bool isMatrix(int64_t row, int64_t column, int64_t rows, int64_t columns);

} // namespace mlir::cuda
