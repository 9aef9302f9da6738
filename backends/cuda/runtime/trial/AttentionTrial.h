// Whether a plan of cuDNN computes attention as generated kernels do.
#ifndef ST_BACKENDS_CUDA_RUNTIME_TRIAL_ATTENTIONTRIAL_H
#define ST_BACKENDS_CUDA_RUNTIME_TRIAL_ATTENTIONTRIAL_H

#include "backends/cuda/runtime/driver/DriverAttention.h"

namespace st::cuda {

/// Runs both on the random numbers of a trial. Each result may differ by `kAttentionTolerance` of
/// the root mean square of what kernels make, in the root mean square: kernels round scores to 16
/// bits, engines do not. What a gradient reads of its forward pass is made first; if this is not
/// known, the host computes the gradients instead of kernels (KeptRows.h). The
/// status says what cuDNN refuses or makes of it. Where the trial has no memory, nothing is tried.
constexpr double kAttentionTolerance = 0.05;
absl::Status tryAttention(const DriverAttention &plan, const proto::CudaAttention &attention,
                          GpuTrial &trial, GpuDevice &device, GpuStream &stream, Address workspace);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_TRIAL_ATTENTIONTRIAL_H
