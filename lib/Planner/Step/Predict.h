// Predicts measured rows, and fits constants to them.
#ifndef ST_PLANNER_PREDICT_H
#define ST_PLANNER_PREDICT_H

#include "lib/Costs/GpuCosts.h"
#include "lib/Planner/Fitting/Rows.h"
#include "lib/Planner/Step/Step.h"

#include <functional>
#include <optional>

namespace st {

/// Returns the blocks of a row's model, which live as long as their source.
using FindBlocks = std::function<absl::StatusOr<BlockSource *>(const MeasuredRow &row)>;

/// Inputs of predictions other than a row and constants.
struct PredictContext {
  const proto::ClusterDescription &cluster;
  const proto::ImplementationProfile &profile;
  const FindBlocks &findBlocks;
  const PipelineOrder &order;
};

absl::StatusOr<StepEstimate> predictRow(const PredictContext &context,
                                        const GpuConstants &constants, const MeasuredRow &row);

/// Times that follow from a row's measured timers, in milliseconds.
struct OwnTimers {
  double drain = 0;   ///< wait of the last rank for the first one to end its backward passes
  double without = 0; ///< the step of the last rank without that wait: its passes, and predicted
                      ///< messages, reduction and update
};

/// Simulates the schedule with the row's measured passes on every stage. Empty if the row lacks
/// these timers.
std::optional<OwnTimers> simulateOwnTimers(const MeasuredRow &row, const StepEstimate &step,
                                           const PipelineOrder &order);

} // namespace st

#endif // ST_PLANNER_PREDICT_H
