// The compiler's interface for the planner.
#ifndef ST_DRIVER_PLANNING_PLANNEDMODELS_H
#define ST_DRIVER_PLANNING_PLANNEDMODELS_H

#include "lib/Driver/Planning/BlockCompiler.h"
#include "lib/Driver/Planning/PlanInput.h"
#include "lib/Planner/Step/Predict.h"

namespace mlir::st {

/// Returns a function that orders units as schedule-pipeline does.
::st::PipelineOrder makePipelineOrder();

/// Models and their blocks; each distinct model is held once.
class PlannedModels {
public:
  explicit PlannedModels(std::string target) : target(std::move(target)) {}

  /// Valid as long as this object lives.
  BlockCompiler &find(const PlanInput &input);
  absl::StatusOr<::st::BlockSource *> find(const ::st::MeasuredRow &row);

private:
  const std::string target;
  std::map<std::string, std::unique_ptr<BlockCompiler>> compilers;
};

} // namespace mlir::st

#endif // ST_DRIVER_PLANNING_PLANNEDMODELS_H
