#include "lib/Planner/Simulated/SimulatedStep.h"

#include "lib/Planner/Simulated/SimulatedPipeline.h"
#include "lib/Planner/Simulated/SimulatedStages.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>

namespace st {
namespace {

class SimulatedComposer {
public:
  SimulatedComposer(const StepInputs &inputs, const Layout &layout)
      : inputs(inputs), layout(layout),
        stages(*inputs.simulated, SimulatedKey::of(layout, inputs.model), layout) {}

  absl::StatusOr<StepEstimate> compose(bool keepRuns);

private:
  static std::vector<StepPart> partsOf(const SimulatedGroupTimes &group, double end);
  void addTimes(const std::vector<SimulatedGroupTimes> &groups, StepEstimate &step) const;
  DeviceMemory sumMemory(int64_t group, int64_t inFlight) const;
  absl::Status countModel(StepEstimate &step) const;
  void takeCompiled(const CompiledStep &compiled, StepEstimate &step) const;

  const StepInputs &inputs;
  const Layout &layout;
  SimulatedStages stages;
};

} // namespace

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
  memory.parameters = stages.ofGroup(group, ParameterBytes);
  memory.gradients = stages.ofGroup(group, GradientBytes);
  memory.optimizer = stages.ofGroup(group, OptimizerBytes);
  memory.workspace = stages.ofGroup(group, WorkspaceBytes) +
                     stages.ofGroup(group, InputBytes) * static_cast<double>(layout.microBatches);
  double held = 0;
  for (int64_t stage = group; stage < stages.count(); stage += layout.stages)
    held += stages.work(stage)[ActivationBytes];
  memory.activations =
      stages.ofGroup(group, StepBytes) +
      held * static_cast<double>(inFlight) / static_cast<double>(layout.virtualStages);
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
void SimulatedComposer::takeCompiled(const CompiledStep &compiled, StepEstimate &step) const {
  step.composedMs = step.ms;
  step.ms = static_cast<double>(compiled.picoseconds) * 1e-9;
  for (std::vector<StepPart> &parts : step.parts)
    parts.push_back({"unattributed", step.ms - *step.composedMs, /*isWait=*/false,
                     /*afterUnits=*/true});
  for (size_t group = 0; group < step.memory.size(); ++group) {
    DeviceMemory &memory = step.memory[group] = {};
    for (const auto &[name, bytes] : compiled.memory[group]) {
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
  ST_ASSIGN_OR_RETURN(std::vector<int64_t> layers, inputs.simulated->layersOfStages(layout));
  ST_RETURN_IF_ERROR(stages.read(std::move(layers)));
  SimulatedPipeline pipeline = stages.makePipeline();
  ST_ASSIGN_OR_RETURN(pipeline.contention, inputs.simulated->contention(layout));
  pipeline.launch = inputs.cluster.launch_ns().value() * 1e-3;
  ST_ASSIGN_OR_RETURN(const std::vector<SimulatedGroupTimes> groups,
                      timeSimulatedPipeline(layout, pipeline, inputs.order, keepRuns));
  StepEstimate step;
  addTimes(groups, step);
  for (size_t group = 0; group < groups.size(); ++group)
    step.memory.push_back(sumMemory(static_cast<int64_t>(group), groups[group].units.inFlight));
  if (const CompiledStep *compiled = inputs.simulated->findCompiled(layout))
    takeCompiled(*compiled, step);
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
