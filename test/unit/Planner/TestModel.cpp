#include "TestModel.h"

#include "lib/Costs/Profile.h"
#include "lib/Driver/Planning/PlannedModels.h"

#include <cstdlib>
#include <string_view>

using namespace st;

bool st::testsAll() {
  const char *requested = std::getenv("ST_PLANNER_TESTS");
  return requested && std::string_view(requested) == "all";
}

static proto::OpWork *addOp(proto::PhaseWork &phase, proto::OpWork::Kind kind, const char *region) {
  proto::OpWork *op = phase.add_ops();
  op->set_kind(kind);
  op->set_region(region);
  op->set_type(proto::F16);
  op->set_is_gradient(phase.phase() != "forward");
  return op;
}

/// A tensor that the forward op takes.
static void addInput(proto::ProgramWork &work, const proto::PhaseWork &phase, double bytes,
                     proto::OpWork &op) {
  if (phase.phase() != "forward")
    return;
  op.add_reads(static_cast<uint32_t>(work.tensors_size()));
  proto::TensorWork &tensor = *work.add_tensors();
  tensor.set_block(phase.block());
  tensor.set_elements(bytes / 2);
  tensor.set_bytes(bytes);
}

static proto::OpWork &addProduct(proto::PhaseWork &phase, int64_t m, int64_t n, int64_t k) {
  proto::OpWork *op = addOp(phase, proto::OpWork::PRODUCT, "product");
  op->set_m(m);
  op->set_n(n);
  op->set_k(k);
  op->set_batch(1);
  op->set_flops(2.0 * static_cast<double>(m * n * k));
  op->set_read_bytes(2.0 * static_cast<double>(m * k + k * n));
  op->set_written_bytes(2.0 * static_cast<double>(m * n));
  return *op;
}

/// The weights of a block and their moments.
static void addStates(const PlannedModel &model, const BlockKey &key, int64_t block, bool isLayer,
                      int64_t width, proto::ProgramWork &work) {
  const int64_t hidden = model.hidden;
  proto::StateWork &state = *work.add_states();
  state.set_name("weight" + std::to_string(block));
  state.set_role("parameter");
  state.add_blocks(block);
  state.set_elements((isLayer ? 2 : 1) * width * hidden);
  state.set_local_elements(state.elements() / key.tensor);
  state.set_type(proto::F16);
  // Half of a layer's weights are experts, and a quarter of the others does not train.
  if (isLayer && model.experts > 0) {
    proto::StateWork frozen = state, experts = state;
    state.set_elements(state.elements() / 8 * 3);
    state.set_local_elements(state.elements() / key.tensor);
    frozen.set_elements(frozen.elements() / 8);
    frozen.set_local_elements(frozen.elements() / key.tensor);
    frozen.set_is_frozen(true);
    experts.set_elements(experts.elements() / 2);
    experts.set_local_elements(experts.elements() / key.tensor / key.expert);
    experts.set_is_of_experts(key.expert > 1);
    *work.add_states() = frozen;
    *work.add_states() = experts;
  }
  for (const char *moment : {"first", "second"}) {
    proto::StateWork added = state;
    added.set_name(moment + std::to_string(block));
    added.set_role("optimizer_state");
    added.set_type(proto::F32);
    *work.add_states() = added;
  }
}

absl::StatusOr<const proto::ProgramWork *> TestBlocks::get(const BlockKey &key) {
  auto [found, isNew] = created.try_emplace(key);
  proto::ProgramWork &work = found->second;
  if (!isNew)
    return &work;
  const int64_t tokens = model.sequence * key.microBatch / key.context, hidden = model.hidden;
  const double elements = static_cast<double>(tokens * hidden);
  work.set_layers(kCompiledLayers);
  work.set_boundary_bytes(2 * elements);
  work.set_boundary_elements(elements);
  for (int64_t block = 0; block <= kCompiledLayers + 1; ++block) {
    const bool isLayer = block > 0 && block <= kCompiledLayers;
    if (!isLayer && hasLayersAlone)
      continue;
    const int64_t width = isLayer ? 4 * hidden : model.vocabulary;
    for (const char *name : {"forward", "backward", "weight"}) {
      const bool isForward = std::string_view(name) == "forward",
                 isWeight = std::string_view(name) == "weight";
      if (isWeight && !key.splitsBackward)
        continue;
      proto::PhaseWork &phase = *work.add_phases();
      phase.set_block(block);
      phase.set_phase(name);
      const int repeats = isForward || key.splitsBackward ? 1 : 2;
      for (int repeat = 0; repeat < repeats && block > 0; ++repeat) {
        addInput(work, phase, 2 * elements, addProduct(phase, tokens, width / key.tensor, hidden));
        if (isLayer)
          addInput(work, phase, 8 * elements / static_cast<double>(key.tensor),
                   addProduct(phase, tokens, hidden, width / key.tensor));
      }
      if (isWeight)
        continue;
      proto::OpWork *pass = addOp(phase, proto::OpWork::MEMORY, "residual");
      pass->set_read_bytes(4 * elements);
      pass->set_written_bytes(2 * elements);
      pass->set_read_elements(2 * elements);
      pass->set_written_elements(elements);
      pass->set_largest_elements(elements);
      pass->set_ops(1);
      if (isLayer && key.tensor > 1) {
        proto::OpWork *sum = addOp(phase, proto::OpWork::COLLECTIVE, "product");
        sum->set_collective("all_reduce");
        sum->add_axes("tp");
        sum->set_bytes(2 * elements);
      }
      if (isLayer && key.context > 1) {
        proto::OpWork *keys = addOp(phase, proto::OpWork::COLLECTIVE, "product");
        keys->set_collective("all_gather");
        keys->add_axes("context");
        keys->set_bytes(2 * elements * static_cast<double>(key.context));
      }
      if (isLayer && key.expert > 1) {
        proto::OpWork *rows = addOp(phase, proto::OpWork::COLLECTIVE, "product");
        rows->set_collective("all_to_all");
        rows->add_axes("expert");
        rows->set_bytes(2 * elements);
      }
    }
    addStates(model, key, block, isLayer, width, work);
    proto::StashWork &stash = *work.add_stashes();
    stash.set_block(block);
    stash.set_bytes(key.recompute == Recompute::None ? 16 * elements : 8 * elements);
  }
  return &work;
}

int64_t TestPlan::draw(std::initializer_list<int64_t> values) {
  return *(values.begin() + std::uniform_int_distribution<size_t>(0, values.size() - 1)(random));
}

TestPlan::TestPlan(unsigned seed)
    : random(seed), blocks(model), order(mlir::st::makePipelineOrder()) {
  model.name = "test";
  model.layers = draw({4, 8, 12, 24, 48});
  model.heads = draw({8, 16, 32});
  model.hidden = model.heads * draw({64, 128});
  model.sequence = draw({512, 1024, 2048});
  model.vocabulary = draw({30720, 51200});
  const std::vector<std::string> clusters = {"dgx-a100-80gb", "dgx-a100-40gb", "v100-4x32gb",
                                             "v100-4x16gb", "v100-16"};
  cluster = *builtinClusterDescription(
      clusters[std::uniform_int_distribution<size_t>(0, clusters.size() - 1)(random)]);
  const std::vector<std::string> profiles = {"megatron-lm", "megatron-deepspeed", "deepspeed"};
  profile =
      *findProfile(profiles[std::uniform_int_distribution<size_t>(0, profiles.size() - 1)(random)]);
}

StepInputs TestPlan::inputs(const proto::ClusterDescription &other, BlockSource *otherBlocks) {
  costs = std::make_unique<GpuCosts>(other, profile, GpuConstants{});
  constexpr double kStepUs = 1000;
  return {model, other,   profile, *costs, otherBlocks ? *otherBlocks : blocks,
          order, kStepUs, "adam"};
}

Layout TestPlan::drawLayout() {
  for (;;) {
    Layout layout;
    layout.tensor = draw({1, 1, 2, 4, 8});
    layout.stages = draw({1, 1, 2, 4, 8});
    const int64_t node = cluster.devices_per_node();
    layout.replicas = draw({1, 1, 2, 4, 8, 16});
    layout.microBatch = draw({1, 2, 4, 8});
    layout.microBatches = layout.stages * draw({1, 2, 3, 8});
    layout.zero = draw({0, 0, 1, 2, 3});
    layout.offloadOptimizer =
        layout.zero > 0 && cluster.has_host_bytes_per_node() && draw({0, 1}) == 1;
    layout.placement = static_cast<RankOrder>(draw({0, 0, 1, 2, 3, 4, 5, 6}));
    layout.recompute = static_cast<Recompute>(draw({0, 1, 2}));
    layout.sequenceParallel = layout.tensor > 1 && draw({0, 1}) == 1;
    if (layout.stages > 1 && draw({0, 1}) == 1 && model.layers % (2 * layout.stages) == 0 &&
        layout.stages >= profile.interleaved_stages()) {
      layout.virtualStages = 2;
      layout.schedule = PipelineSchedule::Interleaved;
    }
    const int64_t devices = layout.devices();
    const bool fillsNodes = devices <= node ? node % devices == 0 : devices % node == 0;
    if (fillsNodes && checkLayout(model, layout, cluster).ok())
      return layout;
  }
}

Layout TestPlan::drawSplitLayout() {
  Layout layout = drawLayout();
  const int64_t context = draw({1, 2, 4}), expert = draw({1, 2, 4});
  model.experts = draw({0, 8});
  if (layout.replicas % context == 0) {
    layout.context = context;
    layout.replicas /= context;
  }
  if (model.experts > 0 && layout.replicas % expert == 0)
    layout.expert = expert;
  return layout;
}

SearchSpace TestPlan::drawSpace() {
  SearchSpace space;
  space.devices =
      cluster.devices_per_node() * (cluster.max_nodes() > 1 ? draw({1, 2, 3, 4, 8}) : 1);
  space.globalBatch = space.devices * draw({1, 2, 4, 8, 12});
  space.zero = draw({0, 1}) == 0 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0, 1, 2, 3};
  if (draw({0, 1, 2}) == 0)
    space.schedules.push_back(PipelineSchedule::GPipe);
  if (draw({0, 1, 2}) == 0)
    space.offloadOptimizer = {false, true};
  return space;
}
