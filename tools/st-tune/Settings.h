// The settings of all trials of a run, checked before planning and measuring.
#ifndef ST_TOOLS_ST_TUNE_SETTINGS_H
#define ST_TOOLS_ST_TUNE_SETTINGS_H

#include "tools/st-tune/Figures.h"
#include "tools/st-tune/Flags.h"
#include "tools/st-tune/LaunchTemplate.h"

#include "absl/status/statusor.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::st {

struct TuneSettings {
  std::string toolFolder; ///< folder of st-plan and st-compile, that of this tool
  std::string model;      ///< path; empty if a plan is given and nothing is compiled
  std::string modelHash;  ///< SHA-256 of the configuration, in hexadecimal digits

  bool compiles = false; ///< the command runs a training binary
  std::string target;
  std::vector<std::string> compileFlags; ///< in addition to those of the layout

  LaunchTemplate launch;
  std::string launchText;
  unsigned steps = 0;
  std::optional<FigurePattern> inStep, endToEnd;
  FigureUnit unit = FigureUnit::SamplesPerSecond;
  bool ranksByEndToEnd = false;

  std::string deepspeed;     ///< the user's configuration; "{}" for none
  std::string deepspeedPath; ///< empty for none

  std::vector<std::string> planFlags; ///< for st-plan, without the batch
  std::vector<std::string> batches;   ///< each is planned; one empty text if none is given
};

/// Errors are one line that names the flag, the expected and the found value.
absl::StatusOr<TuneSettings> readSettings(const TuneFlags &flags, const std::string &toolFolder);

} // namespace mlir::st

#endif // ST_TOOLS_ST_TUNE_SETTINGS_H
