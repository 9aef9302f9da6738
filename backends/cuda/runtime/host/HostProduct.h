// Products of matrices on the host, in the place of cuBLASLt.
#ifndef ST_BACKENDS_CUDA_RUNTIME_HOST_HOSTPRODUCT_H
#define ST_BACKENDS_CUDA_RUNTIME_HOST_HOSTPRODUCT_H

#include "backends/cuda/runtime/GpuDevice.h"

namespace st::cuda {

/// Sums are carried in f32 (of f64 in f64), in the order of k; the result is rounded once.
absl::Status multiplyOnHost(const proto::CudaProduct &product, const ProductOperands &operands);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_HOST_HOSTPRODUCT_H
