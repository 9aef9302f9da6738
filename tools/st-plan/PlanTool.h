// What st-plan does, question by question.
#ifndef ST_TOOLS_ST_PLAN_PLANTOOL_H
#define ST_TOOLS_ST_PLAN_PLANTOOL_H

#include "lib/Driver/Planning/PlannedModels.h"
#include "lib/Planner/Report.h"
#include "tools/st-plan/Flags.h"

#include "absl/status/status.h"

namespace mlir::st {

class PlanTool {
public:
  explicit PlanTool(const PlanFlags &flags) : flags(flags), models(kTarget), order(makePipelineOrder()) {}

  /// Answers what the flags ask. The error is one line without the tool's name.
  absl::Status run();

private:
  /// Blocks are compiled for this target, whose kernels are those of all GPUs.
  static constexpr const char *kTarget = "cuda-sm_80";

  absl::Status loadCluster();
  absl::StatusOr<PlanInput> loadInput() const;
  absl::Status checkFlags() const;

  absl::Status predictRows();
  absl::Status lintLog();
  absl::Status predictRun(const PlanInput &input);
  absl::Status plan(const PlanInput &input);
  absl::Status tuneZero(const PlanInput &input);
  absl::Status explainLosers(const ::st::SearchResult &result) const;
  absl::Status emitLayout(const ::st::Layout &layout, const PlanInput &input) const;

  absl::Status findLargestModel(PlanInput input);
  absl::Status findFewestDevices(const PlanInput &input);
  absl::Status scale(const PlanInput &input);
  absl::Status askWhatIf(const PlanInput &input, llvm::StringRef changes);
  absl::Status shrink(const PlanInput &input);

  absl::StatusOr<::st::SearchSpace> makeSpace(const PlanInput &input, int64_t devices, int64_t batch) const;
  int64_t deviceCount(const PlanInput &input) const;
  int64_t batchOf(const PlanInput &input) const;
  /// Searches a space; the result's inputs live until the next call.
  absl::StatusOr<::st::SearchResult> search(const PlanInput &input, const ::st::SearchSpace &space, bool showsProgress);
  ::st::StepInputs inputsOf(const PlanInput &input);

  const PlanFlags &flags;
  PlannedModels models;
  const ::st::PipelineOrder order;
  ::st::proto::ClusterDescription cluster;
  ::st::proto::ImplementationProfile profile;
  ::st::GpuConstants constants;
  std::unique_ptr<::st::GpuCosts> costs;
};

} // namespace mlir::st

#endif // ST_TOOLS_ST_PLAN_PLANTOOL_H
