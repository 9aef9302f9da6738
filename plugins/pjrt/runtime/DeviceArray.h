// An array in the memory of one device: the class behind PJRT_Buffer.
#pragma once

#include "plugins/pjrt/runtime/ArrayType.h"
#include "plugins/pjrt/runtime/Completion.h"
#include "plugins/pjrt/runtime/PluginDevice.h"

#include "absl/status/statusor.h"

#include <memory>
#include <mutex>

namespace st::pjrt {

/// Bytes that a device has lent. Work that reads them holds them; they go back with their last
/// holder.
class Storage {
public:
  /// ResourceExhausted where the device or the host has no room.
  static absl::StatusOr<std::shared_ptr<Storage>> create(PluginDevice &device, int64_t bytes);
  ~Storage();
  Storage(const Storage &) = delete;
  Storage &operator=(const Storage &) = delete;

  uint8_t *data() { return bytes.get(); }
  int64_t size() const { return count; }
  /// Gives the device's bytes back before the host's: a program that a caller donates them to puts
  /// its results there.
  void donate();

private:
  Storage(PluginDevice &device, int64_t count);
  PluginDevice &device;
  int64_t count;
  bool isDonated = false;
  struct Free {
    void operator()(uint8_t *bytes) const;
  };
  std::unique_ptr<uint8_t, Free> bytes;
};

class DeviceArray {
public:
  /// An array whose elements are yet to come: `ready` is to be set.
  static absl::StatusOr<std::shared_ptr<DeviceArray>> create(ArrayType type, PluginDevice &device);
  /// An array that will never have elements.
  static std::shared_ptr<DeviceArray> createFailed(ArrayType type, PluginDevice &device,
                                                   absl::Status status);

  const ArrayType &type() const { return arrayType; }
  PluginDevice &device() const { return *home; }
  const Completion &ready() const { return completion; }

  /// Null once the array is deleted or donated.
  std::shared_ptr<Storage> storage() const;
  bool isDeleted() const { return storage() == nullptr; }
  void erase();
  /// Takes the bytes away from the array. Null where it is deleted.
  std::shared_ptr<Storage> donate();

private:
  DeviceArray(ArrayType type, PluginDevice &device, std::shared_ptr<Storage> storage)
      : arrayType(std::move(type)), home(&device), held(std::move(storage)) {}

  ArrayType arrayType;
  PluginDevice *home;
  Completion completion;
  mutable std::mutex mutex;
  std::shared_ptr<Storage> held;
};

/// A copy on a device, which may be the array's own. FailedPrecondition of a deleted array.
absl::StatusOr<std::shared_ptr<DeviceArray>> copyToDevice(const DeviceArray &array,
                                                          PluginDevice &device);

} // namespace st::pjrt
