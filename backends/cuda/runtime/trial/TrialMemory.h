// Memory in which commands are tried before a program runs.
#ifndef ST_BACKENDS_CUDA_RUNTIME_TRIAL_TRIALMEMORY_H
#define ST_BACKENDS_CUDA_RUNTIME_TRIAL_TRIALMEMORY_H

#include "backends/cuda/runtime/GpuDevice.h"

#include <map>

namespace st::cuda {

/// Replaces parts of a rank's memory, which stays unchanged. Freed with the object.
class TrialMemory {
public:
  explicit TrialMemory(GpuDevice &device) : device(device) {}
  ~TrialMemory();
  TrialMemory(const TrialMemory &) = delete;
  TrialMemory &operator=(const TrialMemory &) = delete;

  /// Bytes of the rank's memory that a command touches. Those that overlap stay so.
  void add(Address begin, int64_t bytes);

  /// Takes the memory, when all is added, and fills it with random numbers from -1 to 1 of a 16-bit
  /// type, which are finite in any other. An error where the device has too little.
  absl::Status take(proto::ElementType half);
  /// Translates an address of the rank's memory. Keeps its alignment up to 256 bytes.
  Address translate(Address address) const;

private:
  GpuDevice &device;
  std::map<Address, int64_t> parts; ///< of the rank's memory, apart from each other
  std::map<Address, Address> places;
  Address memory = 0;
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_TRIAL_TRIALMEMORY_H
