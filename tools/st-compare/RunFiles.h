// Reads the steps of a training run from its files.
#ifndef ST_COMPARE_RUNFILES_H
#define ST_COMPARE_RUNFILES_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace st {

/// A step or, in a log of intervals, the last step of an interval. Times in milliseconds.
struct RunStep {
  std::optional<double> loss;
  std::optional<double> simulated; ///< of the step on its devices
  std::optional<double> host,
      data; ///< of the step on the host, and of its part that prepares the batch
};

/// Milliseconds by name.
using Times = std::map<std::string, double>;

/// One run, from all its files.
struct RunFiles {
  std::map<int64_t, RunStep> steps;    ///< of --metrics, or of a log
  std::optional<double> simulatedStep; ///< of --report
  Times path;   ///< of --report: the parts of the critical path; they add up to the step
  Times timers; ///< of a log in Megatron-LM's form: means over its intervals
  Times spans;  ///< of --trace: busy time by label, a mean over ranks
  double traceEnd = 0;
  Times links; ///< of --report: busy time

  /// The time of a step and its source: "simulated", "log" or "host"; none if no file has it. For a
  /// log or a host the time is the median over all steps but the first.
  std::optional<double> stepTime() const;
  std::string timeSource() const;
  /// The median of a part of the steps, without the first.
  std::optional<double> median(std::optional<double> RunStep::*part) const;
};

/// Reads the files of a run: those of --metrics, --report and --trace, and logs (standard output in
/// either --log-style). `path` names one file, several files with commas between them, or a folder.
/// Skips files of other kinds in a folder. An error names the file.
absl::StatusOr<RunFiles> readRun(const std::string &path);

} // namespace st

#endif // ST_COMPARE_RUNFILES_H
