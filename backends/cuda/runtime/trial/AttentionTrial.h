// Checks that a cuDNN plan computes the same attention as the generated kernels.
#ifndef ST_BACKENDS_CUDA_RUNTIME_TRIAL_ATTENTIONTRIAL_H
#define ST_BACKENDS_CUDA_RUNTIME_TRIAL_ATTENTIONTRIAL_H

#include "backends/cuda/runtime/driver/DriverAttention.h"

namespace st::cuda {

/// Runs both on the random numbers of a trial. The root mean square of the difference may be at
/// most `kAttentionTolerance` times that of the kernels' results: kernels round scores to 16 bits,
/// engines do not. Computes the row statistics for a gradient first. If their form is unknown, the
/// host computes the gradients instead of the kernels (KeptRows.h). The status describes a refusal
/// by cuDNN or a difference. Succeeds without a trial if the trial has no memory.
constexpr double kAttentionTolerance = 0.05;
absl::Status tryAttention(const DriverAttention &plan, const proto::CudaAttention &attention,
                          GpuTrial &trial, GpuDevice &device, GpuStream &stream, Address workspace);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_TRIAL_ATTENTIONTRIAL_H
