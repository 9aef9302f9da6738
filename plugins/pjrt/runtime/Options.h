// What a user chooses of the devices that the plugin simulates.
#pragma once

#include "absl/status/statusor.h"

#include <map>
#include <string>

namespace st::pjrt {

struct PluginOptions {
  std::string target = "dtu-t10"; ///< ST_TARGET: a name of a description, or a file of one
  int devices = 32;               ///< ST_DEVICES
  int hostThreads = 0;            ///< ST_HOST_THREADS; 0: as many as the machine has processors
  std::string reportFolder;       ///< ST_REPORT: gets a page about each compiled step; empty: none
  std::string explainFolder;      ///< ST_EXPLAIN: gets what the reshards of each move; empty: none
};

/// By the environment; `given`, by the names without "ST_" in small letters, goes before it.
/// InvalidArgument names the variable.
absl::StatusOr<PluginOptions> readOptions(const std::map<std::string, std::string> &given);

} // namespace st::pjrt
