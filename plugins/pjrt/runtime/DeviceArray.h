// An array in a memory of one device: the class behind PJRT_Buffer.
#pragma once

#include "plugins/pjrt/runtime/ArrayType.h"
#include "plugins/pjrt/runtime/Completion.h"
#include "plugins/pjrt/runtime/PluginDevice.h"

#include "absl/status/statusor.h"

#include <memory>
#include <mutex>

namespace st::pjrt {

/// Bytes allocated in a memory of a device. Work that reads them holds a reference; the last one
/// frees them.
class Storage {
public:
  /// ResourceExhausted if the device or the host is out of memory.
  static absl::StatusOr<std::shared_ptr<Storage>> create(PluginDevice &device, int64_t bytes,
                                                         MemoryKind kind = MemoryKind::kDevice);
  ~Storage();
  Storage(const Storage &) = delete;
  Storage &operator=(const Storage &) = delete;

  uint8_t *data() { return bytes.get(); }
  int64_t size() const { return count; }
  /// Frees the device's bytes before the host's bytes: the program that receives the donation
  /// allocates its results there.
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
  /// An array whose elements arrive later. The caller must set `ready`.
  static absl::StatusOr<std::shared_ptr<DeviceArray>> create(ArrayType type, PluginDevice &device,
                                                             MemoryKind kind = MemoryKind::kDevice);
  /// An array that will never have elements.
  static std::shared_ptr<DeviceArray> createFailed(ArrayType type, PluginDevice &device,
                                                   absl::Status status);

  const ArrayType &type() const { return arrayType; }
  PluginDevice &device() const { return *home; }
  MemoryKind memory() const { return kind; }
  const Completion &ready() const { return completion; }

  /// Null once the array is deleted or donated.
  std::shared_ptr<Storage> storage() const;
  bool isDeleted() const { return storage() == nullptr; }
  void erase();
  /// Removes the bytes from the array. Null if it is deleted.
  std::shared_ptr<Storage> donate();

private:
  DeviceArray(ArrayType type, PluginDevice &device, MemoryKind kind,
              std::shared_ptr<Storage> storage)
      : arrayType(std::move(type)), home(&device), kind(kind), held(std::move(storage)) {}

  ArrayType arrayType;
  PluginDevice *home;
  MemoryKind kind;
  Completion completion;
  mutable std::mutex mutex;
  std::shared_ptr<Storage> held;
};

/// A copy in a memory of a device, possibly the array's own. FailedPrecondition for a deleted
/// array.
absl::StatusOr<std::shared_ptr<DeviceArray>> copyToDevice(const DeviceArray &array,
                                                          PluginDevice &device, MemoryKind kind);

} // namespace st::pjrt
