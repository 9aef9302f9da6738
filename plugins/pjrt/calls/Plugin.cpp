// The entry point of the shared library.

#include "plugins/pjrt/calls/Calls.h"

namespace st::pjrt {

namespace {

enum class Function {
#define ST_PJRT_NAME(name) name,
  ST_PJRT_FUNCTIONS(ST_PJRT_NAME)
#undef ST_PJRT_NAME
};

const char *nameOf(Function function) {
  static constexpr const char *kNames[] = {
#define ST_PJRT_NAME(name) #name,
      ST_PJRT_FUNCTIONS(ST_PJRT_NAME)
#undef ST_PJRT_NAME
  };
  return kNames[static_cast<size_t>(function)];
}

template <typename Args, Function kFunction> PJRT_Error *refuse(Args *) {
  return makeError(
      absl::UnimplementedError(absl::StrCat(nameOf(kFunction), " is not implemented by st")));
}

PJRT_Api makeApi() {
  PJRT_Api api = {};
  api.struct_size = sizeof(PJRT_Api);
  api.extension_start = extensions();
  api.pjrt_api_version = {sizeof(PJRT_Api_Version), nullptr, kPjrtMajorVersion, kPjrtMinorVersion};
#define ST_PJRT_REFUSE(name) api.name = refuse<name##_Args, Function::name>;
  ST_PJRT_FUNCTIONS(ST_PJRT_REFUSE)
#undef ST_PJRT_REFUSE
  fillErrorCalls(api);
  fillEventCalls(api);
  fillClientCalls(api);
  fillTopologyCalls(api);
  fillDeviceCalls(api);
  fillMemoryCalls(api);
  fillBufferCalls(api);
  fillTransferCalls(api);
  fillExecutableCalls(api);
  fillLoadedExecutableCalls(api);
  return api;
}

} // namespace

} // namespace st::pjrt

extern "C" const PJRT_Api *GetPjrtApi() {
  static const PJRT_Api api = st::pjrt::makeApi();
  return &api;
}
