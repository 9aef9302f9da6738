// The inputs of an attention gradient that come from its forward pass, for a trial.
#ifndef ST_BACKENDS_CUDA_RUNTIME_TRIAL_KEPTROWS_H
#define ST_BACKENDS_CUDA_RUNTIME_TRIAL_KEPTROWS_H

#include "backends/cuda/runtime/GpuDevice.h"

#include <cstdint>
#include <vector>

namespace st::cuda {

/// Returns element `at` of a tensor of f32, f16 or bf16 that was copied from the device.
float readElement(const std::vector<uint8_t> &bytes, proto::ElementType type, int64_t at);

/// Computes the row maxima and sums that a gradient reads, on the host from q, k and the bias, and
/// writes them. First replaces key j and column j of the bias by key and column j modulo
/// `kKeyPeriod`, so that the host computes only `kKeyPeriod` scores per row. Does nothing if the
/// gradient reads neither maxima nor sums.
constexpr int64_t kKeyPeriod = 4;
absl::Status writeKeptRows(const proto::CudaAttention &gradient, const AttentionOperands &operands,
                           GpuDevice &device);

/// Computes the gradients of q, k and v on the host, as bytes in the layout of the device. First
/// replaces keys, values and columns of the bias as above. Use this for kernels that read row
/// values other than maxima and sums: these need the forward pass's output, which a trial lacks.
absl::StatusOr<std::vector<std::vector<uint8_t>>>
computeGradients(const proto::CudaAttention &gradient, const AttentionOperands &operands,
                 GpuDevice &device);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_TRIAL_KEPTROWS_H
