// What the planner asks the compiler for.
#ifndef ST_DRIVER_PLANNEDMODELS_H
#define ST_DRIVER_PLANNEDMODELS_H

#include "lib/Driver/BlockCompiler.h"
#include "lib/Planner/Predict.h"

namespace mlir::st {

/// The orders of schedule-pipeline.
::st::PipelineOrder makePipelineOrder();

/// Models of measured rows, and their blocks: each distinct model once.
class PlannedModels {
public:
  explicit PlannedModels(std::string target) : target(std::move(target)) {}

  absl::StatusOr<::st::BlockSource *> find(const ::st::MeasuredRow &row);

private:
  const std::string target;
  std::map<std::string, std::unique_ptr<BlockCompiler>> compilers;
};

} // namespace mlir::st

#endif // ST_DRIVER_PLANNEDMODELS_H
