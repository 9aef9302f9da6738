// The texts of devices/*.textproto, compiled in.
#pragma once

#include "absl/strings/string_view.h"

#include <utility>
#include <vector>

namespace st {

/// (stem of the file, its text).
const std::vector<std::pair<absl::string_view, absl::string_view>> &builtinDevices();

} // namespace st
