// Decides after each step if the run saves a checkpoint, and if it ends.
#ifndef ST_RUNTIME_TRAINING_RUNCONTROL_H
#define ST_RUNTIME_TRAINING_RUNCONTROL_H

#include "lib/Runtime/Training/StopRequest.h"
#include "lib/Runtime/Training/Trainer.h"
#include "st/Runtime/Communicator.h"

#include "absl/status/statusor.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace st {

/// The actions after a step; the same in all processes.
struct AfterStep {
  bool saves = false;
  std::string end; ///< reason to end: "SIGTERM", "--exit-interval=10"; empty: the run continues
};

/// Created when the run starts. Every process must make the same calls in the same order.
class RunControl {
public:
  RunControl(const TrainOptions &options, Communicator &communicator);

  /// Before the first step: ends a run that received a signal while it loaded.
  absl::StatusOr<AfterStep> beforeFirst();

  /// After each step.
  absl::StatusOr<AfterStep> after(int64_t step);

private:
  using Clock = std::chrono::steady_clock;
  absl::StatusOr<int> agree();

  const TrainOptions &options;
  Communicator &communicator;
  std::optional<StopSignals> signals; ///< set if there is a folder to save to
  Clock::time_point start = Clock::now(), lastSave = start;
};

} // namespace st

#endif // ST_RUNTIME_TRAINING_RUNCONTROL_H
