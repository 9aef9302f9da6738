// Calls from programs to functions of the process that uses the plugin.
#pragma once

#include "plugins/pjrt/compile/program.pb.h"

#include "absl/status/status.h"

#include <cstdint>
#include <vector>

namespace st::pjrt {

extern "C" {
/// Calls callback `number`, which reads dense arrays and writes others. Returns 0 on success.
/// Otherwise writes a null-terminated message to `error`, which has `errorSize` bytes.
typedef int (*StHostHandler)(int64_t number, const void *const *operands, void *const *results,
                             char *error, int64_t errorSize);
/// Receives the sharding that request number `number` of a program asks for, as a serialised
/// OpSharding.
typedef void (*StShardingHandler)(int64_t number, const void *bytes, int64_t size);
}

/// Null until a handler is set.
void setHostHandler(StHostHandler handler);
void setShardingHandler(StShardingHandler handler);

/// Internal if there is no handler or the callback fails.
absl::Status callHost(int64_t number, const std::vector<const void *> &operands,
                      const std::vector<void *> &results);
/// Passes the requested shardings to the handler. Internal if there is no handler.
absl::Status reportShardings(const proto::PluginProgram &program);

} // namespace st::pjrt
