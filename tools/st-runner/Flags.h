// The command line of a training binary.
#ifndef ST_RUNNER_FLAGS_H
#define ST_RUNNER_FLAGS_H

#include "lib/Runtime/Program/RunOnce.h"
#include "lib/Runtime/Training/Trainer.h"
#include "st/Runtime/Client.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <optional>
#include <string>

namespace st {

/// The request of a command line: training (or only its timing), or one run.
struct RunRequest {
  TrainOptions train;
  ClientOptions client;
  std::optional<RunOnceOptions> once;
  SuperviseOptions supervise;
  std::string flags;           ///< all flags with their values and sources, one per line
  bool isSaveOfBinary = false; ///< --save comes from the binary: its parent folders are created
  std::string replayed;        ///< the log of the run to repeat; empty: none
  double watchdogSeconds = 60; ///< see GroupOptions
};

/// Parses the arguments after argv[0]. An error is one line that names the flag: it is unknown, has
/// no value or an invalid one, has no effect with another flag, or names a file that another flag
/// names too. `binary` is the running file, which no output may replace.
absl::StatusOr<RunRequest> parseCommandLine(int argc, char **argv, const std::string &binary);

/// Prints the flags to standard output.
void printHelp(absl::string_view tool);

} // namespace st

#endif // ST_RUNNER_FLAGS_H
