#include "plugins/pjrt/runtime/DeviceArray.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace st::pjrt {

/// Callers may map the bytes as vectors of any width.
static constexpr size_t kAlignment = 64;

void Storage::Free::operator()(uint8_t *bytes) const { std::free(bytes); }

Storage::Storage(PluginDevice &device, int64_t count) : device(device), count(count) {}

absl::StatusOr<std::shared_ptr<Storage>> Storage::create(PluginDevice &device, int64_t bytes,
                                                         MemoryKind kind) {
  const bool isOnDevice = kind == MemoryKind::kDevice;
  if (isOnDevice)
    ST_RETURN_IF_ERROR(device.allocate(bytes));
  std::shared_ptr<Storage> storage(new Storage(device, bytes));
  storage->isDonated = !isOnDevice;
  const size_t rounded =
      (std::max<size_t>(static_cast<size_t>(bytes), 1) + kAlignment - 1) / kAlignment * kAlignment;
  storage->bytes.reset(static_cast<uint8_t *>(std::aligned_alloc(kAlignment, rounded)));
  if (!storage->bytes)
    return absl::ResourceExhaustedError(absl::StrCat("Out of memory: the host has no ", bytes,
                                                     " bytes for an array of device ",
                                                     device.index()));
  return storage;
}

Storage::~Storage() { donate(); }

void Storage::donate() {
  if (!std::exchange(isDonated, true))
    device.release(count);
}

absl::StatusOr<std::shared_ptr<DeviceArray>>
DeviceArray::create(ArrayType type, PluginDevice &device, MemoryKind kind) {
  ST_ASSIGN_OR_RETURN(std::shared_ptr<Storage> storage,
                      Storage::create(device, type.numBytes(), kind));
  return std::shared_ptr<DeviceArray>(
      new DeviceArray(std::move(type), device, kind, std::move(storage)));
}

std::shared_ptr<DeviceArray> DeviceArray::createFailed(ArrayType type, PluginDevice &device,
                                                       absl::Status status) {
  type.dims.assign(1, 0);
  auto none = Storage::create(device, 0);
  std::shared_ptr<DeviceArray> array(
      new DeviceArray(std::move(type), device, MemoryKind::kDevice, none.ok() ? *none : nullptr));
  array->completion.set(std::move(status));
  return array;
}

std::shared_ptr<Storage> DeviceArray::storage() const {
  std::lock_guard<std::mutex> lock(mutex);
  return held;
}

void DeviceArray::erase() { donate(); }

std::shared_ptr<Storage> DeviceArray::donate() {
  std::lock_guard<std::mutex> lock(mutex);
  return std::exchange(held, nullptr);
}

absl::StatusOr<std::shared_ptr<DeviceArray>> copyToDevice(const DeviceArray &array,
                                                          PluginDevice &device, MemoryKind kind) {
  std::shared_ptr<Storage> from = array.storage();
  if (!from)
    return absl::FailedPreconditionError("Array has been deleted: it cannot be copied");
  ST_ASSIGN_OR_RETURN(std::shared_ptr<DeviceArray> copy,
                      DeviceArray::create(array.type(), device, kind));
  std::shared_ptr<Storage> to = copy->storage();
  array.ready().onReady([from, to, done = copy->ready()](const absl::Status &status) {
    if (status.ok())
      std::memcpy(to->data(), from->data(), static_cast<size_t>(from->size()));
    done.set(status);
  });
  return copy;
}

} // namespace st::pjrt
