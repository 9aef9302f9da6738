#include "lib/Planner/Memory.h"

#include <algorithm>

namespace st {

const char *fitName(Fit fit) {
  switch (fit) {
  case Fit::Fits:
    return "fits";
  case Fit::WithinMargin:
    return "within the margin";
  case Fit::DoesNotFit:
    return "does not fit";
  }
  return "";
}

Fit judgeFit(const DeviceMemory &memory, double room) {
  return memory.total() <= room                          ? Fit::Fits
         : memory.total() - memory.fragmentation <= room ? Fit::WithinMargin
                                                         : Fit::DoesNotFit;
}

std::vector<std::pair<const char *, double>> DeviceMemory::classes() const {
  return {{"parameters", parameters}, {"gradients", gradients},
          {"optimizer", optimizer},   {"activations", activations},
          {"workspace", workspace},   {"communication", communication},
          {"context", context},       {"fragmentation", fragmentation}};
}

static double stashBytes(const proto::ProgramWork &work, int64_t block) {
  double bytes = 0;
  for (const proto::StashWork &stash : work.stashes())
    if (stash.block() == block)
      bytes += stash.bytes();
  return bytes;
}

DeviceMemory sumMemory(const MemoryInputs &inputs, int64_t group, int64_t inFlight) {
  const Layout &layout = inputs.layout;
  const ModelSplit &split = inputs.split;
  DeviceMemory memory;
  const proto::StateProfile &state =
      inputs.model.precision == "f32" ? inputs.profile.state_f32() : inputs.profile.state_f16();
  const double parameters = split.parametersOf(group),
               replicas = static_cast<double>(layout.replicas);
  memory.parameters = parameters * state.weights() / (layout.zero >= 3 ? replicas : 1);
  memory.gradients = parameters * (state.gradients() / (layout.zero >= 2 ? replicas : 1) +
                                   state.main_gradients() / (layout.zero >= 1 ? replicas : 1));
  memory.optimizer =
      parameters * (state.master() + inputs.optimizerBytes) / (layout.zero >= 1 ? replicas : 1);
  if (layout.offloadOptimizer)
    memory.optimizer = 0;

  double held = 0, atOnce = 0;
  for (int64_t chunk = 0; chunk < layout.virtualStages; ++chunk) {
    const int64_t stage = split.stageOf(group, chunk);
    const bool isFull = layout.recompute == Recompute::Full;
    const double ofLayer =
        isFull ? inputs.work.boundary_bytes() : stashBytes(inputs.work, ModelSplit::kLayer);
    held += ofLayer * static_cast<double>(split.layersOfStage(stage));
    if (split.isFirst(stage))
      held += stashBytes(inputs.kept, 0);
    // The head's activations are there for one micro-batch: its backward follows its forward.
    if (split.isLast(stage))
      atOnce = std::max(atOnce, stashBytes(inputs.kept, ModelSplit::kHead));
    if (isFull)
      atOnce = std::max(atOnce, stashBytes(inputs.kept, ModelSplit::kLayer));
  }
  memory.activations =
      held * static_cast<double>(inFlight) / static_cast<double>(layout.virtualStages);
  // Gradients of activations are as large as the largest of these while one layer is worked on.
  memory.workspace = atOnce + 2 * inputs.work.boundary_bytes();
  if (layout.zero >= 3)
    memory.workspace += 2 * parameters * state.weights() /
                        std::max<double>(1, static_cast<double>(split.layersOfStage(group)));
  const int communicators = (layout.tensor > 1) + (layout.replicas > 1) + (layout.stages > 1);
  memory.communication = communicators * inputs.cluster.communicator_bytes().value();
  memory.context = inputs.cluster.context_bytes().value();
  memory.fragmentation =
      inputs.cluster.fragmentation().value() * (memory.activations + memory.workspace);
  return memory;
}

} // namespace st
