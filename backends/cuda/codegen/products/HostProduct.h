// Replacement of cuBLASLt on hosts without a GPU.
#pragma once

#include "backends/cuda/IR/CudaDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::cuda {

/// Replaces a product by loops that follow the op's definition: each sum in f32 (f64 for f64), from
/// first to last. Emits ops of math for GELU.
void emitHostProduct(ProductOp product);

} // namespace mlir::cuda
