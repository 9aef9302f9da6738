#include "lib/Support/StatusMacros.h"
#include "plugins/pjrt/abi/Buffers.h"
#include "plugins/pjrt/calls/Calls.h"

namespace st::pjrt {

namespace {

absl::Status destroyBuffer(PJRT_Buffer_Destroy_Args &args) {
  delete args.buffer;
  return absl::OkStatus();
}

absl::Status elementTypeOf(PJRT_Buffer_ElementType_Args &args) {
  args.type = args.buffer->array->type().element;
  return absl::OkStatus();
}

absl::Status dimensionsOf(PJRT_Buffer_Dimensions_Args &args) {
  args.dims = args.buffer->array->type().dims.data();
  args.num_dims = args.buffer->array->type().dims.size();
  return absl::OkStatus();
}

absl::Status unpaddedDimensionsOf(PJRT_Buffer_UnpaddedDimensions_Args &args) {
  args.unpadded_dims = args.buffer->array->type().dims.data();
  args.num_dims = args.buffer->array->type().dims.size();
  return absl::OkStatus();
}

absl::Status dynamicDimensionsOf(PJRT_Buffer_DynamicDimensionIndices_Args &args) {
  args.dynamic_dim_indices = nullptr;
  args.num_dynamic_dims = 0;
  return absl::OkStatus();
}

absl::Status layoutOf(PJRT_Buffer_GetMemoryLayout_Args &args) {
  args.layout = {};
  args.layout.struct_size = sizeof(PJRT_Buffer_MemoryLayout);
  args.layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  args.layout.tiled = {};
  args.layout.tiled.struct_size = sizeof(PJRT_Buffer_MemoryLayout_Tiled);
  args.layout.tiled.minor_to_major = args.buffer->minorToMajor.data();
  args.layout.tiled.minor_to_major_size = args.buffer->minorToMajor.size();
  return absl::OkStatus();
}

absl::Status sizeOf(PJRT_Buffer_OnDeviceSizeInBytes_Args &args) {
  args.on_device_size_in_bytes = static_cast<size_t>(args.buffer->array->type().numBytes());
  return absl::OkStatus();
}

absl::Status deviceOf(PJRT_Buffer_Device_Args &args) {
  args.device = args.buffer->client->find(args.buffer->array->device());
  return absl::OkStatus();
}

absl::Status memoryOf(PJRT_Buffer_Memory_Args &args) {
  const DeviceArray &array = *args.buffer->array;
  args.memory =
      &args.buffer->client->find(array.device())->memories[static_cast<size_t>(array.memory())];
  return absl::OkStatus();
}

absl::Status eraseBuffer(PJRT_Buffer_Delete_Args &args) {
  args.buffer->array->erase();
  return absl::OkStatus();
}

absl::Status isDeleted(PJRT_Buffer_IsDeleted_Args &args) {
  args.is_deleted = args.buffer->array->isDeleted();
  return absl::OkStatus();
}

absl::Status isOnCpu(PJRT_Buffer_IsOnCpu_Args &args) {
  args.is_on_cpu = false;
  return absl::OkStatus();
}

absl::Status readyEvent(PJRT_Buffer_ReadyEvent_Args &args) {
  if (args.buffer->array->isDeleted())
    return absl::InvalidArgumentError("Array has been deleted: it never becomes ready");
  args.event = new PJRT_Event{args.buffer->array->ready()};
  return absl::OkStatus();
}

absl::Status copyToDeviceCall(PJRT_Buffer_CopyToDevice_Args &args) {
  ST_ASSIGN_OR_RETURN(
      std::shared_ptr<DeviceArray> copy,
      copyToDevice(*args.buffer->array, *args.dst_device->device, args.buffer->array->memory()));
  args.dst_buffer = makeBuffer(std::move(copy), args.dst_device->client);
  return absl::OkStatus();
}

absl::Status copyToMemory(PJRT_Buffer_CopyToMemory_Args &args) {
  PJRT_DeviceMemory &memory = *static_cast<PJRT_DeviceMemory *>(args.dst_memory);
  ST_ASSIGN_OR_RETURN(std::shared_ptr<DeviceArray> copy,
                      copyToDevice(*args.buffer->array, *memory.device->device, memory.kind));
  args.dst_buffer = makeBuffer(std::move(copy), memory.device->client);
  return absl::OkStatus();
}

/// The bytes of an array once it is ready for reading.
absl::StatusOr<std::shared_ptr<Storage>> readyBytes(const PJRT_Buffer &buffer) {
  std::shared_ptr<Storage> storage = buffer.array->storage();
  if (!storage)
    return absl::InvalidArgumentError("Array has been deleted: it has no bytes");
  ST_RETURN_IF_ERROR(buffer.array->ready().wait());
  return storage;
}

absl::Status unsafePointer(PJRT_Buffer_UnsafePointer_Args &args) {
  ST_ASSIGN_OR_RETURN(std::shared_ptr<Storage> storage, readyBytes(*args.buffer));
  args.buffer_pointer = reinterpret_cast<uintptr_t>(storage->data());
  return absl::OkStatus();
}

absl::Status opaquePointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args &args) {
  ST_ASSIGN_OR_RETURN(std::shared_ptr<Storage> storage, readyBytes(*args.buffer));
  args.device_memory_ptr = storage->data();
  return absl::OkStatus();
}

absl::Status addReference(PJRT_Buffer_IncreaseExternalReferenceCount_Args &args) {
  std::shared_ptr<Storage> storage = args.buffer->array->storage();
  if (!storage)
    return absl::InvalidArgumentError("Array has been deleted: it has no buffer to refer to");
  args.buffer->externalReferences.push_back(std::move(storage));
  return absl::OkStatus();
}

absl::Status dropReference(PJRT_Buffer_DecreaseExternalReferenceCount_Args &args) {
  if (args.buffer->externalReferences.empty())
    return absl::InvalidArgumentError("the buffer has no external reference to drop");
  args.buffer->externalReferences.pop_back();
  return absl::OkStatus();
}

} // namespace

void fillBufferCalls(PJRT_Api &api) {
  api.PJRT_Buffer_Destroy = Call<destroyBuffer>::call;
  api.PJRT_Buffer_ElementType = Call<elementTypeOf>::call;
  api.PJRT_Buffer_Dimensions = Call<dimensionsOf>::call;
  api.PJRT_Buffer_UnpaddedDimensions = Call<unpaddedDimensionsOf>::call;
  api.PJRT_Buffer_DynamicDimensionIndices = Call<dynamicDimensionsOf>::call;
  api.PJRT_Buffer_GetMemoryLayout = Call<layoutOf>::call;
  api.PJRT_Buffer_OnDeviceSizeInBytes = Call<sizeOf>::call;
  api.PJRT_Buffer_Device = Call<deviceOf>::call;
  api.PJRT_Buffer_Memory = Call<memoryOf>::call;
  api.PJRT_Buffer_Delete = Call<eraseBuffer>::call;
  api.PJRT_Buffer_IsDeleted = Call<isDeleted>::call;
  api.PJRT_Buffer_CopyToDevice = Call<copyToDeviceCall>::call;
  api.PJRT_Buffer_CopyToMemory = Call<copyToMemory>::call;
  api.PJRT_Buffer_IsOnCpu = Call<isOnCpu>::call;
  api.PJRT_Buffer_ReadyEvent = Call<readyEvent>::call;
  api.PJRT_Buffer_UnsafePointer = Call<unsafePointer>::call;
  api.PJRT_Buffer_OpaqueDeviceMemoryDataPointer = Call<opaquePointer>::call;
  api.PJRT_Buffer_IncreaseExternalReferenceCount = Call<addReference>::call;
  api.PJRT_Buffer_DecreaseExternalReferenceCount = Call<dropReference>::call;
}

} // namespace st::pjrt
