#include "plugins/pjrt/runtime/PluginDevice.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <utility>

namespace st::pjrt {

PluginDevice::PluginDevice(int index, int64_t hardwareId, std::string kind, int64_t memoryBytes)
    : number(index), hardware(hardwareId), kindName(std::move(kind)) {
  use.limit = memoryBytes;
}

absl::Status PluginDevice::allocate(int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  if (bytes > use.limit - use.inUse)
    return absl::ResourceExhaustedError(
        absl::StrCat("Out of memory while trying to allocate ", bytes, " bytes on device ", number,
                     " (", kindName, "): ", use.inUse, " of its ", use.limit, " bytes are in use"));
  use.inUse += bytes;
  use.peak = std::max(use.peak, use.inUse);
  use.largest = std::max(use.largest, bytes);
  ++use.allocations;
  return absl::OkStatus();
}

void PluginDevice::release(int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  use.inUse -= bytes;
}

DeviceMemoryUse PluginDevice::memoryUse() const {
  std::lock_guard<std::mutex> lock(mutex);
  return use;
}

void PluginDevice::clearMemoryUse() {
  std::lock_guard<std::mutex> lock(mutex);
  use.peak = use.inUse;
  use.largest = 0;
  use.allocations = 0;
}

} // namespace st::pjrt
