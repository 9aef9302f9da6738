#include "lib/Support/StatusMacros.h"
#include "plugins/pjrt/abi/Buffers.h"
#include "plugins/pjrt/abi/Transfers.h"
#include "plugins/pjrt/calls/Calls.h"

#include <cstring>

/// Arrays that a caller transfers in chunks.
struct PJRT_AsyncHostToDeviceTransferManager {
  PJRT_DeviceMemory *memory = nullptr;
  std::vector<std::shared_ptr<st::pjrt::DeviceArray>> arrays;
  std::vector<std::shared_ptr<st::pjrt::Storage>> bytes;
};

namespace st::pjrt {

namespace {

/// The target of a transfer: a caller names a device or a memory.
PJRT_DeviceMemory &placeOf(PJRT_Client *client, PJRT_Device *device, PJRT_Memory *memory) {
  if (memory)
    return *static_cast<PJRT_DeviceMemory *>(memory);
  return (device ? device : client->devicePointers.front())->memories[0];
}

absl::StatusOr<std::shared_ptr<DeviceArray>> createIn(const PJRT_DeviceMemory &memory,
                                                      ArrayType type) {
  return DeviceArray::create(std::move(type), *memory.device->device, memory.kind);
}

absl::StatusOr<ArrayType> typeOf(PJRT_Buffer_Type element, const int64_t *dims, size_t count) {
  if (byteWidth(element) == 0)
    return absl::UnimplementedError(absl::StrCat("an array of element type ", typeName(element),
                                                 " (", static_cast<int>(element),
                                                 ") cannot be put on a device"));
  return ArrayType{element, {dims, dims + count}};
}

/// The byte strides of a layout of a host's array; row-major by default.
absl::StatusOr<std::vector<int64_t>> stridesIn(const ArrayType &type,
                                               const PJRT_Buffer_MemoryLayout *layout) {
  if (!layout)
    return type.strides();
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides)
    return std::vector<int64_t>(layout->strides.byte_strides,
                                layout->strides.byte_strides + layout->strides.num_byte_strides);
  std::vector<int64_t> strides;
  ST_RETURN_IF_ERROR(
      stridesOf(type, {layout->tiled.minor_to_major, layout->tiled.minor_to_major_size}, strides));
  return strides;
}

absl::Status fromHost(PJRT_Client_BufferFromHostBuffer_Args &args) {
  const PJRT_DeviceMemory &memory = placeOf(args.client, args.device, args.memory);
  ST_ASSIGN_OR_RETURN(ArrayType type, typeOf(args.type, args.dims, args.num_dims));
  std::vector<int64_t> strides = type.strides();
  if (args.byte_strides && args.num_byte_strides == type.dims.size())
    strides.assign(args.byte_strides, args.byte_strides + args.num_byte_strides);
  else if (args.byte_strides && args.num_byte_strides > 0)
    return absl::InvalidArgumentError(
        absl::StrCat(args.num_byte_strides, " strides of ", type.describe()));
  ST_ASSIGN_OR_RETURN(std::shared_ptr<DeviceArray> array, createIn(memory, type));
  copyStrided(type, static_cast<const uint8_t *>(args.data), strides, array->storage()->data(),
              type.strides());
  array->ready().set(absl::OkStatus());
  args.done_with_host_buffer = new PJRT_Event{Completion::done()};
  args.buffer = makeBuffer(std::move(array), args.client);
  return absl::OkStatus();
}

absl::Status createUninitialized(PJRT_Client_CreateUninitializedBuffer_Args &args) {
  const PJRT_DeviceMemory &memory = placeOf(args.client, args.device, args.memory);
  ST_ASSIGN_OR_RETURN(ArrayType type,
                      typeOf(args.shape_element_type, args.shape_dims, args.shape_num_dims));
  ST_ASSIGN_OR_RETURN(std::shared_ptr<DeviceArray> array, createIn(memory, std::move(type)));
  array->ready().set(absl::OkStatus());
  args.buffer = makeBuffer(std::move(array), args.client);
  return absl::OkStatus();
}

absl::Status createFailed(PJRT_Client_CreateErrorBuffer_Args &args) {
  const PJRT_DeviceMemory &memory = placeOf(args.client, nullptr, args.memory);
  ST_ASSIGN_OR_RETURN(ArrayType type,
                      typeOf(args.shape_element_type, args.shape_dims, args.shape_num_dims));
  args.buffer = makeBuffer(DeviceArray::createFailed(std::move(type), *memory.device->device,
                                                     statusOf(args.error_code, args.error_message,
                                                              args.error_message_size)),
                           args.client);
  return absl::OkStatus();
}

absl::Status toHost(PJRT_Buffer_ToHostBuffer_Args &args) {
  const DeviceArray &array = *args.src->array;
  const ArrayType &type = array.type();
  const auto bytes = static_cast<size_t>(type.numBytes());
  if (!args.dst) {
    args.dst_size = bytes;
    return absl::OkStatus();
  }
  if (args.dst_size < bytes)
    return absl::InvalidArgumentError(absl::StrCat("the host's buffer has ", args.dst_size,
                                                   " bytes; ", type.describe(), " has ", bytes));
  std::shared_ptr<Storage> storage = array.storage();
  if (!storage)
    return absl::InvalidArgumentError("Array has been deleted: it cannot be copied to the host");
  ST_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, stridesIn(type, args.host_layout));
  const Completion copied;
  array.ready().onReady([=, to = static_cast<uint8_t *>(args.dst)](const absl::Status &status) {
    if (status.ok())
      copyStrided(type, storage->data(), type.strides(), to, strides);
    copied.set(status);
  });
  args.event = new PJRT_Event{copied};
  return absl::OkStatus();
}

absl::Status toHostRaw(PJRT_Buffer_CopyRawToHost_Args &args) {
  const DeviceArray &array = *args.buffer->array;
  std::shared_ptr<Storage> storage = array.storage();
  if (!storage)
    return absl::InvalidArgumentError("Array has been deleted: it cannot be copied to the host");
  if (args.offset < 0 || args.transfer_size < 0 ||
      args.transfer_size > storage->size() - args.offset)
    return absl::OutOfRangeError(absl::StrCat("bytes ", args.offset, " to ",
                                              args.offset + args.transfer_size, " of an array of ",
                                              storage->size()));
  const Completion copied;
  array.ready().onReady([storage, copied, to = args.dst, offset = args.offset,
                         size = args.transfer_size](const absl::Status &status) {
    if (status.ok())
      std::memcpy(to, storage->data() + offset, static_cast<size_t>(size));
    copied.set(status);
  });
  args.event = new PJRT_Event{copied};
  return absl::OkStatus();
}

// ---- transfers in chunks ------------------------------------------------------------------------

absl::Status createManager(PJRT_Client_CreateBuffersForAsyncHostToDevice_Args &args) {
  auto manager = std::make_unique<PJRT_AsyncHostToDeviceTransferManager>();
  manager->memory = &placeOf(args.client, nullptr, args.memory);
  for (size_t i = 0; i < args.num_shape_specs; ++i) {
    const PJRT_ShapeSpec &shape = args.shape_specs[i];
    ST_ASSIGN_OR_RETURN(ArrayType type, typeOf(shape.element_type, shape.dims, shape.num_dims));
    ST_ASSIGN_OR_RETURN(std::shared_ptr<DeviceArray> array,
                        createIn(*manager->memory, std::move(type)));
    manager->bytes.push_back(array->storage());
    manager->arrays.push_back(std::move(array));
  }
  args.transfer_manager = manager.release();
  return absl::OkStatus();
}

absl::Status destroyManager(PJRT_AsyncHostToDeviceTransferManager_Destroy_Args &args) {
  for (const auto &array : args.transfer_manager->arrays)
    array->ready().set(absl::CancelledError("the transfer ended before all bytes arrived"));
  delete args.transfer_manager;
  return absl::OkStatus();
}

absl::Status checkIndex(const PJRT_AsyncHostToDeviceTransferManager &manager, int index) {
  if (index < 0 || index >= static_cast<int>(manager.arrays.size()))
    return absl::InvalidArgumentError(
        absl::StrCat("there is no buffer ", index, " of ", manager.arrays.size()));
  return absl::OkStatus();
}

absl::Status transferData(PJRT_AsyncHostToDeviceTransferManager_TransferData_Args &args) {
  PJRT_AsyncHostToDeviceTransferManager &manager = *args.transfer_manager;
  ST_RETURN_IF_ERROR(checkIndex(manager, args.buffer_index));
  Storage &bytes = *manager.bytes[static_cast<size_t>(args.buffer_index)];
  if (args.offset < 0 || args.transfer_size < 0 || args.transfer_size > bytes.size() - args.offset)
    return absl::OutOfRangeError(absl::StrCat("bytes ", args.offset, " to ",
                                              args.offset + args.transfer_size, " of a buffer of ",
                                              bytes.size()));
  std::memcpy(bytes.data() + args.offset, args.data, static_cast<size_t>(args.transfer_size));
  if (args.is_last_transfer)
    manager.arrays[static_cast<size_t>(args.buffer_index)]->ready().set(absl::OkStatus());
  args.done_with_h2d_transfer = new PJRT_Event{Completion::done()};
  return absl::OkStatus();
}

absl::Status retrieve(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args &args) {
  PJRT_AsyncHostToDeviceTransferManager &manager = *args.transfer_manager;
  ST_RETURN_IF_ERROR(checkIndex(manager, args.buffer_index));
  args.buffer_out = makeBuffer(manager.arrays[static_cast<size_t>(args.buffer_index)],
                               manager.memory->device->client);
  return absl::OkStatus();
}

absl::Status deviceOfManager(PJRT_AsyncHostToDeviceTransferManager_Device_Args &args) {
  args.device_out = args.transfer_manager->memory->device;
  return absl::OkStatus();
}

absl::Status countBuffers(PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args &args) {
  args.buffer_count = args.transfer_manager->arrays.size();
  return absl::OkStatus();
}

absl::Status sizeOfBuffer(PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args &args) {
  ST_RETURN_IF_ERROR(checkIndex(*args.transfer_manager, args.buffer_index));
  args.buffer_size = static_cast<size_t>(
      args.transfer_manager->bytes[static_cast<size_t>(args.buffer_index)]->size());
  return absl::OkStatus();
}

absl::Status setError(PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args &args) {
  ST_RETURN_IF_ERROR(checkIndex(*args.transfer_manager, args.buffer_index));
  args.transfer_manager->arrays[static_cast<size_t>(args.buffer_index)]->ready().set(
      statusOf(args.error_code, args.error_message, args.error_message_size));
  return absl::OkStatus();
}

/// Ignores a caller's metadata of a transfer.
absl::Status addMetadata(PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args &) {
  return absl::OkStatus();
}

} // namespace

void fillTransferCalls(PJRT_Api &api) {
  api.PJRT_Client_BufferFromHostBuffer = Call<fromHost>::call;
  api.PJRT_Client_CreateUninitializedBuffer = Call<createUninitialized>::call;
  api.PJRT_Client_CreateErrorBuffer = Call<createFailed>::call;
  api.PJRT_Buffer_ToHostBuffer = Call<toHost>::call;
  api.PJRT_Buffer_CopyRawToHost = Call<toHostRaw>::call;
  api.PJRT_Client_CreateBuffersForAsyncHostToDevice = Call<createManager>::call;
  api.PJRT_AsyncHostToDeviceTransferManager_Destroy = Call<destroyManager>::call;
  api.PJRT_AsyncHostToDeviceTransferManager_TransferData = Call<transferData>::call;
  api.PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer = Call<retrieve>::call;
  api.PJRT_AsyncHostToDeviceTransferManager_Device = Call<deviceOfManager>::call;
  api.PJRT_AsyncHostToDeviceTransferManager_BufferCount = Call<countBuffers>::call;
  api.PJRT_AsyncHostToDeviceTransferManager_BufferSize = Call<sizeOfBuffer>::call;
  api.PJRT_AsyncHostToDeviceTransferManager_SetBufferError = Call<setError>::call;
  api.PJRT_AsyncHostToDeviceTransferManager_AddMetadata = Call<addMetadata>::call;
}

} // namespace st::pjrt
