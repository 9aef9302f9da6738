// The text files of devices/ and of its folders, compiled in.
#pragma once

#include "absl/strings/string_view.h"

#include <utility>
#include <vector>

namespace st {

/// (stem of the file, its text).
using BuiltinTexts = std::vector<std::pair<absl::string_view, absl::string_view>>;

const BuiltinTexts &builtinDevices();  ///< devices/*.textproto
const BuiltinTexts &builtinClusters(); ///< devices/clusters/*.textproto
const BuiltinTexts &builtinProfiles(); ///< devices/profiles/*.textproto
const BuiltinTexts &builtinFits();     ///< devices/fits/*.textproto

} // namespace st
