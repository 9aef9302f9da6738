#include "plugins/pjrt/runtime/HostCallback.h"

#include "absl/strings/str_cat.h"

#include <array>
#include <atomic>

namespace st::pjrt {

static std::atomic<StHostHandler> handler = nullptr;

void setHostHandler(StHostHandler given) { handler = given; }

absl::Status callHost(int64_t number, const std::vector<const void *> &operands,
                      const std::vector<void *> &results) {
  const StHostHandler call = handler;
  if (!call)
    return absl::InternalError(
        absl::StrCat("nothing in this process answers callback ", number, " to the host"));
  std::array<char, 4096> error = {};
  if (call(number, operands.data(), results.data(), error.data(), error.size()) == 0)
    return absl::OkStatus();
  error.back() = 0;
  return absl::InternalError(absl::StrCat("callback to the host failed: ", error.data()));
}

} // namespace st::pjrt
