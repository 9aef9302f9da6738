// A stand-in for cuBLASLt, where there is no GPU.
#pragma once

#include "backends/cuda/IR/CudaDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::cuda {

/// Replaces a product by loops that compute it as the op is defined: each sum in f32 (of f64 in
/// f64), from first to last. Makes ops of math for GELU.
void emitHostProduct(ProductOp product);

} // namespace mlir::cuda
