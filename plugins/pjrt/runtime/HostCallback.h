// How programs call functions of the process that uses the plugin.
#pragma once

#include "absl/status/status.h"

#include <cstdint>
#include <vector>

namespace st::pjrt {

extern "C" {
/// Calls callback `number`: it reads dense arrays and fills in others. Returns 0, or else leaves
/// the error as text that ends with 0 in `error`, of `errorSize` bytes.
typedef int (*StHostHandler)(int64_t number, const void *const *operands, void *const *results,
                             char *error, int64_t errorSize);
}

/// Null as long as nobody has set one.
void setHostHandler(StHostHandler handler);

/// Internal where there is no handler, or the callback fails.
absl::Status callHost(int64_t number, const std::vector<const void *> &operands,
                      const std::vector<void *> &results);

} // namespace st::pjrt
