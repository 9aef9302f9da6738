// Matrix products on the host in place of cuBLASLt.
#ifndef ST_BACKENDS_CUDA_RUNTIME_HOST_HOSTPRODUCT_H
#define ST_BACKENDS_CUDA_RUNTIME_HOST_HOSTPRODUCT_H

#include "backends/cuda/runtime/GpuDevice.h"

namespace st::cuda {

/// Accumulates in f32 (f64 for f64), in the order of k; the result is rounded once.
absl::Status multiplyOnHost(const proto::CudaProduct &product, const ProductOperands &operands);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_HOST_HOSTPRODUCT_H
