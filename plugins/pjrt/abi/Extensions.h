// Extensions of the PJRT C API.
#pragma once

#include "plugins/pjrt/abi/Types.h"

struct PJRT_Shardings_PJRT_Executable_ParameterShardings_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_parameters;
  const char *const *shardings;
  const size_t *sharding_sizes;
};
static_assert(sizeof(PJRT_Shardings_PJRT_Executable_ParameterShardings_Args) == 48);

struct PJRT_Shardings_PJRT_Executable_OutputShardings_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_outputs;
  const char *const *shardings;
  const size_t *sharding_sizes;
};
static_assert(sizeof(PJRT_Shardings_PJRT_Executable_OutputShardings_Args) == 48);

struct PJRT_Shardings_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*PJRT_Shardings_PJRT_Executable_ParameterShardings)(
      PJRT_Shardings_PJRT_Executable_ParameterShardings_Args *);
  PJRT_Error *(*PJRT_Shardings_PJRT_Executable_OutputShardings)(
      PJRT_Shardings_PJRT_Executable_OutputShardings_Args *);
};
static_assert(sizeof(PJRT_Shardings_Extension) == 40);

// ---- layouts ------------------------------------------------------------------------------------

struct PJRT_Layouts_MemoryLayout_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Layouts_MemoryLayout *layout;
};
static_assert(sizeof(PJRT_Layouts_MemoryLayout_Destroy_Args) == 24);

struct PJRT_Layouts_MemoryLayout_Serialize_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Layouts_MemoryLayout *layout;
  const char *serialized_bytes;
  size_t serialized_bytes_size;
  PJRT_Serialized *serialized_layout;
  void (*serialized_layout_deleter)(PJRT_Serialized *);
};
static_assert(sizeof(PJRT_Layouts_MemoryLayout_Serialize_Args) == 56);

struct PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_Buffer_Type type;
  const int64_t *dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout *layout;
};
static_assert(sizeof(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args) == 56);

struct PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  PJRT_Layouts_MemoryLayout *layout;
};
static_assert(sizeof(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args) == 32);

struct PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_TopologyDescription *topology_description;
  PJRT_Buffer_Type type;
  const int64_t *dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout *layout;
};
static_assert(sizeof(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args) == 56);

struct PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_outputs;
  PJRT_Layouts_MemoryLayout **layouts;
};
static_assert(sizeof(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args) == 40);

struct PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_parameters;
  PJRT_Layouts_MemoryLayout **layouts;
};
static_assert(sizeof(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args) == 40);

struct PJRT_Layouts_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*PJRT_Layouts_MemoryLayout_Destroy)(PJRT_Layouts_MemoryLayout_Destroy_Args *);
  PJRT_Error *(*PJRT_Layouts_MemoryLayout_Serialize)(PJRT_Layouts_MemoryLayout_Serialize_Args *);
  PJRT_Error *(*PJRT_Layouts_PJRT_Client_GetDefaultLayout)(
      PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args *);
  PJRT_Error *(*PJRT_Layouts_PJRT_Buffer_MemoryLayout)(
      PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args *);
  PJRT_Error *(*PJRT_Layouts_PJRT_Topology_GetDefaultLayout)(
      PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args *);
  PJRT_Error *(*PJRT_Layouts_PJRT_Executable_GetOutputLayouts)(
      PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args *);
  PJRT_Error *(*PJRT_Layouts_PJRT_Executable_GetParameterLayouts)(
      PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args *);
};
static_assert(sizeof(PJRT_Layouts_Extension) == 80);

// ---- versions -----------------------------------------------------------------------------------

// Versions that an executable needs or a client runs. These structures have no extensions.

struct PJRT_Client_RuntimeAbiVersion_Args {
  size_t struct_size;
  PJRT_Client *client;
  PJRT_AbiVersion *abi_version;
};
static_assert(sizeof(PJRT_Client_RuntimeAbiVersion_Args) == 24);

struct PJRT_Executable_GetAbiVersion_Args {
  size_t struct_size;
  PJRT_Executable *executable;
  PJRT_AbiVersion *abi_version;
};
static_assert(sizeof(PJRT_Executable_GetAbiVersion_Args) == 24);

struct PJRT_RuntimeAbiVersion_Destroy_Args {
  size_t struct_size;
  PJRT_AbiVersion *abi_version;
};
static_assert(sizeof(PJRT_RuntimeAbiVersion_Destroy_Args) == 16);

struct PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args {
  size_t struct_size;
  PJRT_AbiVersion *abi_version;
  PJRT_AbiVersion *other_abi_version;
};
static_assert(sizeof(PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args) == 24);

struct PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args {
  size_t struct_size;
  PJRT_AbiVersion *abi_version;
  PJRT_AbiVersion *executable_abi_version;
};
static_assert(sizeof(PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args) == 24);

struct PJRT_RuntimeAbiVersion_ToProto_Args {
  size_t struct_size;
  PJRT_AbiVersion *abi_version;
  const char *serialized_proto;
  size_t serialized_proto_size;
  PJRT_Serialized *serialized_proto_holder;
  void (*serialized_proto_deleter)(PJRT_Serialized *);
};
static_assert(sizeof(PJRT_RuntimeAbiVersion_ToProto_Args) == 48);

struct PJRT_RuntimeAbiVersion_PlatformId_Args {
  size_t struct_size;
  PJRT_AbiVersion *abi_version;
  uint64_t platform_id;
};
static_assert(sizeof(PJRT_RuntimeAbiVersion_PlatformId_Args) == 24);

struct PJRT_ExecutableAbiVersion_Destroy_Args {
  size_t struct_size;
  PJRT_AbiVersion *abi_version;
};
static_assert(sizeof(PJRT_ExecutableAbiVersion_Destroy_Args) == 16);

struct PJRT_ExecutableAbiVersion_ToProto_Args {
  size_t struct_size;
  PJRT_AbiVersion *abi_version;
  const char *serialized_proto;
  size_t serialized_proto_size;
  PJRT_Serialized *serialized_proto_holder;
  void (*serialized_proto_deleter)(PJRT_Serialized *);
};
static_assert(sizeof(PJRT_ExecutableAbiVersion_ToProto_Args) == 48);

struct PJRT_ExecutableAbiVersion_PlatformId_Args {
  size_t struct_size;
  PJRT_AbiVersion *abi_version;
  uint64_t platform_id;
};
static_assert(sizeof(PJRT_ExecutableAbiVersion_PlatformId_Args) == 24);

struct PJRT_RuntimeAbiVersion_FromProto_Args {
  size_t struct_size;
  const char *serialized_proto;
  size_t serialized_proto_size;
  PJRT_AbiVersion *abi_version;
};
static_assert(sizeof(PJRT_RuntimeAbiVersion_FromProto_Args) == 32);

struct PJRT_ExecutableAbiVersion_FromProto_Args {
  size_t struct_size;
  const char *serialized_proto;
  size_t serialized_proto_size;
  PJRT_AbiVersion *abi_version;
};
static_assert(sizeof(PJRT_ExecutableAbiVersion_FromProto_Args) == 32);

struct PJRT_AbiVersion_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*client_runtime_abi_version)(PJRT_Client_RuntimeAbiVersion_Args *);
  PJRT_Error *(*executable_get_abi_version)(PJRT_Executable_GetAbiVersion_Args *);
  PJRT_Error *(*runtime_abi_version_destroy)(PJRT_RuntimeAbiVersion_Destroy_Args *);
  PJRT_Error *(*runtime_abi_version_is_compatible_with_runtime)(
      PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args *);
  PJRT_Error *(*runtime_abi_version_is_compatible_with_executable)(
      PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args *);
  PJRT_Error *(*runtime_abi_version_to_proto)(PJRT_RuntimeAbiVersion_ToProto_Args *);
  PJRT_Error *(*runtime_abi_version_platform_id)(PJRT_RuntimeAbiVersion_PlatformId_Args *);
  PJRT_Error *(*executable_abi_version_destroy)(PJRT_ExecutableAbiVersion_Destroy_Args *);
  PJRT_Error *(*executable_abi_version_to_proto)(PJRT_ExecutableAbiVersion_ToProto_Args *);
  PJRT_Error *(*executable_abi_version_platform_id)(PJRT_ExecutableAbiVersion_PlatformId_Args *);
  PJRT_Error *(*runtime_abi_version_from_proto)(PJRT_RuntimeAbiVersion_FromProto_Args *);
  PJRT_Error *(*executable_abi_version_from_proto)(PJRT_ExecutableAbiVersion_FromProto_Args *);
};
static_assert(sizeof(PJRT_AbiVersion_Extension) == 120);
