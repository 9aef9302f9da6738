#include "lib/Planner/Memory/Memory.h"

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
  if (memory.needed() + memory.margin <= room)
    return Fit::Fits;
  return memory.needed() <= room ? Fit::WithinMargin : Fit::DoesNotFit;
}

std::vector<std::pair<const char *, double>> DeviceMemory::classes() const {
  return {{"parameters", parameters}, {"gradients", gradients},
          {"optimizer", optimizer},   {"activations", activations},
          {"workspace", workspace},   {"communication", communication},
          {"context", context},       {"fragmentation", fragmentation}};
}

const proto::StateProfile &stateOf(const proto::ImplementationProfile &profile,
                                   const std::string &precision) {
  if (precision == "f32")
    return profile.state_f32();
  return precision == "bf16" && profile.has_state_bf16() ? profile.state_bf16()
                                                         : profile.state_f16();
}

static KeptTensors stashBytes(const proto::ProgramWork &work, int64_t block) {
  KeptTensors bytes;
  for (const proto::StashWork &stash : work.stashes()) {
    if (stash.block() != block)
      continue;
    const bool isForWeights = stash.until() == "weight";
    if (stash.made() == "backward") {
      bytes.gradientsForWeights += stash.bytes();
      continue;
    }
    bytes.kept += stash.bytes();
    bytes.keptForWeights += isForWeights ? stash.bytes() : 0;
  }
  return bytes;
}

/// Bytes of a buffer for `elements` at a time, or for all of them if that is 0.
static double bucket(double elements, double all, double width) {
  return (elements > 0 ? std::min(elements, all) : all) * width;
}

MemoryModel::MemoryModel(const MemoryInputs &inputs)
    : inputs(inputs), state(stateOf(inputs.profile, inputs.model.precision)),
      embeddings(blockBytes(0, false)), layer(blockBytes(ModelSplit::kLayer, true)),
      wholeLayer(inputs.layout.recompute == Recompute::Full ? blockBytes(ModelSplit::kLayer, false)
                                                            : layer),
      head(blockBytes(ModelSplit::kHead, false)), communicators(communicatorBytes()) {}

/// Bytes of a block. Its forward pass keeps what the layout says, or all if it is recomputed.
KeptTensors MemoryModel::blockBytes(int64_t block, bool recomputes) const {
  const Layout &layout = inputs.layout;
  if (inputs.profile.framework_ops()) {
    const int64_t multiple = inputs.profile.fused_softmax_multiple();
    KeepRules rules;
    rules.selective = recomputes && layout.recompute == Recompute::Selective;
    rules.unfusedSoftmax = inputs.model.precision != "f32" && multiple > 0 &&
                           layout.microBatch * inputs.model.heads / layout.tensor % multiple != 0;
    if (!inputs.memo)
      return keptByFramework(inputs.kept, block, inputs.profile, rules);
    auto [found, isNew] =
        inputs.memo->try_emplace({&inputs.kept, block, rules.selective, rules.unfusedSoftmax});
    if (isNew)
      found->second = keptByFramework(inputs.kept, block, inputs.profile, rules);
    return found->second;
  }
  KeptTensors bytes = stashBytes(recomputes ? inputs.work : inputs.kept, block);
  bytes.working = 2 * inputs.work.boundary_bytes();
  return bytes;
}

double MemoryModel::shared(double bytes, int64_t fromLevel) const {
  return inputs.layout.zero >= fromLevel ? bytes / static_cast<double>(inputs.layout.replicas)
                                         : bytes;
}

void MemoryModel::addState(int64_t group, DeviceMemory &memory) const {
  const double parameters = inputs.split.parametersOf(group);
  memory.parameters = shared(parameters * state.weights(), 3);
  memory.gradients =
      shared(parameters * state.gradients(), 2) + shared(parameters * state.main_gradients(), 1);
  if (!inputs.layout.offloadOptimizer)
    memory.optimizer =
        shared(parameters * state.master() + inputs.split.optimizerBytesOf(group), 1);
}

/// Adds activations of the micro-batches in flight, and temporaries of the running block.
void MemoryModel::addActivations(int64_t group, const HeldMicroBatches &counts, double parameters,
                                 DeviceMemory &memory) const {
  const Layout &layout = inputs.layout;
  const ModelSplit &split = inputs.split;
  const proto::MemoryProfile &buffers = inputs.profile.memory();
  const bool isFull = layout.recompute == Recompute::Full;
  const double boundary = inputs.work.boundary_bytes();
  double held = 0, heldForWeights = 0, gradients = 0,
         working = wholeLayer.working + (isFull ? wholeLayer.kept : 0);
  for (int64_t chunk = 0; chunk < layout.virtualStages; ++chunk) {
    const int64_t stage = split.stageOf(group, chunk);
    const auto layers = static_cast<double>(split.layersOfStage(stage));
    const double kept = isFull ? boundary : layer.kept,
                 forWeights = std::min(kept, layer.keptForWeights);
    held += (kept - forWeights) * layers;
    heldForWeights += forWeights * layers;
    gradients += layer.gradientsForWeights * layers;
    if (split.isFirst(stage)) {
      held += embeddings.kept - embeddings.keptForWeights;
      heldForWeights += embeddings.keptForWeights;
      gradients += embeddings.gradientsForWeights;
      working = std::max(working, embeddings.working);
    }
    // The head keeps activations of one micro-batch: its backward pass follows its forward pass.
    if (split.isLast(stage)) {
      working = std::max(working, head.kept - head.keptForWeights + head.working);
      heldForWeights += head.keptForWeights;
      gradients += head.gradientsForWeights;
    } else if (buffers.keeps_stage_output())
      held += boundary / static_cast<double>(buffers.splits_stage_output() ? layout.tensor : 1);
  }
  memory.activations = (held * static_cast<double>(counts.forwardToBackward) +
                        heldForWeights * static_cast<double>(counts.forwardToWeight) +
                        gradients * static_cast<double>(counts.backwardToWeight)) /
                       static_cast<double>(layout.virtualStages);
  memory.workspace = working + 2 * boundary;
  if (layout.zero >= 3)
    memory.workspace += bucket(buffers.live_parameters(), parameters, state.weights());
}

/// Bytes for reducing gradients and updating parameters, after the activations are freed.
double MemoryModel::updateBytes(double parameters) const {
  const proto::ImplementationProfile &profile = inputs.profile;
  const proto::MemoryProfile &buffers = profile.memory();
  const bool isReduced = inputs.layout.replicas > 1;
  const double width = profile.gradient_type() == "f32" || inputs.model.precision == "f32" ? 4 : 2;
  double bytes = shared(parameters * state.update_buffers(), 1) +
                 buffers.norm_bytes() * inputs.split.largestParameter();
  if (isReduced || profile.copies_with_one_replica())
    bytes += bucket(buffers.reduction_bucket_elements(), parameters, width);
  if (inputs.layout.zero >= 1 && isReduced && buffers.gather_bucket_elements() > 0)
    bytes += bucket(buffers.gather_bucket_elements(), parameters, state.weights());
  return bytes;
}

namespace {

/// Ranks of a communicator, and the number of them per node.
struct RankGroup {
  int64_t ranks, perNode;
};

/// Tensor ranks are adjacent, then replicas, then stages.
RankGroup findGroup(const Layout &layout, int64_t node, const std::string &name) {
  const int64_t tensor = layout.tensor, stage = tensor * layout.replicas;
  auto apart = [&](int64_t ranks, int64_t stride) {
    return RankGroup{ranks, std::clamp<int64_t>(node / stride, 1, ranks)};
  };
  if (name == "tensor")
    return apart(tensor, 1);
  if (name == "data")
    return apart(layout.replicas, tensor);
  if (name == "pipeline")
    return apart(layout.stages, stage);
  if (name == "embedding")
    return apart(std::min<int64_t>(layout.stages, 2),
                 stage * std::max<int64_t>(layout.stages - 1, 1));
  if (name == "model")
    return {tensor * layout.stages,
            std::min<int64_t>(tensor, node) * apart(layout.stages, stage).perNode};
  return apart(layout.devices(), 1);
}

} // namespace

/// Rings within a node have one neighbour for two ranks, else two.
double MemoryModel::communicatorBytes() const {
  double bytes = 0;
  for (const std::string &name : inputs.profile.memory().communicators()) {
    const RankGroup group = findGroup(inputs.layout, inputs.cluster.devices_per_node(), name);
    if (group.ranks <= 1)
      continue;
    if (group.perNode < group.ranks)
      bytes +=
          inputs.cluster.network_communicator_bytes().value() * static_cast<double>(group.perNode);
    else
      bytes += inputs.cluster.communicator_bytes().value() / (group.ranks == 2 ? 2 : 1);
  }
  return bytes;
}

DeviceMemory MemoryModel::ofGroup(int64_t group, const HeldMicroBatches &held) const {
  const double parameters = inputs.split.parametersOf(group);
  DeviceMemory memory;
  addState(group, memory);
  addActivations(group, held, parameters, memory);
  memory.communication = communicators;
  memory.context = inputs.cluster.context_bytes().value() + inputs.profile.memory().library_bytes();
  // Update and activations can share memory. But an allocator that caches blocks by size reuses the
  // blocks of one for the other only when it runs out of memory.
  const double passes = memory.activations + memory.workspace, update = updateBytes(parameters);
  memory.workspace += std::max(0.0, update - passes);
  memory.margin =
      inputs.cluster.fragmentation().value() * (memory.gradients + std::max(passes, update));
  const double reserved = inputs.profile.memory().most_reserved();
  const double left =
      (reserved > 0 ? reserved : 1) * inputs.cluster.memory_bytes().value() - memory.needed();
  memory.fragmentation = std::clamp(left, 0.0, memory.margin + std::min(passes, update));
  memory.returned = std::max(0.0, std::min(passes, update) - std::max(0.0, left - memory.margin));
  return memory;
}

} // namespace st
