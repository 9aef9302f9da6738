// Layouts that cannot run.
#include "lib/Planner/Step/Step.h"

#include "absl/strings/str_cat.h"

namespace st {

absl::Status checkLayout(const PlannedModel &model, const Layout &layout,
                         const proto::ClusterDescription &cluster) {
  auto refuse = [&](auto... parts) { return absl::InvalidArgumentError(absl::StrCat(parts...)); };
  if (model.heads % layout.tensor != 0)
    return refuse("tp=", layout.tensor, " does not divide ", model.heads, " heads");
  const int64_t stages = layout.stages * layout.virtualStages;
  if (stages > model.layers)
    return refuse(stages, " stages are more than ", model.layers, " layers");
  if (model.sequence % layout.context != 0)
    return refuse("context=", layout.context, " does not divide ", model.sequence, " tokens");
  if (layout.contextAttention == ContextAttention::Heads &&
      model.heads % (layout.tensor * layout.context) != 0)
    return refuse("context-attention=heads: context=", layout.context, " times tp=", layout.tensor,
                  " does not divide ", model.heads, " heads");
  if (layout.contextAttention == ContextAttention::Ring && layout.recompute == Recompute::None)
    return refuse("context-attention=ring needs recompute=selective or full: stored "
                  "probabilities are those of all keys");
  if (layout.expert > 1 && model.experts == 0)
    return refuse("expert=", layout.expert, ": the model has no experts");
  if (layout.expert > 1 && model.experts < layout.expert)
    return refuse("expert=", layout.expert, " is more than ", model.experts, " experts");
  if (layout.replicas % layout.expert != 0)
    return refuse("expert=", layout.expert, " does not divide dp=", layout.replicas);
  if (layout.schedule == PipelineSchedule::Interleaved && layout.microBatches % layout.stages != 0)
    return refuse("the interleaved schedule needs a multiple of pp=", layout.stages,
                  " micro-batches, found ", layout.microBatches);
  const int64_t maximum = static_cast<int64_t>(cluster.devices_per_node()) * cluster.max_nodes();
  if (layout.offloadOptimizer && !cluster.has_host_bytes_per_node())
    return refuse("cluster ", cluster.name(),
                  " does not describe its hosts' memory, which offloading needs");
  if (layout.devices() > maximum)
    return refuse(layout.devices(), " devices are more than the ", maximum, " of cluster ",
                  cluster.name());
  return absl::OkStatus();
}

absl::Status checkLayout(const StepInputs &inputs, const Layout &layout) {
  if (layout.hasWeightTasks() && inputs.profile.framework_ops())
    return absl::InvalidArgumentError(absl::StrCat(
        "schedule=", scheduleName(layout.schedule), " needs profile st: profile ",
        inputs.profile.name(), " does not compute weight gradients in separate tasks"));
  if (layout.contextAttention == ContextAttention::Ring && inputs.profile.framework_ops())
    return absl::InvalidArgumentError(
        absl::StrCat("context-attention=ring needs profile st: profile ", inputs.profile.name(),
                     " does not split attention over the parts of a ring"));
  if (const int64_t minimum = inputs.profile.interleaved_stages();
      layout.schedule == PipelineSchedule::Interleaved && layout.stages < minimum)
    return absl::InvalidArgumentError(absl::StrCat("profile ", inputs.profile.name(),
                                                   " interleaves at least ", minimum,
                                                   " stages, found pp=", layout.stages));
  return checkLayout(inputs.model, layout, inputs.cluster);
}

} // namespace st
