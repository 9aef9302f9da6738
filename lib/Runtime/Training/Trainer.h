// Drives a training run: data, steps, metrics, checkpoints.
#ifndef ST_RUNTIME_TRAINING_TRAINER_H
#define ST_RUNTIME_TRAINING_TRAINER_H

#include "lib/Proto/executable.pb.h"
#include "lib/Runtime/Data/DataOptions.h"
#include "lib/Runtime/Evaluation/Evaluator.h"
#include "lib/Runtime/Processes/StragglerWatch.h"
#include "lib/Runtime/Training/LearningRate.h"
#include "lib/Runtime/Training/Log/StepLog.h"
#include "lib/Runtime/Training/SpikeWatch.h"
#include "lib/Runtime/Training/Supervisor.h"
#include "st/Runtime/Client.h"
#include "st/Runtime/Communicator.h"

#include "absl/status/status.h"

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace st {

/// The log of a run has its flags, versions and hashes between these lines.
constexpr absl::string_view kConfigurationBegin =
    "-------------------- run configuration --------------------";
constexpr absl::string_view kConfigurationEnd =
    "---------------- end of run configuration -----------------";

/// The times at which a run saves, in addition to its end. If any of these is set, the folder holds
/// a series of checkpoints (see CheckpointSeries), and a run continues from the newest one.
struct SaveOptions {
  int64_t interval = 0; ///< steps; 0: not by steps
  double minutes = 0;   ///< 0: not by time
  int64_t keep = 0;     ///< number of checkpoints to keep; 0: all
  bool isAsync = true;  ///< concurrent with steps; else each save ends before the next step
  int64_t shardBytes = 5'000'000'000; ///< see planShards
  std::optional<int64_t> memory;      ///< see StateSnapshot

  bool isSeries() const { return interval > 0 || minutes > 0 || keep > 0; }
};

/// Selects the data that a run loads from a folder that may hold a checkpoint.
struct LoadOptions {
  std::string folder;            ///< of a checkpoint or series; if it has none the run is new
  bool finetune = false;         ///< loads only the parameters, and starts at step 0
  bool withoutOptimizer = false; ///< does not load the optimizer's state
  bool withoutSeed = false;      ///< does not load the seed if the binary has one
};

/// Options of a run of a training binary.
struct TrainOptions {
  int64_t steps = 10;           ///< to run now, unless trainSteps is set
  int64_t trainSteps = 0;       ///< the step that ends the run; 0: `steps`
  int64_t trainSamples = 0;     ///< the same in rows of batches; 0: `trainSteps`
  std::string batchRamp;        ///< see BatchRamp; empty: all batches are full
  LearningRateOptions rate;     ///< default: the checkpoint's schedule, or the program's rate
  std::optional<uint32_t> seed; ///< default: the checkpoint's, or 0
  bool isSeedOfBinary = false;  ///< the checkpoint's takes precedence
  LoadOptions load;
  std::string heading;             ///< first lines of the log, before the trainer's; empty: none
  std::optional<std::string> data; ///< see createBatchSource; default: synthetic
  DataOptions samples;             ///< of text
  LogOptions log;
  std::string trace, report, save, resume; ///< paths; empty: none
  std::string init;                        ///< see PretrainedWeights; empty: none
  std::string recordBatches;               ///< file for the batches of the run; empty: none
  SaveOptions saving;
  int64_t exitInterval = 0; ///< ends after a step that is a multiple of this; 0: never
  double exitMinutes = 0;   ///< ends after the first step after this time; 0: never
  SpikeOptions spikes;
  StragglerOptions stragglers;
  RunProgress *supervisor = nullptr; ///< receives each step; null: the run has none
  EvaluationOptions evaluation;
  bool timingOnly = false;
  int hostThreads = 0;
};

/// Checks the options that need no file. An error names the flag.
absl::Status checkTrainOptions(const TrainOptions &options, bool readsLearningRate);

/// Runs `options.steps` steps and writes the requested outputs. Results go to `out`, progress to
/// `progress`:
///
///   step 1  loss 10.4321  sim 12.35 ms  host 8.210 s
///   ...
///   avg_step_fps simulated 0.247, host 0.12
///   (a table of the peak memory of each device)
///
/// A loss that is NaN or infinite ends the run with an error that names the step, unless
/// options.spikes is set. With a folder to save to, SIGTERM and SIGUSR1 end the run after the
/// current step and save it. Checks data, checkpoint and outputs before it allocates anything.
absl::Status train(const proto::Executable &program, Client &client, Communicator &communicator,
                   const TrainOptions &options, std::FILE *out, std::FILE *progress);

} // namespace st

#endif // ST_RUNTIME_TRAINING_TRAINER_H
