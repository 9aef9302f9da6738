// The state with which a training run starts: a checkpoint, pretrained weights or initial values.
#ifndef ST_RUNTIME_TRAINING_RUNSTART_H
#define ST_RUNTIME_TRAINING_RUNSTART_H

#include "lib/Runtime/Checkpoint/Checkpoint.h"
#include "lib/Runtime/State/Pretrained.h"
#include "lib/Runtime/Training/RunSaves.h"
#include "lib/Runtime/Training/StepPrograms.h"
#include "lib/Runtime/Training/Trainer.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace st {

class RunStart {
public:
  /// `print` prints progress.
  RunStart(const proto::Executable &program, const std::vector<StateTensor> &states,
           const TrainOptions &options, std::function<void(const std::string &)> print)
      : program(program), states(states), options(options), print(std::move(print)) {}

  /// Opens the checkpoint that the run continues or loads, if there is one, and checks it. Sets
  /// `trainer` to its progress.
  absl::Status openCheckpoint(RunSaves &saves, TrainerState &trainer);

  /// The schedule of the flags if given, else of the checkpoint, else the program's rate.
  absl::StatusOr<LearningRateSchedule> chooseSchedule(const StepPrograms &steps,
                                                      int64_t batch) const;

  /// Opens the weights of --init for a run without a checkpoint.
  absl::Status openWeights();

  /// True if the run continues a checkpoint with all its state. False after load().
  bool continues() const { return resumed != nullptr; }

  /// The checkpoint that the run loads; empty: none.
  const std::string &path() const { return checkpointPath; }

  /// Gives all states their first values, and returns what it did, for the log.
  absl::StatusOr<std::string> load(Executable &executable, const TrainerState &trainer);

private:
  absl::Status loadInPart(TrainerState &trainer);
  absl::Status checkSeries(const TrainerState &trainer) const;

  const proto::Executable &program;
  const std::vector<StateTensor> &states;
  const TrainOptions &options;
  const std::function<void(const std::string &)> print;
  std::unique_ptr<CheckpointReader> resumed;
  std::string checkpointPath;
  std::unique_ptr<PretrainedWeights> pretrained;
};

} // namespace st

#endif // ST_RUNTIME_TRAINING_RUNSTART_H
