#include "lib/Planner/Step/Predict.h"

#include <algorithm>

namespace st {

absl::StatusOr<StepEstimate> predictRow(const PredictContext &context,
                                        const GpuConstants &constants, const MeasuredRow &row) {
  absl::StatusOr<BlockSource *> blocks = context.findBlocks(row);
  if (!blocks.ok())
    return blocks.status();
  const GpuCosts costs(context.cluster, context.profile, constants);
  return estimateStep({row.model, context.cluster, context.profile, costs, **blocks, context.order,
                       constants.stepUs, row.optimizer},
                      row.layout);
}

std::optional<OwnTimers> simulateOwnTimers(const MeasuredRow &row, const StepEstimate &step,
                                           const PipelineOrder &order) {
  if (!row.forwardMs || !row.backwardMs)
    return std::nullopt;
  const Layout &layout = row.layout;
  const double units = static_cast<double>(layout.microBatches * layout.virtualStages);
  PipelineCosts costs;
  StageTimes own;
  own.forward = *row.forwardMs / units;
  own.backward = *row.backwardMs / units;
  costs.stages.assign(layout.stages, std::vector<StageTimes>(layout.virtualStages, own));
  costs.links.resize(layout.stages > 1 ? layout.stages : 0);
  const std::vector<GroupTimes> groups = simulatePipeline(layout, costs, order);
  OwnTimers timers;
  timers.drain = std::max(0.0, groups.front().end - groups.back().end);
  timers.without = groups.back().end;
  for (const Timer &timer : step.timers)
    if (timer.name == "backward-params-all-reduce" || timer.name == "optimizer")
      timers.without += timer.last;
  return timers;
}

} // namespace st
