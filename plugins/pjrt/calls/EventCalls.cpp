#include "plugins/pjrt/abi/Errors.h"
#include "plugins/pjrt/calls/Calls.h"

namespace st::pjrt {

namespace {

absl::Status destroyEvent(PJRT_Event_Destroy_Args &args) {
  delete args.event;
  return absl::OkStatus();
}

absl::Status isReady(PJRT_Event_IsReady_Args &args) {
  args.is_ready = args.event->completion.isReady();
  return absl::OkStatus();
}

absl::Status errorOf(PJRT_Event_Error_Args &args) {
  if (!args.event->completion.isReady())
    return absl::FailedPreconditionError("the event is not ready");
  return args.event->completion.wait();
}

absl::Status await(PJRT_Event_Await_Args &args) { return args.event->completion.wait(); }

absl::Status onReady(PJRT_Event_OnReady_Args &args) {
  args.event->completion.onReady(
      [callback = args.callback, argument = args.user_arg](const absl::Status &status) {
        callback(makeError(status), argument);
      });
  return absl::OkStatus();
}

absl::Status createEvent(PJRT_Event_Create_Args &args) {
  args.event = new PJRT_Event();
  return absl::OkStatus();
}

absl::Status setEvent(PJRT_Event_Set_Args &args) {
  if (args.event->completion.isReady())
    return absl::FailedPreconditionError("the event is already set");
  args.event->completion.set(
      statusOf(args.error_code, args.error_message, args.error_message_size));
  return absl::OkStatus();
}

} // namespace

void fillEventCalls(PJRT_Api &api) {
  api.PJRT_Event_Destroy = Call<destroyEvent>::call;
  api.PJRT_Event_IsReady = Call<isReady>::call;
  api.PJRT_Event_Error = Call<errorOf>::call;
  api.PJRT_Event_Await = Call<await>::call;
  api.PJRT_Event_OnReady = Call<onReady>::call;
  api.PJRT_Event_Create = Call<createEvent>::call;
  api.PJRT_Event_Set = Call<setEvent>::call;
}

} // namespace st::pjrt
