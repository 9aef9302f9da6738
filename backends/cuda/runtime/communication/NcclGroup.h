// Groups of ranks that NCCL joins.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_NCCLGROUP_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_NCCLGROUP_H

#include "backends/cuda/runtime/GpuDevice.h"
#include "backends/cuda/runtime/libraries/DriverLibraries.h"

namespace st::cuda {

/// A stream of the driver, to which NCCL can add work.
class StreamOfDriver : public GpuStream {
public:
  virtual Handle handle() const = 0;
};

/// Joins a group on the GPU that the calling thread has entered.
absl::StatusOr<std::unique_ptr<GpuGroup>> joinNcclGroup(const GpuDevice::GroupMember &member);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_NCCLGROUP_H
