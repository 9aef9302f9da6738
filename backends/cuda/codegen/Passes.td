// Passes that lower planned programs to kernels for NVIDIA GPUs or the host.

#ifndef ST_BACKENDS_CUDA_CODEGEN_PASSES_TD
#define ST_BACKENDS_CUDA_CODEGEN_PASSES_TD

include "backends/cuda/codegen/AttentionPasses.td"
include "backends/cuda/codegen/KernelPasses.td"
include "backends/cuda/codegen/LoweringPasses.td"

#endif // ST_BACKENDS_CUDA_CODEGEN_PASSES_TD
