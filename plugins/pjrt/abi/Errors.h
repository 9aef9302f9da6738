// Errors and events of the PJRT C API.
#pragma once

#include "plugins/pjrt/abi/Types.h"

struct PJRT_Error_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Error *error;
};
static_assert(sizeof(PJRT_Error_Destroy_Args) == 24);

struct PJRT_Error_Message_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_Error *error;
  const char *message;
  size_t message_size;
};
static_assert(sizeof(PJRT_Error_Message_Args) == 40);

struct PJRT_Error_GetCode_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Error *error;
  PJRT_Error_Code code;
};
static_assert(sizeof(PJRT_Error_GetCode_Args) == 32);

struct PJRT_Error_ForEachPayload_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Error *error;
  PJRT_Error_PayloadVisitor visitor;
  void *user_arg;
};
static_assert(sizeof(PJRT_Error_ForEachPayload_Args) == 40);

struct PJRT_Event_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Event *event;
};
static_assert(sizeof(PJRT_Event_Destroy_Args) == 24);

struct PJRT_Event_IsReady_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Event *event;
  bool is_ready;
};
static_assert(sizeof(PJRT_Event_IsReady_Args) == 32);

struct PJRT_Event_Error_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Event *event;
};
static_assert(sizeof(PJRT_Event_Error_Args) == 24);

struct PJRT_Event_Await_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Event *event;
};
static_assert(sizeof(PJRT_Event_Await_Args) == 24);

struct PJRT_Event_OnReady_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Event *event;
  PJRT_Event_OnReadyCallback callback;
  void *user_arg;
};
static_assert(sizeof(PJRT_Event_OnReady_Args) == 40);

struct PJRT_Event_Create_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Event *event;
};
static_assert(sizeof(PJRT_Event_Create_Args) == 24);

struct PJRT_Event_Set_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Event *event;
  PJRT_Error_Code error_code;
  const char *error_message;
  size_t error_message_size;
};
static_assert(sizeof(PJRT_Event_Set_Args) == 48);
