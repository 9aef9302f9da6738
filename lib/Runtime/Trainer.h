// Drives a training run: data, steps, metrics, checkpoints.
#ifndef ST_RUNTIME_TRAINER_H
#define ST_RUNTIME_TRAINER_H

#include "lib/Proto/executable.pb.h"
#include "st/Runtime/Client.h"
#include "st/Runtime/Communicator.h"

#include "absl/status/status.h"

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace st {

/// What may vary from run to run of one training binary.
struct TrainOptions {
  int64_t steps = 10;
  std::optional<double> learningRate;               ///< else the program's
  int64_t warmup = 0;                               ///< steps
  int64_t decaySteps = 0;                           ///< see LearningRateSchedule::total
  std::optional<uint32_t> seed;                     ///< else the checkpoint's, or 0
  std::optional<std::string> data;                  ///< see createBatchSource; else synthetic
  std::string metrics, trace, report, save, resume; ///< paths; empty: none
  std::string init;                                 ///< see PretrainedWeights; empty: none
  bool timingOnly = false;
  int hostThreads = 0;
};

/// Runs `options.steps` steps and writes what the options ask for. Results go to
/// `out`, progress to `progress`:
///
///   step 1  loss 10.4321  sim 12.345 ms  host 8.21 s
///   ...
///   avg_step_fps simulated 0.247, host 0.12
///   (a table of the peak memory of each device)
///
/// A loss that is NaN or infinite ends the run with an error that names the step.
/// Nothing is allocated before data, checkpoint and outputs were found to be usable.
absl::Status train(const proto::Executable &program, Client &client, Communicator &communicator,
                   const TrainOptions &options, std::FILE *out, std::FILE *progress);

} // namespace st

#endif // ST_RUNTIME_TRAINER_H
