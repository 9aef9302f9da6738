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

/// What a command line asks for: training (or only its timing), or one run.
struct RunRequest {
  TrainOptions train;
  ClientOptions client;
  std::optional<RunOnceOptions> once;
  SuperviseOptions supervise;
  std::string flags;           ///< all of them with their values and sources, a line each
  bool isSaveOfBinary = false; ///< --save is the binary's: folders on the way to it are made
  std::string replayed;        ///< the log of the run that this one repeats; empty: none
  double watchdogSeconds = 60; ///< see GroupOptions
};

/// Parses the arguments behind argv[0]. An error is one line that names the flag:
/// unknown, without its value, with one that is none, without effect beside
/// another flag, or naming a file that another flag names too. `binary` is the
/// running file, which no output may replace.
absl::StatusOr<RunRequest> parseCommandLine(int argc, char **argv, const std::string &binary);

/// Prints the flags to standard output.
void printHelp(absl::string_view tool);

} // namespace st

#endif // ST_RUNNER_FLAGS_H
