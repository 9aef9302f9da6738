// The user's input to the planner as one description: a model, a run, and the fixed part of its
// layout.
#ifndef ST_DRIVER_PLANNING_PLANINPUT_H
#define ST_DRIVER_PLANNING_PLANINPUT_H

#include "lib/Frontend/ModelConfig.h"
#include "lib/Frontend/TrainingRun.h"
#include "lib/Planner/Fitting/Rows.h"
#include "lib/Planner/Layout.h"

#include "absl/status/statusor.h"

#include <map>

namespace mlir::st {

struct PlanInput {
  ModelConfig config;
  Task task = Task::CausalLm;
  ::st::PlannedModel model;
  /// The vocabulary is padded to a multiple of this times the tensor shards; 1: no padding.
  int64_t vocabularyMultiple = 1;
  std::string optimizer = "adam";
  /// Options of st-compile that belong to the model: the parameters that train, the length of
  /// labels, the capacity of experts.
  std::map<std::string, std::string> options;
  /// The layout of a completely described run: a Megatron log or command line.
  std::optional<::st::Layout> layout;
  int64_t globalBatch = 0; ///< 0: not given
  /// DeepSpeed's autotuner chooses the micro-batch and the level of ZeRO.
  bool autotunes = false;
  /// A run of DeepSpeed without a fixed micro-batch: replicas only, these ZeRO levels, and its
  /// other settings.
  struct OpenRun {
    std::vector<int64_t> zeroLevels;
    std::optional<::st::Recompute> recompute;
    bool offloadsOptimizer = false;
  };
  std::optional<OpenRun> openRun;
  std::vector<KeyStatus> keys;
  std::optional<RunMeasurements> measured;
  /// The described run, for the profile's switches that it sets.
  std::optional<TrainingRun> run;
};

/// The user's choices for a model folder.
struct FolderChoices {
  std::optional<Task> task;
  std::optional<int64_t> sequence;
  std::string precision;
  std::map<std::string, std::string> options; ///< PlanInput::options
};

/// Reads a folder with a config.json, or the file. Errors are one line.
absl::StatusOr<PlanInput> readModelFolder(const std::string &path, const FolderChoices &choices);

/// The options as text, such as "freeze=*.bias".
std::string printOptions(const PlanInput &input);

/// Adds the run of a DeepSpeed configuration on `devices` devices to a model folder. Errors name
/// the configuration by `path`.
absl::Status addDeepSpeedConfig(StringRef text, StringRef path, int64_t devices, PlanInput &input);

/// Converts a run that was read from Megatron's or DeepSpeed's files.
absl::StatusOr<PlanInput> readTrainingRun(const TrainingRun &run);

/// Converts a measured row: the model as Megatron-LM trains it.
absl::StatusOr<PlanInput> readMeasuredRow(const ::st::MeasuredRow &row);

/// Defaults for missing columns in rows of measured runs of that model: Megatron-LM
/// recomputes layers, others do not. `devicesPerNode` is the cluster's.
::st::RowDefaults rowDefaults(const PlanInput &input, int64_t devicesPerNode);

/// Returns a diagnostic of `work` as an error, or OK if it succeeds.
absl::Status captureError(MLIRContext *context, llvm::function_ref<LogicalResult()> work);

} // namespace mlir::st

#endif // ST_DRIVER_PLANNING_PLANINPUT_H
