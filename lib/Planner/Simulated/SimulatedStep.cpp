#include "lib/Planner/Simulated/SimulatedStep.h"

#include "lib/Planner/Simulated/SimulatedPipeline.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <limits>
#include <map>

namespace st {
namespace {

constexpr double kPicosecondsPerUs = 1e6;

StageWork &operator+=(StageWork &sum, const StageWork &work) {
  for (size_t part = 0; part < kWorkParts; ++part)
    sum[part] += work[part];
  return sum;
}
StageWork operator*(StageWork work, double factor) {
  for (double &part : work)
    part *= factor;
  return work;
}

class SimulatedComposer {
public:
  SimulatedComposer(const StepInputs &inputs, const Layout &layout)
      : inputs(inputs), layout(layout), key(SimulatedKey::of(layout, inputs.model)),
        stages(layout.stages * layout.virtualStages) {}

  absl::StatusOr<StepEstimate> compose(bool keepRuns);

private:
  absl::Status readStages();
  StagePlace placeOf(int64_t stage) const;
  StageKind kindOf(int64_t stage) const;
  /// Sums over the stages of a group. Amounts that exist once per program count once.
  double ofGroup(int64_t group, WorkPart part) const;
  absl::StatusOr<SimulatedPipeline> makePipeline() const;
  static std::vector<StepPart> partsOf(const SimulatedGroupTimes &group, double end);
  void addTimes(const std::vector<SimulatedGroupTimes> &groups, StepEstimate &step) const;
  DeviceMemory sumMemory(int64_t group, int64_t inFlight) const;
  absl::Status countModel(StepEstimate &step) const;
  void takeWhole(const WholeStep &whole, StepEstimate &step) const;

  const StepInputs &inputs;
  const Layout &layout;
  const SimulatedKey key;
  const int64_t stages;
  StageWork layer = {};
  std::vector<int64_t> layers;
  std::vector<StageWork> works; ///< by stage
};

} // namespace

SimulatedKey SimulatedKey::of(const Layout &layout, const PlannedModel &model) {
  SimulatedKey key;
  const int64_t stages = layout.stages * layout.virtualStages;
  if (model.layersDiffer())
    key.wholeStages = stages;
  else
    key.stageLayers = layout.stages > 1 && model.layers >= 2 * stages ? 2 : 1;
  key.tensor = layout.tensor;
  key.context = layout.context;
  key.replicas = layout.replicas;
  key.expert = layout.expert;
  key.microBatch = layout.microBatch;
  key.zero = layout.zero;
  key.microBatches = layout.microBatches;
  key.isPipelined = layout.stages > 1;
  key.splitsBackward = layout.hasWeightTasks();
  key.sequenceParallel = layout.sequenceParallel;
  key.recompute = layout.recompute;
  return key;
}

/// Assigns stages to the groups in turn.
StagePlace SimulatedComposer::placeOf(int64_t stage) const {
  auto groupOf = [&](int64_t other) { return (other + stages) % stages % layout.stages; };
  return {groupOf(stage), groupOf(stage - 1), groupOf(stage + 1), key.wholeStages > 0 ? stage : 0};
}

StageKind SimulatedComposer::kindOf(int64_t stage) const {
  if (stages == 1)
    return StageKind::Whole;
  return stage == 0 ? StageKind::First : stage + 1 == stages ? StageKind::Last : StageKind::Middle;
}

absl::Status SimulatedComposer::readStages() {
  ST_ASSIGN_OR_RETURN(layers, inputs.simulated->layersOfStages(layout));
  ST_ASSIGN_OR_RETURN(layer, inputs.simulated->layer(key));
  for (int64_t stage = 0; stage < stages; ++stage) {
    ST_ASSIGN_OR_RETURN(StageWork work,
                        inputs.simulated->stage(key, kindOf(stage), placeOf(stage)));
    work += layer * static_cast<double>(layers[stage] - 1);
    works.push_back(work);
  }
  return absl::OkStatus();
}

double SimulatedComposer::ofGroup(int64_t group, WorkPart part) const {
  double sum = 0, fixed = -std::numeric_limits<double>::infinity();
  // Stages of the whole model have their own work. Each has its buffers of temporaries when it
  // runs.
  if (key.wholeStages > 0) {
    for (int64_t stage = group; stage < stages; stage += layout.stages)
      sum = part == WorkspaceBytes ? std::max(sum, works[stage][part]) : sum + works[stage][part];
    return sum;
  }
  for (int64_t stage = group; stage < stages; stage += layout.stages) {
    const double ofLayers = layer[part] * static_cast<double>(layers[stage]);
    sum += ofLayers;
    // With several stages, the embeddings' or the head's group has more than layers.
    fixed = std::max(fixed, works[stage][part] - ofLayers);
  }
  return sum + fixed;
}

absl::StatusOr<SimulatedPipeline> SimulatedComposer::makePipeline() const {
  SimulatedPipeline pipeline;
  for (int64_t group = 0; group < layout.stages; ++group) {
    SimulatedGroup &made = pipeline.groups.emplace_back();
    made.prologue = (ofGroup(group, PrologueTime) + ofGroup(group, TotalsTime)) / kPicosecondsPerUs;
    for (int64_t stage = group; stage < stages; stage += layout.stages)
      made.addStage(works[stage], layout.microBatches);
    made.update = ofGroup(group, UpdateTime) / kPicosecondsPerUs;
    made.chips = inputs.simulated->chipsOf(key, group);
  }
  if (stages > 1)
    pipeline.exchange(works.front(), works.back());
  ST_ASSIGN_OR_RETURN(pipeline.contention, inputs.simulated->contention(layout));
  pipeline.launch = inputs.cluster.launch_ns().value() * 1e-3;
  return pipeline;
}

/// The prologue is the work before the first unit: work that does not depend on the micro-batch,
/// and sums over all micro-batches.
std::vector<StepPart> SimulatedComposer::partsOf(const SimulatedGroupTimes &group, double end) {
  std::vector<StepPart> parts = {
      {"prologue", group.prologue},
      {"forward-compute", group.units.forward},
      {"forward-recv", group.units.forwardWait, /*isWait=*/true},
      {"backward-compute", group.units.backward + group.units.weight},
      {"backward-recv", group.units.backwardWait, /*isWait=*/true},
      {"backward-embedding-all-reduce", group.exchange, /*isWait=*/true, /*afterUnits=*/true},
      {"optimizer", group.update, /*isWait=*/false, /*afterUnits=*/true},
      {"wait-for-other-ranks", end - group.end, /*isWait=*/true, /*afterUnits=*/true}};
  for (StepPart &part : parts)
    part.ms *= 1e-3;
  return parts;
}

void SimulatedComposer::addTimes(const std::vector<SimulatedGroupTimes> &groups,
                                 StepEstimate &step) const {
  double end = 0;
  for (const SimulatedGroupTimes &group : groups)
    end = std::max(end, group.end);
  for (const SimulatedGroupTimes &group : groups)
    step.parts.push_back(partsOf(group, end));
  step.ms = end * 1e-3;
}

/// Adds one timer per part, over the groups.
static void addTimers(StepEstimate &step) {
  for (size_t part = 0; part < step.parts.front().size(); ++part) {
    std::vector<double> values;
    for (const std::vector<StepPart> &parts : step.parts)
      values.push_back(parts[part].ms);
    Timer timer{step.parts.front()[part].timer, 0, 0, 0, values.back()};
    std::sort(values.begin(), values.end());
    timer.least = values.front();
    timer.median = values[values.size() / 2];
    timer.most = values.back();
    step.timers.push_back(timer);
  }
}

DeviceMemory SimulatedComposer::sumMemory(int64_t group, int64_t inFlight) const {
  DeviceMemory memory;
  memory.parameters = ofGroup(group, ParameterBytes);
  memory.gradients = ofGroup(group, GradientBytes);
  memory.optimizer = ofGroup(group, OptimizerBytes);
  memory.workspace = ofGroup(group, WorkspaceBytes) +
                     ofGroup(group, InputBytes) * static_cast<double>(layout.microBatches);
  double held = 0;
  for (int64_t stage = group; stage < stages; stage += layout.stages)
    held += works[stage][ActivationBytes];
  memory.activations = ofGroup(group, StepBytes) + held * static_cast<double>(inFlight) /
                                                       static_cast<double>(layout.virtualStages);
  return memory;
}

/// Reads the products and parameters of the model from its smallest program.
absl::Status SimulatedComposer::countModel(StepEstimate &step) const {
  BlockKey reference;
  reference.formsKernels = true;
  reference.optimizer = inputs.optimizer;
  ST_ASSIGN_OR_RETURN(const proto::ProgramWork *work, inputs.blocks.get(reference));
  for (const proto::PhaseWork &phase : work->phases())
    for (const proto::OpWork &op : phase.ops())
      if (op.kind() == proto::OpWork::PRODUCT &&
          !(phase.phase() == "backward" && op.is_recomputed()))
        step.flops += op.flops() * static_cast<double>(inputs.model.timesOf(phase.block()) *
                                                       layout.globalBatch());
  step.flopsWithRecomputation = step.flops;
  ST_ASSIGN_OR_RETURN(step.parameters, countParameters(inputs));
  return absl::OkStatus();
}

/// Replaces the composed figures by simulated ones.
void SimulatedComposer::takeWhole(const WholeStep &whole, StepEstimate &step) const {
  step.composedMs = step.ms;
  step.ms = static_cast<double>(whole.picoseconds) * 1e-9;
  for (std::vector<StepPart> &parts : step.parts)
    parts.push_back({"beside-the-composition", step.ms - *step.composedMs, /*isWait=*/false,
                     /*afterUnits=*/true});
  for (size_t group = 0; group < step.memory.size(); ++group) {
    DeviceMemory &memory = step.memory[group] = {};
    for (const auto &[name, bytes] : whole.memory[group]) {
      double &part = name == "parameters"    ? memory.parameters
                     : name == "gradients"   ? memory.gradients
                     : name == "optimizer"   ? memory.optimizer
                     : name == "activations" ? memory.activations
                                             : memory.workspace;
      part += static_cast<double>(bytes);
    }
  }
}

absl::StatusOr<StepEstimate> SimulatedComposer::compose(bool keepRuns) {
  ST_RETURN_IF_ERROR(readStages());
  ST_ASSIGN_OR_RETURN(const SimulatedPipeline pipeline, makePipeline());
  ST_ASSIGN_OR_RETURN(const std::vector<SimulatedGroupTimes> groups,
                      playSimulated(layout, pipeline, inputs.order, keepRuns));
  StepEstimate step;
  addTimes(groups, step);
  for (size_t group = 0; group < groups.size(); ++group)
    step.memory.push_back(sumMemory(static_cast<int64_t>(group), groups[group].units.inFlight));
  if (const WholeStep *whole = inputs.simulated->findWhole(layout))
    takeWhole(*whole, step);
  addTimers(step);
  for (size_t group = 0; group < groups.size(); ++group)
    if (step.memory[group].total() > step.memory[step.fullest].total())
      step.fullest = group;
  step.fit = step.memory[step.fullest].total() <= inputs.cluster.memory_bytes().value()
                 ? Fit::Fits
                 : Fit::DoesNotFit;
  ST_RETURN_IF_ERROR(countModel(step));
  const auto type = inputs.model.precision == "f32" ? proto::F32 : proto::F16;
  step.lowerBoundMs =
      step.flops / static_cast<double>(layout.devices()) / inputs.costs.peakFlops(type) * 1e3;
  if (keepRuns)
    for (const SimulatedGroupTimes &group : groups)
      step.groups.push_back(group.units);
  return step;
}

absl::StatusOr<StepEstimate> estimateSimulatedStep(const StepInputs &inputs, const Layout &layout,
                                                   bool keepRuns) {
  return SimulatedComposer(inputs, layout).compose(keepRuns);
}

} // namespace st
