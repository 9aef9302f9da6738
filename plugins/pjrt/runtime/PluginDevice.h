// A simulated device and the use of its memory: the class behind PJRT_Device.
#pragma once

#include "absl/status/status.h"

#include <cstdint>
#include <mutex>
#include <string>

namespace st::pjrt {

/// Bytes of a device's memory.
struct DeviceMemoryUse {
  int64_t inUse = 0, peak = 0, largest = 0, limit = 0;
  int64_t allocations = 0;
};

/// The memories of a device. Arrays in the host's memory take no room on the device.
enum class MemoryKind { kDevice, kPinnedHost, kUnpinnedHost };
/// JAX's names of the kinds.
constexpr const char *kMemoryKinds[] = {"device", "pinned_host", "unpinned_host"};

class PluginDevice {
public:
  /// `index` numbers the devices of a client from 0, `hardwareId` as the description does.
  PluginDevice(int index, int64_t hardwareId, std::string kind, int64_t memoryBytes);

  int index() const { return number; }
  int64_t hardwareId() const { return hardware; }
  const std::string &kind() const { return kindName; }

  /// ResourceExhausted if the memory has no room.
  absl::Status allocate(int64_t bytes);
  void release(int64_t bytes);
  DeviceMemoryUse memoryUse() const;
  /// Resets the peak and the largest allocation.
  void clearMemoryUse();

private:
  int number;
  int64_t hardware;
  std::string kindName;
  mutable std::mutex mutex;
  DeviceMemoryUse use;
};

} // namespace st::pjrt
