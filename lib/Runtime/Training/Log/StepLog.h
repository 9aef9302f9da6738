// Logs the steps of a run: lines, metrics, TensorBoard events, progress.
#ifndef ST_RUNTIME_TRAINING_LOG_STEPLOG_H
#define ST_RUNTIME_TRAINING_LOG_STEPLOG_H

#include "lib/Runtime/Evaluation/EvaluationReport.h"
#include "lib/Runtime/Report.h"
#include "lib/Runtime/Training/Log/EventFile.h"
#include "lib/Runtime/Training/Log/MegatronLog.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace st {

struct LogOptions {
  std::string style = "st";      ///< of the lines on standard output: "st" or "megatron"
  int64_t interval = 1;          ///< steps between lines
  std::string metrics;           ///< file with a line of JSON per step; empty: none
  std::string tensorboard;       ///< folder for events; empty: none
  std::string predictions;       ///< file for the answers of the last evaluation; empty: none
  int64_t eventInterval = 1;     ///< steps between events
  bool hasParameterNorm = false; ///< "params_norm" among the metrics of steps with a line or event

  /// Returns true if a step of the run has a line or an event.
  bool isLogged(int64_t step) const {
    return step % interval == 0 || (!tensorboard.empty() && step % eventInterval == 0);
  }
};

/// Properties of the run that the lines need.
struct LoggedRun {
  int64_t lastStep = 0;
  int64_t batch = 1;                    ///< samples per step of the full batch
  int64_t tokens = 0;                   ///< in it; 0: samples do not consist of tokens
  StepTimers timers;                    ///< for Megatron-LM's lines; empty: unknown
  std::string memory;                   ///< the line of the devices' memory
  std::map<std::string, double> events; ///< further values of each event, by tag
};

/// The log of process 0; other processes have none.
class StepLog {
public:
  /// Opens the files; with `appends` keeps the metrics of earlier runs. If `progress` is a
  /// terminal, it gets a line that each step overwrites. An error names the flag or the file.
  static absl::StatusOr<std::unique_ptr<StepLog>> open(const LogOptions &options, bool appends,
                                                       std::FILE *out, std::FILE *progress);

  /// Before the first step.
  void begin(const LoggedRun &run) { this->run = run; }

  /// Replaces the timers of the run by those of a measured step.
  void setTimers(StepTimers timers, std::map<std::string, double> events);

  /// After each step. `examples`: rows of batches seen by all runs.
  absl::Status write(const StepReport &report, int64_t examples);

  /// On a terminal, before each batch of an evaluation.
  void showEvaluation(int64_t batch, int64_t of);

  /// After an evaluation.
  absl::Status write(const EvaluationReport &report);

  /// Removes the progress line before other output.
  void clear();

  /// Text for standard output.
  absl::Status print(const std::string &text);

private:
  StepLog(const LogOptions &options, std::FILE *out, std::FILE *progress);
  absl::Status writeLine(const StepReport &report, int64_t examples);
  std::string printMegatronLines(const StepReport &report, int64_t examples);
  absl::Status writeEvents(const StepReport &report);
  void showProgress(const StepReport &report);

  LogOptions options;
  std::FILE *out, *progress;
  bool isTerminal = false, isShown = false;
  LoggedRun run;
  std::unique_ptr<LineFile> metrics;
  std::unique_ptr<EventFile> events;
  // Sums since the last line.
  int64_t steps = 0;
  double loss = 0, milliseconds = 0, dataSeconds = 0;
  std::optional<double> slowestProcess; ///< of a comparison since the last event
  // Sums since the last line with a time per sample.
  int64_t sampledSteps = 0, samples = 0;
  double sampledMilliseconds = 0;
  bool hasMemory = false; ///< the memory line is printed
  // For the remaining time.
  bool isFirstCounted = true;
  int64_t timedSteps = 0;
  double timedSeconds = 0;
};

/// Megatron-LM's line of an interval that ends with `report`; `loss` and `milliseconds` are means
/// per step. Omits metrics that the program lacks.
std::string printMegatronLine(const StepReport &report, const LoggedRun &run, int64_t examples,
                              double loss, double milliseconds);

} // namespace st

#endif // ST_RUNTIME_TRAINING_LOG_STEPLOG_H
