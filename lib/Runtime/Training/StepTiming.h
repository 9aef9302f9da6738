// The simulated or measured time of a step, with the files and log entries that show it.
#ifndef ST_RUNTIME_TRAINING_STEPTIMING_H
#define ST_RUNTIME_TRAINING_STEPTIMING_H

#include "lib/Runtime/Training/Trainer.h"
#include "lib/Support/AtomicFile.h"

#include "absl/status/status.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace st {

class StepTiming {
public:
  StepTiming(const proto::Executable &program, const TrainOptions &options)
      : program(program), options(options) {}

  /// In process 0: opens the files of --trace and --report.
  absl::Status open();

  bool hasTrace() const { return trace != nullptr; }
  bool hasReport() const { return report != nullptr; }

  /// Times a step of the full batch and writes the files. `print` prints progress.
  absl::Status time(Executable &executable, const std::function<void(const std::string &)> &print);

  /// Returns true if the timers of a step's log entry need a measured step of these devices: the
  /// second step of a run, or the first one after it with an entry, and then at most one of 100
  /// steps. Call it once for each step of the full batch, in all processes.
  bool isMeasured(int64_t step);

  /// Takes the timers of a traced step.
  void takeMeasured(const StepTrace &rows);

  /// Writes the file of --trace, if there is one.
  absl::Status saveTrace(const StepTrace &rows);

  StepTime step;                        ///< of the full batch, once it is timed
  StepTimers timers;                    ///< for Megatron-LM's log
  std::map<std::string, double> events; ///< values for TensorBoard

private:
  const proto::Executable &program;
  const TrainOptions &options;
  bool isLogged = false; ///< in process 0
  bool isFirstAsked = true;
  int64_t lastMeasured = -1;
  std::unique_ptr<AtomicFile> trace, report;
};

} // namespace st

#endif // ST_RUNTIME_TRAINING_STEPTIMING_H
