// Behind which steps a run saves, and behind which it ends.
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

/// What follows a step; the same in all processes.
struct AfterStep {
  bool saves = false;
  std::string end; ///< why the run ends here: "SIGTERM", "--exit-interval=10"; empty: it continues
};

/// Made when the run starts. Every process asks it the same questions in the same order.
class RunControl {
public:
  RunControl(const TrainOptions &options, Communicator &communicator);

  /// Before the first step: a run that was told to stop while it loaded ends here.
  absl::StatusOr<AfterStep> beforeFirst();

  /// Behind each step.
  absl::StatusOr<AfterStep> after(int64_t step);

private:
  using Clock = std::chrono::steady_clock;
  absl::StatusOr<int> agree();

  const TrainOptions &options;
  Communicator &communicator;
  std::optional<StopSignals> signals; ///< where there is a folder to save to
  Clock::time_point start = Clock::now(), lastSave = start;
};

} // namespace st

#endif // ST_RUNTIME_TRAINING_RUNCONTROL_H
