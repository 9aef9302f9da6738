#include "lib/Planner/Step/Step.h"

#include "lib/Planner/Search/StepMemo.h"
#include "lib/Planner/Simulated/SimulatedStep.h"
#include "lib/Planner/Step/BlockTime.h"
#include "lib/Planner/Step/ReplicaTime.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace st {

namespace {

struct TimedPart {
  std::string timer;
  double us;
  bool isWait = false;
};

/// The parts of a step on the devices of a group, and when the last of them ends, in microseconds.
struct GroupParts {
  std::vector<TimedPart> parts;
  size_t numPasses = 0; ///< of these, the first ones: passes over micro-batches
  double end = 0;
};

class Composer {
public:
  Composer(const StepInputs &inputs, const Layout &layout, const proto::ProgramWork &work,
           const proto::ProgramWork &kept)
      : inputs(inputs), layout(layout), work(work), kept(kept), model(inputs.model),
        profile(inputs.profile), cluster(inputs.cluster),
        placement(inputs.memo ? inputs.memo->place(cluster, layout) : placeRanks(cluster, layout)),
        split(model, layout, work) {}

  StepEstimate compose(bool keepRuns);
  StepBound bound(BoundDetail detail);

private:
  void timeBlocks();
  StageTimes timeStage(int64_t stage) const;
  QueuedWork forwardOf(int64_t stage) const;
  QueuedWork backwardOf(int64_t stage) const;
  QueuedWork weightOf(int64_t stage) const;
  HeldMicroBatches heldBy(int64_t group, const GroupTimes &times) const;

  double boundaryAfter(int64_t group) const;
  void timeLinks(PipelineCosts &costs) const;
  std::string noteSizes() const;
  PipelineCosts timePipeline() const;
  /// Elements whose optimizer state a device of a group updates.
  double updatedElements(int64_t group) const { return ownShare(split.trainedOf(group)); }
  /// Bytes of master weights and optimizer state of these.
  double updatedBytes(int64_t group) const {
    return ownShare(split.trainedOf(group) * state().master() + split.optimizerBytesOf(group));
  }
  double ownShare(const StateAmount &all) const {
    return layout.zero >= 1 ? all.sharedBy(layout) : all.sum();
  }
  const proto::StateProfile &state() const { return stateOf(profile, model.precision); }
  double timeOffload(int64_t group) const;
  /// Bytes in the host's memory, for the device with most.
  double offloadedBytes() const;
  void timeUpdate(int64_t group, std::vector<std::pair<std::string, double>> &parts) const;
  /// Bytes of an element of the gradients of parameters.
  double gradientWidth() const {
    return profile.gradient_type() == "f32" || model.precision == "f32" ? 4 : 2;
  }
  ReplicaWork replicaWorkOf(int64_t group, const GroupTimes &times) const;
  /// A time of the layers of a group, once per step.
  double sumLayers(int64_t group, OpTime BlockTime::*part) const;
  GroupParts partsOf(int64_t group, const GroupTimes &times, const StepEstimate &step) const;
  void addTiedReduction(std::vector<GroupParts> &rows) const;
  void addUpdate(int64_t group, double start, GroupParts &row) const;
  void addTimers(const std::vector<GroupTimes> &groups, StepEstimate &step) const;

  const StepInputs &inputs;
  const Layout &layout;
  const proto::ProgramWork &work; ///< of the blocks as the layout recomputes
  const proto::ProgramWork &kept; ///< without recomputation
  const PlannedModel &model;
  const proto::ImplementationProfile &profile;
  const proto::ClusterDescription &cluster;
  const RankPlacement placement;
  const ModelSplit split;
  ModelTimes times;
};

} // namespace

QueuedWork Composer::forwardOf(int64_t stage) const {
  QueuedWork work = inputs.costs.memoryPass(0, profile.micro_batch_launches());
  if (split.isFirst(stage))
    work += times.embeddings.forward;
  bool isAfterBridge = !split.hasBridge(stage);
  split.visitLayers(stage, [&](size_t index, int64_t count) {
    if (!isAfterBridge && model.isDecoderLayer(split.layerBlocks()[index])) {
      work += times.bridge.forward;
      isAfterBridge = true;
    }
    work += times.layers[index].forward.repeated(static_cast<double>(count));
  });
  if (split.isLast(stage))
    work += times.head.forward;
  return work;
}

QueuedWork Composer::backwardOf(int64_t stage) const {
  std::vector<QueuedWork> parts;
  if (split.isFirst(stage))
    parts.push_back(times.embeddings.backward);
  bool isAfterBridge = !split.hasBridge(stage);
  split.visitLayers(stage, [&](size_t index, int64_t count) {
    if (!isAfterBridge && model.isDecoderLayer(split.layerBlocks()[index])) {
      parts.push_back(times.bridge.backward);
      isAfterBridge = true;
    }
    parts.push_back(times.layers[index].backward.repeated(static_cast<double>(count)));
  });
  QueuedWork work;
  if (split.isLast(stage))
    work += times.head.backward;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    work += *part;
  return work;
}

QueuedWork Composer::weightOf(int64_t stage) const {
  QueuedWork work;
  split.visitLayers(stage, [&](size_t index, int64_t count) {
    work += times.layers[index].weight.repeated(static_cast<double>(count));
  });
  if (split.isLast(stage))
    work += times.head.weight;
  if (split.hasBridge(stage))
    work += times.bridge.weight;
  if (split.isFirst(stage))
    work += times.embeddings.weight;
  return work;
}

HeldMicroBatches Composer::heldBy(int64_t group, const GroupTimes &times) const {
  return layout.hasWeightTasks() ? maxHeld(inputs.order(layout, group))
                                 : HeldMicroBatches{times.inFlight};
}

/// If the host waits for the device between tasks, host and device start each task together.
/// Otherwise the host runs ahead across micro-batches.
StageTimes Composer::timeStage(int64_t stage) const {
  const QueuedWork forward = forwardOf(stage), backward = backwardOf(stage),
                   weight = weightOf(stage);
  StageTimes times;
  times.forward = forward.span;
  times.backward = backward.span;
  times.weight = weight.span;
  if (layout.stages == 1 ? profile.waits_between_passes() : profile.waits_for_messages())
    return times;
  const double each = std::max(forward.host + backward.host + weight.host,
                               forward.device + backward.device + weight.device);
  times.forward =
      std::min(times.forward, std::max(forward.device, each - backward.device - weight.device));
  times.weight =
      std::min(times.weight, std::max(weight.device, each - times.forward - backward.device));
  times.backward = each - times.forward - times.weight;
  return times;
}

PipelineCosts Composer::timePipeline() const {
  PipelineCosts costs;
  for (int64_t group = 0; group < layout.stages; ++group) {
    auto &chunks = costs.stages.emplace_back();
    for (int64_t chunk = 0; chunk < layout.virtualStages; ++chunk)
      chunks.push_back(timeStage(split.stageOf(group, chunk)));
  }
  if (layout.stages > 1)
    timeLinks(costs);
  return costs;
}

/// The largest message of a micro-batch from a group to the next. After the bridge it includes the
/// encoder's result.
double Composer::boundaryAfter(int64_t group) const {
  double bytes = 0;
  for (int64_t chunk = 0; chunk < layout.virtualStages; ++chunk)
    bytes = std::max(bytes, split.hasDecoderLayers(split.stageOf(group, chunk))
                                ? work.decoder_boundary_bytes()
                                : work.boundary_bytes());
  return bytes;
}

void Composer::timeLinks(PipelineCosts &costs) const {
  for (size_t group = 0; group < placement.links.size(); ++group) {
    const StageLink &link = placement.links[group];
    double bytes = boundaryAfter(static_cast<int64_t>(group));
    OpTime gather;
    if (profile.scatters_boundaries() && layout.tensor > 1 && !layout.sequenceParallel) {
      gather = inputs.costs.collective("all_gather", bytes, placement.tensor);
      bytes /= static_cast<double>(layout.tensor);
    }
    const double around =
        gather.device + inputs.costs.memoryPass(0, profile.message_launches()).host;
    const double message = inputs.costs.transfer(bytes, link.crossesNodes, link.sharers) + around;
    costs.links.push_back({message, profile.waits_for_messages() ? message : 0});
  }
}

/// Gradients go to the host, and updated weights return. In between the host's processors read and
/// write master weights and the optimizer's state. Devices of a node share this memory bandwidth,
/// which bounds the time of the update.
double Composer::timeOffload(int64_t group) const {
  const double elements = updatedElements(group), moved = gradientWidth() + state().weights();
  const auto sharers =
      static_cast<double>(std::min<int64_t>(cluster.devices_per_node(), layout.devices()));
  const double passed = elements * moved + 2 * updatedBytes(group);
  return elements * moved / (cluster.host_gbytes_per_second().value() * 1e3) +
         passed * sharers / (cluster.host_memory_gbytes_per_second().value() * 1e3);
}

double Composer::offloadedBytes() const {
  double most = 0;
  for (int64_t group = 0; group < layout.stages; ++group)
    most = std::max(most, updatedBytes(group));
  return most;
}

void Composer::timeUpdate(int64_t group, std::vector<std::pair<std::string, double>> &parts) const {
  const double all = split.trainedOf(group).sum(), tensors = split.trainedTensorsOf(group),
               own = updatedElements(group);
  for (const proto::UpdateProfile &part : profile.update()) {
    if (part.needs_f16() && model.precision != "f16")
      continue;
    if (part.after_one_replica() && layout.copies() == 1)
      continue;
    const OpTime time =
        inputs.costs.memoryPass((part.before_sharding() ? all : own) * part.bytes_per_parameter(),
                                part.launches() + part.launches_per_tensor() * tensors);
    parts.emplace_back(part.timer(), std::max(time.host, time.device));
  }
}

/// The work of a group's devices between their last backward pass and the update.
ReplicaWork Composer::replicaWorkOf(int64_t group, const GroupTimes &times) const {
  ReplicaWork work;
  const StateAmount parameters = split.parametersOf(group), trained = split.trainedOf(group);
  const double width = model.precision == "f32" ? 4 : 2;
  work.gradientBytes = trained * gradientWidth();
  work.updatedBytes = trained * width;
  work.weightBytes = parameters * width;
  work.tensors = split.tensorsOf(group);
  work.trainedTensors = split.trainedTensorsOf(group);
  work.layers = static_cast<double>(std::max<int64_t>(split.layersOfGroup(group), 1));
  work.passes = times.forward + times.backward + times.weight;
  // The tasks that gradients of weights come from.
  work.lastBackward = (layout.hasWeightTasks() ? times.weight : times.backward) /
                      static_cast<double>(layout.microBatches);
  return work;
}

double Composer::sumLayers(int64_t group, OpTime BlockTime::*part) const {
  double sum = 0;
  for (int64_t chunk = 0; chunk < layout.virtualStages; ++chunk)
    split.visitLayers(split.stageOf(group, chunk), [&](size_t index, int64_t count) {
      const OpTime &time = times.layers[index].*part;
      sum += std::max(time.host, time.device) * static_cast<double>(count);
    });
  return sum;
}

/// The passes of a group and the reduction of its gradients.
GroupParts Composer::partsOf(int64_t group, const GroupTimes &times,
                             const StepEstimate &step) const {
  GroupParts row;
  row.parts = {{"forward-compute", times.forward},
               {"forward-recv", times.forwardWait, true},
               {"backward-compute", times.backward + times.weight},
               {"backward-recv", times.backwardWait, true},
               {"backward-send", times.sending}};
  row.numPasses = row.parts.size();
  const ReplicaWork replica = replicaWorkOf(group, times);
  const ReplicaTime between = timeReplicas(layout, profile, inputs.costs, placement, replica);
  double reduced = between.reduction + sumLayers(group, &BlockTime::scatters);
  if (layout.copies() > 1 || profile.copies_with_one_replica())
    reduced += inputs.costs.memoryPass(3 * replica.gradientBytes.sum(), 2).device;
  row.parts.push_back({"backward-params-all-reduce", reduced});
  // Megatron-LM has no timer for this.
  const double gathers = between.gathers + sumLayers(group, &BlockTime::gathers);
  if (gathers > 0)
    row.parts.push_back({"params-all-gather", gathers});
  row.end = times.end + reduced + gathers;
  // Megatron-LM has no timer for this either. `step` has no memory while a lower bound is computed.
  const double returnUs = profile.memory().return_us_per_mib() / (1 << 20);
  if (const double us = step.memory.empty() ? 0 : returnUs * step.memory[group].returned; us > 0) {
    row.parts.push_back({"allocator-returns-blocks", us});
    row.end += us;
  }
  return row;
}

/// The first and the last stage add up the gradients of a table that both have.
void Composer::addTiedReduction(std::vector<GroupParts> &rows) const {
  if (layout.stages == 1 || split.tiedElements() <= 0)
    return;
  const double us =
      inputs.costs.collective("all_reduce", split.tiedElements() * gradientWidth(), placement.tied)
          .device;
  const double start = std::max(rows.front().end, rows.back().end);
  for (GroupParts *row : {&rows.front(), &rows.back()}) {
    row->parts.push_back({"backward-embedding-all-reduce", start - row->end, true});
    row->parts.push_back({"backward-embedding-all-reduce", us});
    row->end = start + us;
  }
}

/// The update of a group, which begins at `start` on all ranks.
void Composer::addUpdate(int64_t group, double start, GroupParts &row) const {
  // All ranks first agree on overflows, and early ranks wait there.
  double update = start - row.end;
  std::vector<std::pair<std::string, double>> parts;
  timeUpdate(group, parts);
  if (update > 0)
    row.parts.push_back({"optimizer-unscale-and-check-inf", update, true});
  if (layout.offloadOptimizer)
    parts.emplace_back("optimizer-offload", timeOffload(group));
  for (auto &[name, us] : parts) {
    update += us;
    row.parts.push_back({name, us});
  }
  row.parts.push_back({"optimizer", update});
  row.end += update;
}

/// For each timer the least, median and most of the groups, and the time of the last group.
static std::vector<Timer> summarise(const std::vector<GroupParts> &rows) {
  std::vector<std::string> names;
  for (const GroupParts &row : rows)
    for (const TimedPart &part : row.parts)
      if (std::find(names.begin(), names.end(), part.timer) == names.end())
        names.push_back(part.timer);
  std::vector<Timer> timers;
  for (const std::string &name : names) {
    std::vector<double> values;
    for (const GroupParts &row : rows) {
      double sum = 0;
      for (const TimedPart &part : row.parts)
        if (part.timer == name)
          sum += part.us * 1e-3;
      values.push_back(sum);
    }
    Timer timer{name, 0, 0, 0, values.back()};
    std::sort(values.begin(), values.end());
    timer.least = values.front();
    timer.median = values[values.size() / 2];
    timer.most = values.back();
    timers.push_back(timer);
  }
  return timers;
}

static double lastEnd(const std::vector<GroupParts> &rows) {
  double end = 0;
  for (const GroupParts &row : rows)
    end = std::max(end, row.end);
  return end;
}

void Composer::addTimers(const std::vector<GroupTimes> &groups, StepEstimate &step) const {
  std::vector<GroupParts> rows;
  for (size_t g = 0; g < groups.size(); ++g)
    rows.push_back(partsOf(static_cast<int64_t>(g), groups[g], step));
  addTiedReduction(rows);
  const double start = lastEnd(rows);
  for (size_t g = 0; g < rows.size(); ++g)
    addUpdate(static_cast<int64_t>(g), start, rows[g]);
  const double end = lastEnd(rows);
  for (GroupParts &row : rows) {
    row.parts.push_back({"batch-generator", inputs.stepUs});
    // Megatron-LM has no timer for this wait; the first receive of the next step contains it.
    if (groups.size() > 1)
      row.parts.push_back({"wait-for-other-ranks", end - row.end, true});
    // "optimizer" is the sum of its parts.
    auto &parts = step.parts.emplace_back();
    for (size_t i = 0; i < row.parts.size(); ++i)
      if (const TimedPart &part = row.parts[i]; part.timer != "optimizer")
        parts.push_back({part.timer, part.us * 1e-3, part.isWait, i >= row.numPasses});
  }
  step.ms = (end + inputs.stepUs) * 1e-3;
  std::vector<Timer> timers = summarise(rows);
  step.timers.insert(step.timers.end(), timers.begin(), timers.end());
}

static double sumParameters(const PlannedModel &model, const proto::ProgramWork &work) {
  double sum = 0;
  for (const proto::StateWork &state : work.states())
    if (state.role() == "parameter")
      sum += static_cast<double>(state.elements()) * static_cast<double>(model.timesOf(state));
  return sum;
}

/// An amount of all groups, per parameter.
static absl::StatusOr<double> perParameter(const StepInputs &inputs, const Layout &layout,
                                           StateAmount (ModelSplit::*amountOf)(int64_t) const) {
  ST_ASSIGN_OR_RETURN(const proto::ProgramWork *work,
                      inputs.blocks.get(blocksOf(inputs, layout).kept));
  const ModelSplit split(inputs.model, layout, *work);
  double amount = 0, parameters = 0;
  for (int64_t group = 0; group < layout.stages; ++group) {
    amount += (split.*amountOf)(group).sum();
    parameters += split.parametersOf(group).sum();
  }
  return amount / parameters;
}

absl::StatusOr<double> trainedShare(const StepInputs &inputs, const Layout &layout) {
  return perParameter(inputs, layout, &ModelSplit::trainedOf);
}

absl::StatusOr<double> optimizerBytes(const StepInputs &inputs, const Layout &layout) {
  return perParameter(inputs, layout, &ModelSplit::optimizerBytesOf);
}

absl::StatusOr<const proto::ProgramWork *> readUnshardedWork(const StepInputs &inputs) {
  BlockKey key;
  key.formsKernels = !inputs.profile.framework_ops();
  key.optimizer = inputs.optimizer;
  return inputs.blocks.get(key);
}

absl::StatusOr<double> countParameters(const StepInputs &inputs) {
  ST_ASSIGN_OR_RETURN(const proto::ProgramWork *work, readUnshardedWork(inputs));
  return sumParameters(inputs.model, *work);
}

void Composer::timeBlocks() {
  const BlockContext context{layout, model, profile, inputs.costs, placement};
  auto compute = [&] {
    ModelTimes created;
    created.embeddings = timeBlock(context, work, 0);
    for (int64_t block : split.layerBlocks())
      created.layers.push_back(timeBlock(context, work, block));
    created.head = timeBlock(context, work, model.headBlock());
    if (model.decoderLayers > 0)
      created.bridge = timeBlock(context, work, model.bridgeBlock());
    return created;
  };
  times = inputs.memo ? inputs.memo->blocks(work, layout, placement, compute) : compute();
}

/// Names the sizes of a layer's products that cost more than 1 % of its time.
std::string Composer::noteSizes() const {
  for (const BlockTime &layer : times.layers) {
    const double all = layer.forward.device + layer.backward.device;
    if (layer.lostUs >= 0.01 * all && layer.lostUs > 0)
      return absl::StrFormat(
          "matrix units are slow for sizes that are not multiples of 64: %s of a layer's products "
          "cost %.1f %% of its device time",
          absl::StrJoin(layer.badSizes, ", "), layer.lostUs / all * 100);
  }
  return "";
}

StepEstimate Composer::compose(bool keepRuns) {
  timeBlocks();
  const PipelineCosts costs = timePipeline();
  std::vector<GroupTimes> groups =
      inputs.memo && !keepRuns ? inputs.memo->pipelines.simulate(layout, costs, inputs.order)
                               : simulatePipeline(layout, costs, inputs.order, keepRuns);

  StepEstimate step;
  const MemoryModel memory({model, cluster, profile, layout, split, work, kept,
                            inputs.memo ? &inputs.memo->kept : nullptr});
  for (size_t g = 0; g < groups.size(); ++g)
    step.memory.push_back(
        memory.ofGroup(static_cast<int64_t>(g), heldBy(static_cast<int64_t>(g), groups[g])));
  for (size_t g = 0; g < step.memory.size(); ++g)
    if (step.memory[g].total() > step.memory[step.fullest].total())
      step.fullest = g;
  addTimers(groups, step);
  step.fit = judgeFit(step.memory[step.fullest], cluster.memory_bytes().value());
  if (layout.offloadOptimizer) {
    step.hostBytes = offloadedBytes();
    const int64_t ofNode = std::min<int64_t>(cluster.devices_per_node(), layout.devices());
    if (step.hostBytes * static_cast<double>(ofNode) > cluster.host_bytes_per_node().value())
      step.fit = Fit::DoesNotFit;
  }
  auto sumOf = [&](double BlockTime::*part) {
    double sum = times.embeddings.*part + times.bridge.*part + times.head.*part;
    for (size_t index = 0; index < times.layers.size(); ++index)
      sum += times.layers[index].*part *
             static_cast<double>(model.timesOf(split.layerBlocks()[index]));
    return sum;
  };
  const double perDevice = sumOf(&BlockTime::productFlops), again = sumOf(&BlockTime::againFlops),
               passes = static_cast<double>(layout.groupDevices() * layout.microBatches);
  step.flops = perDevice * passes;
  step.flopsWithRecomputation = (perDevice + again) * passes;
  step.parameters = sumParameters(model, work);
  step.note = noteSizes();
  const auto type = model.precision == "f32" ? proto::F32 : proto::F16;
  step.lowerBoundMs =
      step.flops / static_cast<double>(layout.devices()) / inputs.costs.peakFlops(type) * 1e3;
  if (keepRuns)
    step.groups = std::move(groups);
  return step;
}

/// Considers only groups that may need most memory: the first, the last, and the last one with an
/// extra layer.
StepBound Composer::bound(BoundDetail detail) {
  timeBlocks();
  const std::vector<GroupTimes> groups = boundPipeline(layout, timePipeline());
  StepBound bound;
  if (detail == BoundDetail::Step) {
    StepEstimate step;
    addTimers(groups, step);
    bound.ms = step.ms;
  } else {
    for (const GroupTimes &group : groups)
      bound.ms = std::max(bound.ms, (group.end + inputs.stepUs) * 1e-3);
  }
  const MemoryModel memory(
      {model, cluster, profile, layout, split, work, kept, &inputs.memo->kept});
  const int64_t more = model.layers % (layout.stages * layout.virtualStages) % layout.stages;
  for (int64_t group : {int64_t(0), std::max<int64_t>(more - 1, 0), layout.stages - 1}) {
    const DeviceMemory own =
        memory.ofGroup(group, inputs.memo->pipelines.maxHeld(layout, inputs.order, group));
    if (own.total() <= bound.memory.total())
      continue;
    bound.memory = own;
    bound.group = group;
  }
  return bound;
}

StepBlocks blocksOf(const StepInputs &inputs, const Layout &layout) {
  StepBlocks keys;
  keys.work = {layout.tensor,
               layout.microBatch,
               layout.sequenceParallel,
               layout.recompute,
               !inputs.profile.framework_ops(),
               layout.hasWeightTasks(),
               inputs.optimizer,
               layout.context,
               layout.expert,
               layout.contextAttention};
  keys.kept = keys.work;
  // Under full recomputation, a layer has its forward results again for its backward pass. St's
  // attention streams its rows then, as under selective recomputation.
  keys.kept.recompute = keys.work.formsKernels && layout.recompute == Recompute::Full
                            ? Recompute::Selective
                            : Recompute::None;
  // A framework reruns a layer's forward pass, so recomputation is not compiled.
  if (inputs.profile.framework_ops() && keys.work.recompute == Recompute::Full)
    keys.work.recompute = Recompute::None;
  return keys;
}

absl::StatusOr<StepEstimate> estimateStep(const StepInputs &inputs, const Layout &layout,
                                          bool keepRuns) {
  if (inputs.simulated) {
    if (absl::Status status = checkLayout(inputs.model, layout, inputs.cluster); !status.ok())
      return status;
    return estimateSimulatedStep(inputs, layout, keepRuns);
  }
  if (absl::Status status = checkLayout(inputs, layout); !status.ok())
    return status;
  const StepBlocks keys = blocksOf(inputs, layout);
  absl::StatusOr<const proto::ProgramWork *> work = inputs.blocks.get(keys.work);
  if (!work.ok())
    return work.status();
  absl::StatusOr<const proto::ProgramWork *> kept = inputs.blocks.get(keys.kept);
  if (!kept.ok())
    return kept.status();
  return Composer(inputs, layout, **work, **kept).compose(keepRuns);
}

StepBound boundStep(const StepInputs &inputs, const Layout &layout, const proto::ProgramWork &work,
                    const proto::ProgramWork &kept, BoundDetail detail) {
  return Composer(inputs, layout, work, kept).bound(detail);
}

} // namespace st
