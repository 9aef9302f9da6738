// Adapts functions that return a status to the functions of the C API.
#pragma once

#include "plugins/pjrt/abi/Api.h"
#include "plugins/pjrt/calls/Handles.h"

#include "absl/strings/str_cat.h"

#include <cstring>

namespace st::pjrt {

/// A caller of another version may pass a structure that lacks fields at its end. The function then
/// receives a full structure whose additional fields are zero.
template <auto kFunction> struct Call;
template <typename Args, absl::Status (*kFunction)(Args &)> struct Call<kFunction> {
  static PJRT_Error *call(Args *args) {
    // Callers omit padding at the end of a structure.
    if (args->struct_size + alignof(Args) > sizeof(Args))
      return makeError(kFunction(*args));
    const size_t given = args->struct_size;
    Args complete = {};
    std::memcpy(&complete, args, given);
    absl::Status status = kFunction(complete);
    std::memcpy(args, &complete, given);
    return makeError(std::move(status));
  }
};

/// Adds the functions of one kind of object to the table.
void fillErrorCalls(PJRT_Api &api);
void fillEventCalls(PJRT_Api &api);
void fillClientCalls(PJRT_Api &api);
void fillTopologyCalls(PJRT_Api &api);
void fillDeviceCalls(PJRT_Api &api);
void fillMemoryCalls(PJRT_Api &api);
void fillBufferCalls(PJRT_Api &api);
void fillTransferCalls(PJRT_Api &api);
void fillExecutableCalls(PJRT_Api &api);
void fillLoadedExecutableCalls(PJRT_Api &api);
/// The head of the linked list of extensions.
PJRT_Extension_Base *extensions();
PJRT_Extension_Base *layoutsExtension();
PJRT_Extension_Base *abiVersionExtension();

} // namespace st::pjrt
