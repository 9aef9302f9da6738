// Files of flags, and the logs that begin with one.
#ifndef ST_RUNNER_FLAGFILE_H
#define ST_RUNNER_FLAGFILE_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>
#include <vector>

namespace st {

/// A word of a file of flags.
struct FlagWord {
  std::string text;
  int line = 0;
};

/// The words of a file: white space separates them, quotes of either kind join them, `#` before a
/// word begins a comment up to the end of the line, and a backslash at the end of a line continues
/// it. An error names file and line.
absl::StatusOr<std::vector<FlagWord>> splitFlags(absl::string_view text, const std::string &path);

/// The same for the file at `path`.
absl::StatusOr<std::vector<FlagWord>> readFlagFile(const std::string &path);

/// The configuration of a run in its log, between kConfigurationBegin and kConfigurationEnd. If the
/// log has several runs, that of the last one.
struct LoggedConfiguration {
  struct Flag {
    std::string name, value, source;
    int line = 0;
  };
  std::vector<Flag> flags;        ///< with their values
  std::vector<std::string> facts; ///< "binary 1a2b", "data 600 bytes, 3c4d", ...
  std::string seed;               ///< of the run; empty: unknown
  std::string resumed;            ///< the initial checkpoint; empty: none
};

/// An error names the log; a log without a configuration is an error.
absl::StatusOr<LoggedConfiguration> readLoggedConfiguration(const std::string &path);

} // namespace st

#endif // ST_RUNNER_FLAGFILE_H
