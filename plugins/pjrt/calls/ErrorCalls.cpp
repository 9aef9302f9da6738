#include "plugins/pjrt/abi/Errors.h"
#include "plugins/pjrt/calls/Calls.h"

namespace st::pjrt {

namespace {

struct StatusError : PJRT_Error {
  absl::Status status;
};

const StatusError *asStatus(const PJRT_Error *error) {
  return static_cast<const StatusError *>(error);
}

void destroy(PJRT_Error *error) { delete static_cast<StatusError *>(error); }

void message(const PJRT_Error *error, const char **text, size_t *size) {
  *text = asStatus(error)->status.message().data();
  *size = asStatus(error)->status.message().size();
}

// The codes of the API are those of absl.
PJRT_Error_Code codeOf(const PJRT_Error *error) {
  return static_cast<PJRT_Error_Code>(asStatus(error)->status.code());
}

void forEachPayload(const PJRT_Error *error, PJRT_Error_PayloadVisitor visitor, void *argument) {
  asStatus(error)->status.ForEachPayload([&](absl::string_view key, const absl::Cord &value) {
    const std::string text(value);
    visitor(key.data(), key.size(), text.data(), text.size(), argument);
  });
}

constexpr PJRT_Error_FunctionTable kErrorTable = {sizeof(PJRT_Error_FunctionTable),
                                                  sizeof(StatusError),
                                                  nullptr,
                                                  destroy,
                                                  message,
                                                  codeOf,
                                                  forEachPayload};

void destroyError(PJRT_Error_Destroy_Args *args) {
  if (args->error)
    destroy(args->error);
}

void messageOf(PJRT_Error_Message_Args *args) {
  message(args->error, &args->message, &args->message_size);
}

absl::Status getCode(PJRT_Error_GetCode_Args &args) {
  args.code = codeOf(args.error);
  return absl::OkStatus();
}

absl::Status visitPayloads(PJRT_Error_ForEachPayload_Args &args) {
  forEachPayload(args.error, args.visitor, args.user_arg);
  return absl::OkStatus();
}

} // namespace

PJRT_Error *makeError(absl::Status status) {
  if (status.ok())
    return nullptr;
  auto *error = new StatusError();
  error->vtable = &kErrorTable;
  error->status = std::move(status);
  return error;
}

absl::Status statusOf(PJRT_Error_Code code, const char *message, size_t size) {
  if (code == PJRT_Error_Code_OK)
    return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(code), absl::string_view(message, size));
}

void fillErrorCalls(PJRT_Api &api) {
  api.PJRT_Error_Destroy = destroyError;
  api.PJRT_Error_Message = messageOf;
  api.PJRT_Error_GetCode = Call<getCode>::call;
  api.PJRT_Error_ForEachPayload = Call<visitPayloads>::call;
}

} // namespace st::pjrt
