// The answers of st-plan, question by question.
#ifndef ST_TOOLS_ST_PLAN_PLANTOOL_H
#define ST_TOOLS_ST_PLAN_PLANTOOL_H

#include "lib/Driver/Planning/ModelSizes.h"
#include "lib/Driver/Planning/PlannedModels.h"
#include "lib/Driver/Planning/SimulatedPrograms.h"
#include "lib/Frontend/Megatron/Log.h"
#include "lib/Planner/Answers/Report.h"
#include "tools/st-plan/Flags.h"

#include "absl/status/status.h"

namespace mlir::st {

class PlanTool {
public:
  explicit PlanTool(const PlanFlags &flags)
      : flags(flags), models(std::make_unique<PlannedModels>(kTarget)), order(makePipelineOrder()) {
  }

  /// Answers the question of the flags. The error is one line without the tool's name.
  absl::Status run();

private:
  absl::Status answer();
  /// Blocks for GPUs are compiled for this target; its kernels represent those of all GPUs.
  static constexpr const char *kTarget = "cuda-sm_80";
  static constexpr size_t kLargestInput = size_t(64) << 20;
  /// Default of a step.
  static constexpr int64_t kSequencesPerDevice = 8;

  absl::Status loadCluster();
  absl::StatusOr<PlanInput> loadInput();
  absl::StatusOr<FolderChoices> folderChoices() const;
  absl::Status checkLayers(const PlanInput &input) const;
  /// The flags whose values are options of st-compile for a model folder.
  std::vector<const llvm::cl::Option *> modelOptions() const;
  void takeRun(const PlanInput &input);
  absl::Status checkFlags() const;
  absl::Status checkQuestions() const;
  absl::Status checkRunsAlone(const std::string &question) const;
  /// The questions that --what-if supports.
  std::vector<std::string> askedQuestions() const;

  absl::Status predictRows();
  /// Values that rows take from the model and the flags if they have no columns for them.
  absl::StatusOr<::st::RowDefaults> rowDefaultsOf(PlanInput &given);
  absl::Status lintLog();
  absl::Status comparePhases(const MegatronLog &log, ::st::proto::PlanLint &lint);
  absl::Status predictRun(const PlanInput &input);
  absl::Status plan(const PlanInput &input);
  absl::Status tuneZero(const PlanInput &input);
  absl::Status explainLosers(const ::st::SearchResult &result) const;
  absl::Status writePage(const ::st::proto::PlanReport &report) const;
  absl::Status emitLayout(const ::st::Layout &layout, const PlanInput &input) const;

  absl::Status findLargestModel(const PlanInput &input);
  absl::StatusOr<::st::proto::PlanLargestModel> findLargest(const PlanInput &input,
                                                            const ModelScale &scale);
  absl::Status findFewestDevices(const PlanInput &input);
  absl::Status scale(const PlanInput &input);
  absl::Status answerWhatIf(const PlanInput &input, llvm::StringRef changes);
  absl::Status changeCluster(llvm::StringRef changes);
  /// Checks that --what-if can be applied.
  absl::Status checkChanges() const;
  absl::Status shrink(const PlanInput &input);

  /// Empty if the model fits, else the reason. Only layouts with little memory are composed.
  absl::StatusOr<std::string> whyNot(const PlanInput &input, int64_t devices, int64_t batch);
  /// The best plan, or none if nothing fits.
  absl::StatusOr<std::optional<::st::proto::PlanStep>> findPlan(const PlanInput &input,
                                                                int64_t devices, int64_t batch);
  static std::string explainNothing(const ::st::SearchResult &result);
  void report(const std::string &what, bool fits) const;

  absl::StatusOr<::st::SearchSpace> makeSpace(const PlanInput &input, int64_t devices,
                                              int64_t batch) const;
  int64_t deviceCount(const PlanInput &input) const;
  int64_t batchOf(const PlanInput &input) const;
  /// Searches a space; the result's inputs live until the next call.
  absl::StatusOr<::st::SearchResult> search(const PlanInput &input, const ::st::SearchSpace &space,
                                            bool showsProgress);
  ::st::StepInputs inputsOf(const PlanInput &input);

  /// Returns true if a simulator times programs for the cluster's devices.
  bool simulates() const;
  /// Refuses flags that only clusters of other devices support.
  absl::Status checkSimulated() const;
  absl::Status loadSimulatedCluster();
  SimulatedPrograms &simulatedOf(const PlanInput &input);

  const PlanFlags &flags;
  std::unique_ptr<PlannedModels> models;
  std::map<std::string, std::unique_ptr<SimulatedPrograms>> simulated; ///< by model
  const ::st::PipelineOrder order;
  ::st::proto::ClusterDescription cluster;
  ::st::proto::ImplementationProfile profile;
  ::st::GpuConstants constants;
  std::unique_ptr<::st::GpuCosts> costs;
  std::vector<std::string> notes; ///< for stderr, after the answer
};

} // namespace mlir::st

#endif // ST_TOOLS_ST_PLAN_PLANTOOL_H
