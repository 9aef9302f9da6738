// The saves of a training run, one at a time and concurrent with the steps.
#ifndef ST_RUNTIME_TRAINING_RUNSAVES_H
#define ST_RUNTIME_TRAINING_RUNSAVES_H

#include "lib/Runtime/BackgroundTask.h"
#include "lib/Runtime/Checkpoint/Checkpoint.h"
#include "lib/Runtime/Checkpoint/CheckpointSeries.h"
#include "lib/Runtime/State/StateSnapshot.h"
#include "lib/Runtime/Training/Trainer.h"
#include "st/Runtime/Communicator.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace st {

/// All processes of the run make the same calls.
class RunSaves {
public:
  RunSaves(const proto::Executable &program, const std::vector<StateTensor> &states,
           Communicator &communicator, const TrainOptions &options)
      : program(program), states(states), communicator(communicator), options(options) {}

  /// Claims the folder of options.save, in process 0.
  absl::Status claim();

  /// Between steps: waits for the previous save, then begins a save of the executable's states.
  /// Until the save ends, `executable` must only run training steps.
  absl::Status begin(Executable &executable, const TrainerState &trainer,
                     const std::optional<LearningRateSchedule> &schedule);

  /// After a step: an error if the save failed. Does not wait.
  absl::Status check();

  /// Between steps: waits for the save of all processes and returns its error.
  absl::Status finish();

  /// Waits for the save of this process before an early end. Afterwards the executable may be
  /// destroyed.
  void leave();

  /// The step of the newest checkpoint, complete or being written; -1: none.
  int64_t newestStep() const { return newest; }
  void setNewestStep(int64_t step) { newest = step; }

  /// Returns the saves since the last call as lines: "saved step 10 to ckpt in 1.2 s".
  std::string takeReport() { return std::exchange(report, {}); }

private:
  absl::Status work();
  void reportEnd();

  const proto::Executable &program;
  const std::vector<StateTensor> &states;
  Communicator &communicator;
  const TrainOptions &options;
  std::unique_ptr<CheckpointFolder> folder; ///< of a single checkpoint without a series
  std::unique_ptr<CheckpointSeries> series;
  int64_t newest = -1;
  std::string report;
  // The current save:
  std::unique_ptr<CheckpointFolder> stepFolder;
  std::unique_ptr<StateSnapshot> snapshot;
  std::optional<SaveJob> job;
  double stalledSeconds = 0; ///< in begin()
  bool isReported = false;
  std::unique_ptr<BackgroundTask> running;
};

} // namespace st

#endif // ST_RUNTIME_TRAINING_RUNSAVES_H
