// Asynchronous transfers to devices of the PJRT C API.
#pragma once

#include "plugins/pjrt/abi/Types.h"

struct PJRT_ShapeSpec {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const int64_t *dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
};
static_assert(sizeof(PJRT_ShapeSpec) == 40);

struct PJRT_Client_CreateBuffersForAsyncHostToDevice_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  const PJRT_ShapeSpec *shape_specs;
  size_t num_shape_specs;
  const PJRT_Buffer_MemoryLayout *const *device_layouts;
  size_t num_device_layouts;
  PJRT_Memory *memory;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
};
static_assert(sizeof(PJRT_Client_CreateBuffersForAsyncHostToDevice_Args) == 72);

struct PJRT_AsyncHostToDeviceTransferManager_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
};
static_assert(sizeof(PJRT_AsyncHostToDeviceTransferManager_Destroy_Args) == 24);

struct PJRT_AsyncHostToDeviceTransferManager_TransferData_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
  int buffer_index;
  const void *data;
  int64_t offset;
  int64_t transfer_size;
  bool is_last_transfer;
  PJRT_Event *done_with_h2d_transfer;
};
static_assert(sizeof(PJRT_AsyncHostToDeviceTransferManager_TransferData_Args) == 72);

struct PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
  int buffer_index;
  PJRT_Buffer *buffer_out;
};
static_assert(sizeof(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args) == 40);

struct PJRT_AsyncHostToDeviceTransferManager_Device_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
  PJRT_Device *device_out;
};
static_assert(sizeof(PJRT_AsyncHostToDeviceTransferManager_Device_Args) == 32);

struct PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
  size_t buffer_count;
};
static_assert(sizeof(PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args) == 32);

struct PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
  int buffer_index;
  size_t buffer_size;
};
static_assert(sizeof(PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args) == 40);

struct PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
  int buffer_index;
  PJRT_Error_Code error_code;
  const char *error_message;
  size_t error_message_size;
};
static_assert(sizeof(PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args) == 48);

struct PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
  void *transfer_metadata;
  size_t num_metadata;
};
static_assert(sizeof(PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args) == 40);
