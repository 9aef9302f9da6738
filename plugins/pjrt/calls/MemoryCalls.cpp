#include "plugins/pjrt/abi/Devices.h"
#include "plugins/pjrt/calls/Calls.h"

#include <cstring>

namespace st::pjrt {

namespace {

PJRT_DeviceMemory *asDevice(PJRT_Memory *memory) {
  return static_cast<PJRT_DeviceMemory *>(memory);
}

void *getUserData(PJRT_Memory *memory, const void *key) {
  PJRT_DeviceMemory &device = *asDevice(memory);
  std::lock_guard<std::mutex> lock(device.mutex);
  auto it = device.userData.find(key);
  return it == device.userData.end() ? nullptr : it->second.first;
}

void setUserData(PJRT_Memory *memory, const void *key, void *data, void (*destructor)(void *)) {
  PJRT_DeviceMemory &device = *asDevice(memory);
  std::pair<void *, void (*)(void *)> old = {nullptr, nullptr};
  {
    std::lock_guard<std::mutex> lock(device.mutex);
    old = std::exchange(device.userData[key], {data, destructor});
  }
  if (old.second)
    old.second(old.first);
}

constexpr PJRT_Memory_FunctionTable kMemoryTable = {sizeof(PJRT_Memory_FunctionTable), nullptr,
                                                    sizeof(PJRT_DeviceMemory), getUserData,
                                                    setUserData};

absl::Status idOf(PJRT_Memory_Id_Args &args) {
  args.id = asDevice(args.memory)->id;
  return absl::OkStatus();
}

absl::Status kindOf(PJRT_Memory_Kind_Args &args) {
  args.kind = kMemoryKinds[static_cast<size_t>(asDevice(args.memory)->kind)];
  args.kind_size = std::strlen(args.kind);
  return absl::OkStatus();
}

absl::Status kindIdOf(PJRT_Memory_Kind_Id_Args &args) {
  args.kind_id = static_cast<int>(asDevice(args.memory)->kind);
  return absl::OkStatus();
}

absl::Status debugString(PJRT_Memory_DebugString_Args &args) {
  args.debug_string = asDevice(args.memory)->text.data();
  args.debug_string_size = asDevice(args.memory)->text.size();
  return absl::OkStatus();
}

absl::Status toString(PJRT_Memory_ToString_Args &args) {
  args.to_string = asDevice(args.memory)->text.data();
  args.to_string_size = asDevice(args.memory)->text.size();
  return absl::OkStatus();
}

absl::Status devicesOf(PJRT_Memory_AddressableByDevices_Args &args) {
  args.devices = &asDevice(args.memory)->device;
  args.num_devices = 1;
  return absl::OkStatus();
}

} // namespace

void fillMemoryCalls(PJRT_Api &api) {
  api.PJRT_Memory_Id = Call<idOf>::call;
  api.PJRT_Memory_Kind = Call<kindOf>::call;
  api.PJRT_Memory_Kind_Id = Call<kindIdOf>::call;
  api.PJRT_Memory_DebugString = Call<debugString>::call;
  api.PJRT_Memory_ToString = Call<toString>::call;
  api.PJRT_Memory_AddressableByDevices = Call<devicesOf>::call;
}

} // namespace st::pjrt

PJRT_DeviceMemory::PJRT_DeviceMemory() : PJRT_Memory{&st::pjrt::kMemoryTable} {}

PJRT_DeviceMemory::~PJRT_DeviceMemory() {
  for (auto &[key, data] : userData)
    if (data.second)
      data.second(data.first);
}
