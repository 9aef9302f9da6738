// The reaction of a run to a loss spike: it ends, or restores a checkpoint.
#ifndef ST_RUNTIME_TRAINING_SPIKERECOVERY_H
#define ST_RUNTIME_TRAINING_SPIKERECOVERY_H

#include "lib/Runtime/Training/RunSaves.h"
#include "lib/Runtime/Training/SpikeWatch.h"
#include "lib/Runtime/Training/StepPrograms.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace st {

/// A step that ended.
struct EndedStep {
  int64_t step = 0;
  float loss = 0;
  int64_t rows = 0; ///< of its batch
};

/// All processes read the same losses, so they take the same actions.
class SpikeRecovery {
public:
  /// `print` prints progress.
  SpikeRecovery(const proto::Executable &program, const std::vector<StateTensor> &states,
                const StepPrograms &steps, RunSaves &saves, const TrainOptions &options,
                std::function<void(const std::string &)> print)
      : program(program), states(states), steps(steps), saves(saves), options(options),
        print(std::move(print)) {}

  /// Returns true if the step is a spike after which returnToCheckpoint() must restore a
  /// checkpoint, and an error if it ends the run. Records the loss otherwise.
  absl::StatusOr<bool> watch(const EndedStep &ended);

  /// Restores the newest checkpoint and with it `trainer`.
  absl::Status returnToCheckpoint(const EndedStep &ended, TrainerState &trainer,
                                  Executable &executable);

  /// Returns true if no step may use the batch that begins after `examples` rows.
  bool skips(int64_t examples) const { return leftOut.count(examples) > 0; }

  /// Omits rows without running a step. Like skipped steps, they do not count in a schedule in
  /// samples.
  void skip(int64_t rows, TrainerState &trainer) const;

  /// See SpikeWatch.
  std::vector<double> losses() const { return spikes.losses(); }
  void restore(const std::vector<double> &losses) { spikes.restore(losses); }

private:
  absl::Status restoreNewest(int64_t step, TrainerState &trainer, Executable &executable);

  const proto::Executable &program;
  const std::vector<StateTensor> &states;
  const StepPrograms &steps;
  RunSaves &saves;
  const TrainOptions &options;
  const std::function<void(const std::string &)> print;
  SpikeWatch spikes{options.spikes};
  int64_t latestStep = 0, spikesThere = 0; ///< the latest step with a spike, and their number
  std::set<int64_t> leftOut;               ///< batches of spikes, by the number of rows before them
};

} // namespace st

#endif // ST_RUNTIME_TRAINING_SPIKERECOVERY_H
