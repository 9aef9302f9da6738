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
