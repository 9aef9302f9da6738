// Predictions of measured rows, and constants fitted to them.
#ifndef ST_PLANNER_PREDICT_H
#define ST_PLANNER_PREDICT_H

#include "lib/Costs/GpuCosts.h"
#include "lib/Planner/Fitting/Rows.h"
#include "lib/Planner/Step/Step.h"

#include <functional>
#include <optional>

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

absl::StatusOr<StepEstimate> predictRow(const PredictContext &context,
                                        const GpuConstants &constants, const MeasuredRow &row);

/// What a row's own timers say of the rest of its step, in milliseconds.
struct OwnTimers {
  double drain = 0;   ///< how long the last rank waits for the first one to end its backward passes
  double without = 0; ///< the step of the last rank but for that wait: its passes, and predicted
                      ///< messages, reduction and update
};

/// Plays the schedule with the row's measured passes on every stage. Empty for a row without these
/// timers.
std::optional<OwnTimers> playOwnTimers(const MeasuredRow &row, const StepEstimate &step,
                                       const PipelineOrder &order);

} // namespace st

#endif // ST_PLANNER_PREDICT_H
