#include "lib/Planner/Step.h"

#include "lib/Planner/BlockTime.h"
#include "lib/Planner/ReplicaTime.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace st {

absl::Status checkLayout(const PlannedModel &model, const Layout &layout,
                         const proto::ClusterDescription &cluster) {
  auto refuse = [&](auto... parts) {
    return absl::InvalidArgumentError(absl::StrCat(parts...));
  };
  if (model.heads % layout.tensor != 0)
    return refuse("tp=", layout.tensor, " does not divide ", model.heads, " heads");
  const int64_t stages = layout.stages * layout.virtualStages;
  if (stages > model.layers)
    return refuse(stages, " stages are more than ", model.layers, " layers");
  if (layout.schedule == PipelineSchedule::Interleaved && layout.microBatches % layout.stages != 0)
    return refuse("the interleaved schedule needs a multiple of pp=", layout.stages,
                  " micro-batches, found ", layout.microBatches);
  const int64_t most = static_cast<int64_t>(cluster.devices_per_node()) * cluster.max_nodes();
  if (layout.devices() > most)
    return refuse(layout.devices(), " devices are more than the ", most, " of cluster ", cluster.name());
  return absl::OkStatus();
}

namespace {

class Composer {
public:
  Composer(const StepInputs &inputs, const Layout &layout, const proto::ProgramWork &work,
           const proto::ProgramWork &kept)
      : inputs(inputs), layout(layout), work(work), kept(kept), model(inputs.model),
        profile(inputs.profile), cluster(inputs.cluster),
        split(model, layout, work) {}

  StepEstimate compose(bool keepRuns);

private:
  static constexpr int64_t kLayer = ModelSplit::kLayer, kHead = ModelSplit::kHead;

  StageTimes timeStage(int64_t stage) const;
  QueuedWork forwardOf(int64_t stage) const;
  QueuedWork backwardOf(int64_t stage) const;

  GroupPlacement placeAxis(int64_t size, int64_t stride) const;
  PipelineCosts timePipeline() const;
  void timeUpdate(int64_t group, std::vector<std::pair<std::string, double>> &parts) const;
  void addTimers(const std::vector<GroupTimes> &groups, StepEstimate &step) const;

  const StepInputs &inputs;
  const Layout &layout;
  const proto::ProgramWork &work; ///< of the blocks as the layout recomputes
  const proto::ProgramWork &kept; ///< without recomputation
  const PlannedModel &model;
  const proto::ImplementationProfile &profile;
  const proto::ClusterDescription &cluster;
  const ModelSplit split;
  BlockTime embeddings, layer, head;
};

} // namespace

/// Ranks are placed tensor shards first, then replicas, then stages.
GroupPlacement Composer::placeAxis(int64_t size, int64_t stride) const {
  const int64_t node = cluster.devices_per_node();
  GroupPlacement placement;
  placement.ranks = static_cast<int>(size);
  placement.perNode =
      static_cast<int>(std::clamp<int64_t>((node + stride - 1) / std::max<int64_t>(stride, 1), 1, size));
  const int64_t devices = std::min<int64_t>(node, layout.devices());
  placement.sharers = static_cast<int>(std::max<int64_t>(devices / placement.perNode, 1));
  placement.stride = static_cast<int>(stride);
  return placement;
}

QueuedWork Composer::forwardOf(int64_t stage) const {
  QueuedWork work = inputs.costs.memoryPass(0, profile.micro_batch_launches());
  if (split.isFirst(stage))
    work += embeddings.forward;
  work += layer.forward.repeated(static_cast<double>(split.layersOfStage(stage)));
  if (split.isLast(stage))
    work += head.forward;
  return work;
}

QueuedWork Composer::backwardOf(int64_t stage) const {
  QueuedWork work;
  if (split.isLast(stage))
    work += head.backward;
  work += layer.backward.repeated(static_cast<double>(split.layersOfStage(stage)));
  if (split.isFirst(stage))
    work += embeddings.backward;
  return work;
}

/// Where the host waits for the device between tasks, each starts with both clocks alike; else the host runs ahead
/// from one micro-batch to the next.
StageTimes Composer::timeStage(int64_t stage) const {
  const QueuedWork forward = forwardOf(stage), backward = backwardOf(stage);
  StageTimes times;
  times.forward = forward.span;
  times.backward = backward.span;
  if (layout.stages == 1 ? profile.waits_between_passes() : profile.waits_for_messages())
    return times;
  const double each = std::max(forward.host + backward.host, forward.device + backward.device);
  times.forward = std::min(times.forward, std::max(forward.device, each - backward.device));
  times.backward = each - times.forward;
  return times;
}

PipelineCosts Composer::timePipeline() const {
  PipelineCosts costs;
  for (int64_t group = 0; group < layout.stages; ++group) {
    auto &chunks = costs.stages.emplace_back();
    for (int64_t chunk = 0; chunk < layout.virtualStages; ++chunk)
      chunks.push_back(timeStage(split.stageOf(group, chunk)));
  }
  if (layout.stages == 1)
    return costs;
  const int64_t stride = layout.tensor * layout.replicas;
  const bool crosses = stride >= cluster.devices_per_node();
  const int sharers = static_cast<int>(
      std::min<int64_t>(cluster.devices_per_node(), layout.devices()));
  double bytes = work.boundary_bytes();
  OpTime gather;
  if (profile.scatters_boundaries() && layout.tensor > 1 && !layout.sequenceParallel) {
    gather = inputs.costs.collective("all_gather", bytes, placeAxis(layout.tensor, 1));
    bytes /= static_cast<double>(layout.tensor);
  }
  costs.message = inputs.costs.transfer(bytes, crosses, sharers) + gather.device +
                  inputs.costs.memoryPass(0, profile.message_launches()).host;
  if (profile.waits_for_messages())
    costs.sendBusy = costs.message;
  return costs;
}

void Composer::timeUpdate(int64_t group, std::vector<std::pair<std::string, double>> &parts) const {
  const double all = split.parametersOf(group), tensors = split.tensorsOf(group);
  const double own = layout.zero >= 1 ? all / static_cast<double>(layout.replicas) : all;
  for (const proto::UpdateProfile &part : profile.update()) {
    if (part.needs_f16() && model.precision != "f16")
      continue;
    if (part.after_one_replica() && layout.replicas == 1)
      continue;
    const OpTime time = inputs.costs.memoryPass(
        (part.before_sharding() ? all : own) * part.bytes_per_parameter(),
        part.launches() + part.launches_per_tensor() * tensors);
    parts.emplace_back(part.timer(), std::max(time.host, time.device));
  }
}

void Composer::addTimers(const std::vector<GroupTimes> &groups, StepEstimate &step) const {
  std::vector<std::vector<std::pair<std::string, double>>> rows(groups.size());
  const double gradientWidth =
      profile.gradient_type() == "f32" || model.precision == "f32" ? 4 : 2;
  double end = 0;
  std::vector<double> ends(groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    auto &row = rows[g];
    row = {{"forward-compute", groups[g].forward},
           {"forward-recv", groups[g].forwardWait},
           {"backward-compute", groups[g].backward + groups[g].weight},
           {"backward-recv", groups[g].backwardWait},
           {"backward-send", groups[g].sending}};
    const double bytes = split.parametersOf(static_cast<int64_t>(g)) * gradientWidth;
    const auto group = static_cast<int64_t>(g);
    ReplicaWork replica;
    replica.gradientBytes = bytes;
    replica.weightBytes = split.parametersOf(group) * (model.precision == "f32" ? 4 : 2);
    replica.tensors = split.tensorsOf(group);
    replica.layers = static_cast<double>(std::max<int64_t>(split.layersOfGroup(group), 1));
    replica.passes = groups[g].forward + groups[g].backward + groups[g].weight;
    replica.lastBackward = groups[g].backward / static_cast<double>(layout.microBatches);
    const ReplicaTime between =
        timeReplicas(layout, profile, inputs.costs, placeAxis(layout.replicas, layout.tensor), replica);
    double reduced = between.reduction;
    if (layout.replicas > 1 || profile.copies_with_one_replica())
      reduced += inputs.costs.memoryPass(3 * bytes, 2).device;
    row.emplace_back("backward-params-all-reduce", reduced);
    // Of no timer in Megatron.
    if (between.gathers > 0)
      row.emplace_back("params-all-gather", between.gathers);
    ends[g] = groups[g].end + reduced + between.gathers;
  }
  // The first and the last stage add up the gradients of a table that both have.
  if (layout.stages > 1 && split.tiedElements() > 0) {
    const int64_t stride = layout.tensor * layout.replicas * (layout.stages - 1);
    GroupPlacement pair = placeAxis(2, stride);
    const double us =
        inputs.costs.collective("all_reduce", split.tiedElements() * gradientWidth, pair).device;
    const double start = std::max(ends.front(), ends.back());
    for (size_t g : {size_t(0), groups.size() - 1}) {
      rows[g].emplace_back("backward-embedding-all-reduce", start + us - ends[g]);
      ends[g] = start + us;
    }
  }
  for (double each : ends)
    end = std::max(end, each);
  std::vector<double> updateEnds;
  for (size_t g = 0; g < groups.size(); ++g) {
    // All ranks agree on overflows first: who is early waits there.
    double update = end - ends[g];
    std::vector<std::pair<std::string, double>> parts;
    timeUpdate(static_cast<int64_t>(g), parts);
    if (update > 0)
      rows[g].emplace_back("optimizer-unscale-and-check-inf", update);
    for (auto &[name, us] : parts) {
      update += us;
      rows[g].emplace_back(name, us);
    }
    rows[g].emplace_back("optimizer", update);
    updateEnds.push_back(ends[g] + update);
  }
  const double updateEnd = *std::max_element(updateEnds.begin(), updateEnds.end());
  for (size_t g = 0; g < groups.size(); ++g) {
    rows[g].emplace_back("batch-generator", inputs.stepUs);
    // Of no timer in Megatron: it shows in the first receive of the next step.
    if (groups.size() > 1)
      rows[g].emplace_back("wait-for-other-ranks", updateEnd - updateEnds[g]);
  }
  step.ms = (updateEnd + inputs.stepUs) * 1e-3;

  std::vector<std::string> names;
  for (const auto &row : rows)
    for (const auto &[name, us] : row)
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
  for (const std::string &name : names) {
    std::vector<double> values;
    for (const auto &row : rows) {
      double sum = 0;
      for (const auto &[other, us] : row)
        if (other == name)
          sum += us * 1e-3;
      values.push_back(sum);
    }
    Timer timer{name, 0, 0, 0, values.back()};
    std::sort(values.begin(), values.end());
    timer.least = values.front();
    timer.median = values[values.size() / 2];
    timer.most = values.back();
    step.timers.push_back(timer);
  }
}

StepEstimate Composer::compose(bool keepRuns) {
  const BlockContext context{layout, model.heads, profile, inputs.costs, placeAxis(layout.tensor, 1)};
  embeddings = timeBlock(context, work, 0);
  layer = timeBlock(context, work, kLayer);
  head = timeBlock(context, work, kHead);
  const PipelineCosts costs = timePipeline();
  std::vector<GroupTimes> groups = playPipeline(layout, costs, inputs.order, keepRuns);

  StepEstimate step;
  addTimers(groups, step);
  const MemoryModel memory({model, cluster, profile, layout, split, work, kept, inputs.optimizerBytes});
  for (size_t g = 0; g < groups.size(); ++g)
    step.memory.push_back(memory.ofGroup(static_cast<int64_t>(g), groups[g].inFlight));
  for (size_t g = 0; g < step.memory.size(); ++g)
    if (step.memory[g].total() > step.memory[step.fullest].total())
      step.fullest = g;
  step.fit = judgeFit(step.memory[step.fullest], cluster.memory_bytes().value());
  const auto layerCount = static_cast<double>(model.layers);
  const double perDevice = embeddings.productFlops + head.productFlops + layer.productFlops * layerCount;
  step.flops = perDevice * static_cast<double>(layout.tensor * layout.replicas * layout.microBatches);
  for (const proto::StateWork &state : work.states()) {
    if (state.role() != "parameter" || state.blocks().empty())
      continue;
    const int64_t block = state.blocks(0);
    if (block == 0 || block == kHead)
      step.parameters += static_cast<double>(state.elements());
    else if (block == kLayer)
      step.parameters += static_cast<double>(state.elements()) * layerCount;
  }
  const auto type = model.precision == "f32" ? proto::F32 : proto::F16;
  step.lowerBoundMs = step.flops / static_cast<double>(layout.devices()) / inputs.costs.peakFlops(type) * 1e3;
  if (keepRuns)
    step.groups = std::move(groups);
  return step;
}

absl::StatusOr<StepEstimate> estimateStep(const StepInputs &inputs, const Layout &layout,
                                          bool keepRuns) {
  if (absl::Status status = checkLayout(inputs.model, layout, inputs.cluster); !status.ok())
    return status;
  BlockKey key{layout.tensor, layout.microBatch, layout.sequenceParallel, layout.recompute,
               !inputs.profile.framework_ops()};
  BlockKey plain = key;
  plain.recompute = Recompute::None;
  // A framework runs a layer's forward pass again: nothing of it has to be compiled.
  if (inputs.profile.framework_ops() && key.recompute == Recompute::Full)
    key.recompute = Recompute::None;
  absl::StatusOr<const proto::ProgramWork *> work = inputs.blocks.get(key);
  if (!work.ok())
    return work.status();
  absl::StatusOr<const proto::ProgramWork *> kept = inputs.blocks.get(plain);
  if (!kept.ok())
    return kept.status();
  return Composer(inputs, layout, **work, **kept).compose(keepRuns);
}

} // namespace st
