#include "plugins/pjrt/runtime/HostCallback.h"

#include "absl/strings/str_cat.h"

#include <array>
#include <atomic>

namespace st::pjrt {

static std::atomic<StHostHandler> handler = nullptr;

static std::atomic<StShardingHandler> shardingHandler = nullptr;

void setHostHandler(StHostHandler given) { handler = given; }
void setShardingHandler(StShardingHandler given) { shardingHandler = given; }

absl::Status callHost(int64_t number, const std::vector<const void *> &operands,
                      const std::vector<void *> &results) {
  const StHostHandler call = handler;
  if (!call)
    return absl::InternalError(
        absl::StrCat("no handler in this process for callback ", number, " to the host"));
  std::array<char, 4096> error = {};
  if (call(number, operands.data(), results.data(), error.data(), error.size()) == 0)
    return absl::OkStatus();
  error.back() = 0;
  return absl::InternalError(absl::StrCat("callback to the host failed: ", error.data()));
}

absl::Status reportShardings(const proto::PluginProgram &program) {
  const StShardingHandler report = shardingHandler;
  for (const proto::PluginInspection &inspection : program.inspections()) {
    if (!report)
      return absl::InternalError(absl::StrCat("no handler in this process for sharding ",
                                              inspection.number(), " of program ", program.name()));
    const std::string bytes = inspection.sharding().SerializeAsString();
    report(inspection.number(), bytes.data(), static_cast<int64_t>(bytes.size()));
  }
  return absl::OkStatus();
}

} // namespace st::pjrt
