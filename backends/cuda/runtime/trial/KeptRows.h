// The inputs of an attention gradient that come from its forward pass, for a trial.
#ifndef ST_BACKENDS_CUDA_RUNTIME_TRIAL_KEPTROWS_H
#define ST_BACKENDS_CUDA_RUNTIME_TRIAL_KEPTROWS_H

#include "backends/cuda/runtime/GpuDevice.h"

namespace st::cuda {

/// Writes the row maxima and sums that a gradient reads, computed on the host from q, k and the
/// bias. First replaces key j, and column j of the bias, by the one of number j modulo
/// `kKeyPeriod`: the host then computes only `kKeyPeriod` scores per row. Does nothing if the
/// gradient reads neither maxima nor sums.
constexpr int64_t kKeyPeriod = 4;
absl::Status writeKeptRows(const proto::CudaAttention &gradient, const AttentionOperands &operands,
                           GpuDevice &device);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_TRIAL_KEPTROWS_H
