#include "plugins/pjrt/abi/Devices.h"
#include "plugins/pjrt/calls/Calls.h"

namespace st::pjrt {

namespace {

absl::Status descriptionId(PJRT_DeviceDescription_Id_Args &args) {
  args.id = args.device_description->id;
  return absl::OkStatus();
}

absl::Status descriptionProcess(PJRT_DeviceDescription_ProcessIndex_Args &args) {
  args.process_index = 0;
  return absl::OkStatus();
}

absl::Status descriptionAttributes(PJRT_DeviceDescription_Attributes_Args &args) {
  args.attributes = args.device_description->attributes.data();
  args.num_attributes = args.device_description->attributes.size();
  return absl::OkStatus();
}

absl::Status descriptionKind(PJRT_DeviceDescription_Kind_Args &args) {
  args.device_kind = args.device_description->kind.data();
  args.device_kind_size = args.device_description->kind.size();
  return absl::OkStatus();
}

absl::Status descriptionDebugString(PJRT_DeviceDescription_DebugString_Args &args) {
  args.debug_string = args.device_description->text.data();
  args.debug_string_size = args.device_description->text.size();
  return absl::OkStatus();
}

absl::Status descriptionToString(PJRT_DeviceDescription_ToString_Args &args) {
  args.to_string = args.device_description->text.data();
  args.to_string_size = args.device_description->text.size();
  return absl::OkStatus();
}

absl::Status getDescription(PJRT_Device_GetDescription_Args &args) {
  args.device_description = &args.device->description;
  return absl::OkStatus();
}

absl::Status isAddressable(PJRT_Device_IsAddressable_Args &args) {
  args.is_addressable = true;
  return absl::OkStatus();
}

absl::Status localHardwareId(PJRT_Device_LocalHardwareId_Args &args) {
  args.local_hardware_id = args.device->device->index();
  return absl::OkStatus();
}

absl::Status memoriesOf(PJRT_Device_AddressableMemories_Args &args) {
  args.memories = args.device->memoryPointers.data();
  args.num_memories = args.device->memoryPointers.size();
  return absl::OkStatus();
}

absl::Status defaultMemory(PJRT_Device_DefaultMemory_Args &args) {
  args.memory = &args.device->memories[0];
  return absl::OkStatus();
}

absl::Status memoryStats(PJRT_Device_MemoryStats_Args &args) {
  const DeviceMemoryUse use = args.device->device->memoryUse();
  const auto set = [](int64_t value, int64_t &to, bool &isSet) {
    to = value;
    isSet = true;
  };
  args.bytes_in_use = use.inUse;
  set(use.peak, args.peak_bytes_in_use, args.peak_bytes_in_use_is_set);
  set(use.allocations, args.num_allocs, args.num_allocs_is_set);
  set(use.largest, args.largest_alloc_size, args.largest_alloc_size_is_set);
  set(use.limit, args.bytes_limit, args.bytes_limit_is_set);
  set(use.limit - use.inUse, args.largest_free_block_bytes, args.largest_free_block_bytes_is_set);
  args.bytes_reserved_is_set = args.peak_bytes_reserved_is_set =
      args.bytes_reservable_limit_is_set = args.pool_bytes_is_set = args.peak_pool_bytes_is_set =
          args.peak_allocated_bytes_is_set = false;
  return absl::OkStatus();
}

absl::Status clearMemoryStats(PJRT_Device_ClearMemoryStats_Args &args) {
  args.device->device->clearMemoryUse();
  return absl::OkStatus();
}

absl::Status getAttributes(PJRT_Device_GetAttributes_Args &args) {
  args.attributes = args.device->description.attributes.data();
  args.num_attributes = args.device->description.attributes.size();
  args.device_attributes = nullptr;
  // The attributes live as long as the device.
  args.attributes_deleter = [](PJRT_Device_Attributes *) {};
  return absl::OkStatus();
}

} // namespace

void fillDeviceCalls(PJRT_Api &api) {
  api.PJRT_DeviceDescription_Id = Call<descriptionId>::call;
  api.PJRT_DeviceDescription_ProcessIndex = Call<descriptionProcess>::call;
  api.PJRT_DeviceDescription_Attributes = Call<descriptionAttributes>::call;
  api.PJRT_DeviceDescription_Kind = Call<descriptionKind>::call;
  api.PJRT_DeviceDescription_DebugString = Call<descriptionDebugString>::call;
  api.PJRT_DeviceDescription_ToString = Call<descriptionToString>::call;
  api.PJRT_Device_GetDescription = Call<getDescription>::call;
  api.PJRT_Device_IsAddressable = Call<isAddressable>::call;
  api.PJRT_Device_LocalHardwareId = Call<localHardwareId>::call;
  api.PJRT_Device_AddressableMemories = Call<memoriesOf>::call;
  api.PJRT_Device_DefaultMemory = Call<defaultMemory>::call;
  api.PJRT_Device_MemoryStats = Call<memoryStats>::call;
  api.PJRT_Device_ClearMemoryStats = Call<clearMemoryStats>::call;
  api.PJRT_Device_GetAttributes = Call<getAttributes>::call;
}

} // namespace st::pjrt
