// Predictions of measured rows, and constants fitted to them.
#ifndef ST_PLANNER_PREDICT_H
#define ST_PLANNER_PREDICT_H

#include "lib/Costs/GpuCosts.h"
#include "lib/Planner/Rows.h"
#include "lib/Planner/Step.h"

#include <functional>

namespace st {

/// Gives each model its blocks. What it returns lives as long as the source of the models.
using FindBlocks = std::function<absl::StatusOr<BlockSource *>(const MeasuredRow &row)>;

/// What predictions need beside a row and constants.
struct PredictContext {
  const proto::ClusterDescription &cluster;
  const proto::ImplementationProfile &profile;
  const FindBlocks &findBlocks;
  const PipelineOrder &order;
};

absl::StatusOr<StepEstimate> predictRow(const PredictContext &context, const GpuConstants &constants,
                                        const MeasuredRow &row);

} // namespace st

#endif // ST_PLANNER_PREDICT_H
