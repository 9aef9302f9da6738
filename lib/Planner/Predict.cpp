#include "lib/Planner/Predict.h"

namespace st {

absl::StatusOr<StepEstimate> predictRow(const PredictContext &context, const GpuConstants &constants,
                                        const MeasuredRow &row) {
  absl::StatusOr<BlockSource *> blocks = context.findBlocks(row);
  if (!blocks.ok())
    return blocks.status();
  const GpuCosts costs(context.cluster, context.profile, constants);
  return estimateStep({row.model, context.cluster, context.profile, costs, **blocks, context.order,
                       constants.stepUs, optimizerBytes(row.optimizer).value_or(8)},
                      row.layout);
}

} // namespace st
