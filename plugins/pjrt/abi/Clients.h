// The plugin, clients and topologies of the PJRT C API.
#pragma once

#include "plugins/pjrt/abi/Types.h"

struct PJRT_Plugin_Initialize_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
};
static_assert(sizeof(PJRT_Plugin_Initialize_Args) == 16);

struct PJRT_Plugin_Attributes_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_NamedValue *attributes;
  size_t num_attributes;
};
static_assert(sizeof(PJRT_Plugin_Attributes_Args) == 32);

struct PJRT_Client_Create_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_NamedValue *create_options;
  size_t num_options;
  void *kv_get_callback;
  void *kv_get_user_arg;
  void *kv_put_callback;
  void *kv_put_user_arg;
  PJRT_Client *client;
  void *kv_try_get_callback;
  void *kv_try_get_user_arg;
};
static_assert(sizeof(PJRT_Client_Create_Args) == 88);

struct PJRT_Client_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
};
static_assert(sizeof(PJRT_Client_Destroy_Args) == 24);

struct PJRT_Client_PlatformName_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  const char *platform_name;
  size_t platform_name_size;
};
static_assert(sizeof(PJRT_Client_PlatformName_Args) == 40);

struct PJRT_Client_ProcessIndex_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  int process_index;
};
static_assert(sizeof(PJRT_Client_ProcessIndex_Args) == 32);

struct PJRT_Client_PlatformVersion_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  const char *platform_version;
  size_t platform_version_size;
};
static_assert(sizeof(PJRT_Client_PlatformVersion_Args) == 40);

struct PJRT_Client_Devices_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_Device *const *devices;
  size_t num_devices;
};
static_assert(sizeof(PJRT_Client_Devices_Args) == 40);

struct PJRT_Client_AddressableDevices_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_Device *const *addressable_devices;
  size_t num_addressable_devices;
};
static_assert(sizeof(PJRT_Client_AddressableDevices_Args) == 40);

struct PJRT_Client_LookupDevice_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  int id;
  PJRT_Device *device;
};
static_assert(sizeof(PJRT_Client_LookupDevice_Args) == 40);

struct PJRT_Client_LookupAddressableDevice_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  int local_hardware_id;
  PJRT_Device *addressable_device;
};
static_assert(sizeof(PJRT_Client_LookupAddressableDevice_Args) == 40);

struct PJRT_Client_AddressableMemories_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_Memory *const *addressable_memories;
  size_t num_addressable_memories;
};
static_assert(sizeof(PJRT_Client_AddressableMemories_Args) == 40);

struct PJRT_Client_Compile_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  const PJRT_Program *program;
  const char *compile_options;
  size_t compile_options_size;
  PJRT_LoadedExecutable *executable;
};
static_assert(sizeof(PJRT_Client_Compile_Args) == 56);

struct PJRT_Client_DefaultDeviceAssignment_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  int num_replicas;
  int num_partitions;
  size_t default_assignment_size;
  int *default_assignment;
};
static_assert(sizeof(PJRT_Client_DefaultDeviceAssignment_Args) == 48);

struct PJRT_Client_TopologyDescription_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_TopologyDescription *topology;
};
static_assert(sizeof(PJRT_Client_TopologyDescription_Args) == 32);

struct PJRT_TopologyDescription_PlatformName_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_TopologyDescription *topology;
  const char *platform_name;
  size_t platform_name_size;
};
static_assert(sizeof(PJRT_TopologyDescription_PlatformName_Args) == 40);

struct PJRT_TopologyDescription_PlatformVersion_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_TopologyDescription *topology;
  const char *platform_version;
  size_t platform_version_size;
};
static_assert(sizeof(PJRT_TopologyDescription_PlatformVersion_Args) == 40);

struct PJRT_TopologyDescription_GetDeviceDescriptions_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_TopologyDescription *topology;
  PJRT_DeviceDescription *const *descriptions;
  size_t num_descriptions;
};
static_assert(sizeof(PJRT_TopologyDescription_GetDeviceDescriptions_Args) == 40);

struct PJRT_TopologyDescription_Attributes_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_TopologyDescription *topology;
  const PJRT_NamedValue *attributes;
  size_t num_attributes;
};
static_assert(sizeof(PJRT_TopologyDescription_Attributes_Args) == 40);

struct PJRT_TopologyDescription_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_TopologyDescription *topology;
};
static_assert(sizeof(PJRT_TopologyDescription_Destroy_Args) == 24);

struct PJRT_TopologyDescription_Fingerprint_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_TopologyDescription *topology;
  size_t fingerprint;
};
static_assert(sizeof(PJRT_TopologyDescription_Fingerprint_Args) == 32);

struct PJRT_TopologyDescription_Create_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const char *topology_name;
  size_t topology_name_size;
  const PJRT_NamedValue *create_options;
  size_t num_options;
  PJRT_TopologyDescription *topology;
};
static_assert(sizeof(PJRT_TopologyDescription_Create_Args) == 56);

struct PJRT_TopologyDescription_Serialize_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_TopologyDescription *topology;
  const char *serialized_bytes;
  size_t serialized_bytes_size;
  PJRT_Serialized *serialized_topology;
  void (*serialized_topology_deleter)(PJRT_Serialized *);
};
static_assert(sizeof(PJRT_TopologyDescription_Serialize_Args) == 56);

struct PJRT_TopologyDescription_Deserialize_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const char *serialized_topology;
  size_t serialized_topology_size;
  PJRT_TopologyDescription *topology;
};
static_assert(sizeof(PJRT_TopologyDescription_Deserialize_Args) == 40);

struct PJRT_TopologyDescription_GetMemorySpaceKindIds_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_TopologyDescription *topology;
  const int *memory_space_kind_ids;
  size_t num_memory_space_kind_ids;
};
static_assert(sizeof(PJRT_TopologyDescription_GetMemorySpaceKindIds_Args) == 40);

/// `client` may be null.
struct PJRT_Compile_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_TopologyDescription *topology;
  const PJRT_Program *program;
  const char *compile_options;
  size_t compile_options_size;
  PJRT_Client *client;
  PJRT_Executable *executable;
};
static_assert(sizeof(PJRT_Compile_Args) == 64);
