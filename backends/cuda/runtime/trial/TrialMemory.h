// Memory for trials of commands before a program runs.
#ifndef ST_BACKENDS_CUDA_RUNTIME_TRIAL_TRIALMEMORY_H
#define ST_BACKENDS_CUDA_RUNTIME_TRIAL_TRIALMEMORY_H

#include "backends/cuda/runtime/GpuDevice.h"

#include <map>

namespace st::cuda {

/// A substitute for parts of a rank's memory, which trials must not change. Freed with the object.
class TrialMemory {
public:
  explicit TrialMemory(GpuDevice &device) : device(device) {}
  ~TrialMemory();
  TrialMemory(const TrialMemory &) = delete;
  TrialMemory &operator=(const TrialMemory &) = delete;

  /// Adds bytes of the rank's memory that a command accesses. Overlapping ranges still overlap.
  void add(Address begin, int64_t bytes);

  /// Allocates the memory after all calls of add(), and fills it with random 16-bit numbers from -1
  /// to 1. They are finite in any other type. An error if the device has too little memory.
  absl::Status allocate(proto::ElementType half);
  /// Translates an address of the rank's memory. Keeps its alignment up to 256 bytes.
  Address translate(Address address) const;

private:
  GpuDevice &device;
  std::map<Address, int64_t> parts; ///< of the rank's memory, disjoint
  std::map<Address, Address> places;
  Address memory = 0;
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_TRIAL_TRIALMEMORY_H
