// User options for the devices that the plugin simulates.
#pragma once

#include "absl/status/statusor.h"

#include <map>
#include <string>

namespace st::pjrt {

struct PluginOptions {
  std::string target = "dtu-t10"; ///< ST_TARGET: a name of a description, or a file of one
  int devices = 32;               ///< ST_DEVICES
  int hostThreads = 0;            ///< ST_HOST_THREADS; 0: one per processor
  std::string reportFolder;       ///< ST_REPORT: folder for a page per compiled step; empty: none
  std::string explainFolder;      ///< ST_EXPLAIN: folder for explanations of reshards; empty: none
};

/// Reads the environment. `given`, by names without "ST_" in lower case, takes precedence.
/// InvalidArgument names the variable.
absl::StatusOr<PluginOptions> readOptions(const std::map<std::string, std::string> &given);

} // namespace st::pjrt
