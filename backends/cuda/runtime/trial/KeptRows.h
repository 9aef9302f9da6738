// The inputs of an attention gradient that come from its forward pass, for a trial.
#ifndef ST_BACKENDS_CUDA_RUNTIME_TRIAL_KEPTROWS_H
#define ST_BACKENDS_CUDA_RUNTIME_TRIAL_KEPTROWS_H

#include "backends/cuda/runtime/GpuDevice.h"

#include <vector>

namespace st::cuda {

/// Writes the row maxima and sums that a gradient reads, computed on the host from q, k and the
/// bias. First replaces key j, and column j of the bias, by the one of number j modulo
/// `kKeyPeriod`: the host then computes only `kKeyPeriod` scores per row. Does nothing if the
/// gradient reads neither maxima nor sums.
constexpr int64_t kKeyPeriod = 4;
absl::Status writeKeptRows(const proto::CudaAttention &gradient, const AttentionOperands &operands,
                           GpuDevice &device);

/// Computes the gradients of q, k and v on the host, as bytes of their places. First replaces keys,
/// values and columns of the bias as above. For gradients whose kernels read other values of each
/// row than maxima and sums: these have no meaning without the kernels before them.
absl::StatusOr<std::vector<std::vector<uint8_t>>>
computeGradients(const proto::CudaAttention &gradient, const AttentionOperands &operands,
                 GpuDevice &device);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_TRIAL_KEPTROWS_H
