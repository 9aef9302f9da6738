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
      embeddings(blockBytes(0, false)),
      bridge(inputs.model.decoderLayers > 0 ? blockBytes(inputs.model.bridgeBlock(), false)
                                            : KeptTensors()),
      head(blockBytes(inputs.model.headBlock(), false)), communicators(communicatorBytes()) {
  for (int64_t block : inputs.split.layerBlocks())
    layers.push_back(layerBytes(block));
}

MemoryModel::LayerBytes MemoryModel::layerBytes(int64_t block) const {
  LayerBytes bytes;
  bytes.own = blockBytes(block, true);
  bytes.recomputed =
      inputs.layout.recompute == Recompute::Full ? blockBytes(block, false) : bytes.own;
  const double others = 1 - 1 / static_cast<double>(inputs.layout.expert);
  visitExpertWeights(inputs.work, block, [&](const proto::OpWork &op, bool isGather) {
    (isGather ? bytes.gathered : bytes.scattered) += op.bytes() * others;
  });
  bytes.boundary = inputs.model.isDecoderLayer(block) ? inputs.work.decoder_boundary_bytes()
                                                      : inputs.work.boundary_bytes();
  return bytes;
}

/// Bytes of a block. Its forward pass keeps what the policy says, or all if it is recomputed.
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

double MemoryModel::shared(const StateAmount &bytes, int64_t fromLevel) const {
  return inputs.layout.zero >= fromLevel ? bytes.sharedBy(inputs.layout) : bytes.sum();
}

void MemoryModel::addState(int64_t group, DeviceMemory &memory) const {
  const StateAmount trained = inputs.split.trainedOf(group);
  memory.parameters = shared(inputs.split.parametersOf(group) * state.weights(), 3);
  memory.gradients =
      shared(trained * state.gradients(), 2) + shared(trained * state.main_gradients(), 1);
  // Weights of experts that other devices own, and their gradients.
  for (int64_t chunk = 0; chunk < inputs.layout.virtualStages; ++chunk)
    inputs.split.visitLayers(inputs.split.stageOf(group, chunk), [&](size_t index, int64_t count) {
      memory.parameters += layers[index].gathered * static_cast<double>(count);
      memory.gradients += layers[index].scattered * static_cast<double>(count);
    });
  if (!inputs.layout.offloadOptimizer)
    memory.optimizer = shared(trained * state.master() + inputs.split.optimizerBytesOf(group), 1);
}

/// Adds activations of the micro-batches in flight, and temporaries of the running block.
void MemoryModel::addActivations(int64_t group, const HeldMicroBatches &counts, double parameters,
                                 DeviceMemory &memory) const {
  const Layout &layout = inputs.layout;
  const ModelSplit &split = inputs.split;
  const proto::MemoryProfile &buffers = inputs.profile.memory();
  const bool isFull = layout.recompute == Recompute::Full;
  double held = 0, heldForWeights = 0, gradients = 0, working = 0, largest = 0;
  auto addLayers = [&](const LayerBytes &each, int64_t number) {
    const auto count = static_cast<double>(number);
    // Recomputation starts from the input. Without a backward pass nothing is kept.
    const double kept = isFull && each.recomputed.kept > 0 ? each.boundary : each.own.kept,
                 forWeights = std::min(kept, each.own.keptForWeights);
    held += (kept - forWeights) * count;
    heldForWeights += forWeights * count;
    gradients += each.own.gradientsForWeights * count;
    working = std::max(working, each.recomputed.working + (isFull ? each.recomputed.kept : 0));
    largest = std::max(largest, each.boundary);
  };
  auto addOnce = [&](const KeptTensors &each) {
    held += each.kept - each.keptForWeights;
    heldForWeights += each.keptForWeights;
    gradients += each.gradientsForWeights;
    working = std::max(working, each.working);
  };
  for (int64_t chunk = 0; chunk < layout.virtualStages; ++chunk) {
    const int64_t stage = split.stageOf(group, chunk);
    split.visitLayers(stage, [&](size_t index, int64_t count) { addLayers(layers[index], count); });
    if (split.isFirst(stage))
      addOnce(embeddings);
    if (split.hasBridge(stage))
      addOnce(bridge);
    // The head keeps activations of one micro-batch: its backward pass follows its forward pass.
    if (split.isLast(stage)) {
      working = std::max(working, head.kept - head.keptForWeights + head.working);
      heldForWeights += head.keptForWeights;
      gradients += head.gradientsForWeights;
    } else if (buffers.keeps_stage_output())
      held += (split.hasDecoderLayers(stage) ? inputs.work.decoder_boundary_bytes()
                                             : inputs.work.boundary_bytes()) /
              static_cast<double>(buffers.splits_stage_output() ? layout.tensor : 1);
  }
  memory.activations = (held * static_cast<double>(counts.forwardToBackward) +
                        heldForWeights * static_cast<double>(counts.forwardToWeight) +
                        gradients * static_cast<double>(counts.backwardToWeight)) /
                       static_cast<double>(layout.virtualStages);
  memory.workspace = working + 2 * largest;
  if (layout.zero >= 3)
    memory.workspace += bucket(buffers.live_parameters(), parameters, state.weights());
}

/// Bytes for reducing gradients and updating parameters, after the activations are freed.
double MemoryModel::updateBytes(int64_t group) const {
  const proto::ImplementationProfile &profile = inputs.profile;
  const proto::MemoryProfile &buffers = profile.memory();
  const StateAmount trained = inputs.split.trainedOf(group);
  const bool isReduced = inputs.layout.copies() > 1;
  const double width = profile.gradient_type() == "f32" || inputs.model.precision == "f32" ? 4 : 2;
  double bytes = shared(trained * state.update_buffers(), 1) +
                 buffers.norm_bytes() * inputs.split.largestParameter();
  if (isReduced || profile.copies_with_one_replica())
    bytes += bucket(buffers.reduction_bucket_elements(), trained.sum(), width);
  if (inputs.layout.zero >= 1 && isReduced && buffers.gather_bucket_elements() > 0)
    bytes += bucket(buffers.gather_bucket_elements(), trained.sum(), state.weights());
  return bytes;
}

namespace {

/// Ranks of a communicator, and the number of them per node.
struct RankGroup {
  int64_t ranks, perNode;
};

/// Tensor ranks are adjacent, then replicas, then stages.
RankGroup findGroup(const Layout &layout, int64_t node, const std::string &name) {
  const int64_t tensor = layout.tensor, stage = layout.groupDevices();
  auto apart = [&](int64_t ranks, int64_t stride) {
    return RankGroup{ranks, std::clamp<int64_t>(node / stride, 1, ranks)};
  };
  if (name == "tensor")
    return apart(tensor, 1);
  if (name == "data")
    return apart(layout.copies(), tensor);
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
  const Layout &layout = inputs.layout;
  const int64_t node = inputs.cluster.devices_per_node();
  double bytes = 0;
  auto add = [&](const RankGroup &group) {
    if (group.ranks <= 1)
      return;
    if (group.perNode < group.ranks)
      bytes +=
          inputs.cluster.network_communicator_bytes().value() * static_cast<double>(group.perNode);
    else
      bytes += inputs.cluster.communicator_bytes().value() / (group.ranks == 2 ? 2 : 1);
  };
  for (const std::string &name : inputs.profile.memory().communicators())
    add(findGroup(layout, node, name));
  // Software that splits sequences or experts has separate communicators for them.
  auto apart = [&](int64_t ranks, int64_t stride) {
    return RankGroup{ranks, std::clamp<int64_t>(node / stride, 1, ranks)};
  };
  if (inputs.profile.framework_ops()) {
    add(apart(layout.context, layout.tensor));
    add(apart(layout.expert, layout.tensor * layout.context));
  }
  return bytes;
}

DeviceMemory MemoryModel::ofGroup(int64_t group, const HeldMicroBatches &held) const {
  const double parameters = inputs.split.parametersOf(group).sum();
  DeviceMemory memory;
  addState(group, memory);
  addActivations(group, held, parameters, memory);
  memory.communication = communicators;
  memory.context = inputs.cluster.context_bytes().value() + inputs.profile.memory().library_bytes();
  // Update and activations can share memory. But an allocator that caches blocks by size reuses the
  // blocks of one for the other only when it runs out of memory.
  const double passes = memory.activations + memory.workspace, update = updateBytes(group);
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
