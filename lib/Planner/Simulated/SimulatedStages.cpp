#include "lib/Planner/Simulated/SimulatedStages.h"

#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <limits>

namespace st {

static StageWork &operator+=(StageWork &sum, const StageWork &work) {
  for (size_t part = 0; part < kWorkParts; ++part)
    sum[part] += work[part];
  return sum;
}
static StageWork operator*(StageWork work, double factor) {
  for (double &part : work)
    part *= factor;
  return work;
}

SimulatedKey SimulatedKey::of(const Layout &layout, const PlannedModel &model) {
  SimulatedKey key;
  const int64_t stages = layout.stages * layout.virtualStages;
  if (model.layersDiffer())
    key.modelStages = stages;
  else
    key.stageLayers = layout.stages > 1 && model.layers >= 2 * stages ? 2 : 1;
  key.tensor = layout.tensor;
  key.context = layout.context;
  key.contextAttention = layout.contextAttention;
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

/// Assigns stages to the groups round-robin.
StagePlace SimulatedStages::placeOf(int64_t stage) const {
  auto groupOf = [&](int64_t other) { return (other + count()) % count() % layout.stages; };
  return {groupOf(stage), groupOf(stage - 1), groupOf(stage + 1), key.modelStages > 0 ? stage : 0};
}

StageKind SimulatedStages::kindOf(int64_t stage) const {
  if (count() == 1)
    return StageKind::Single;
  return stage == 0 ? StageKind::First : stage + 1 == count() ? StageKind::Last : StageKind::Middle;
}

absl::Status SimulatedStages::read(std::vector<int64_t> layersOfStages) {
  layers = std::move(layersOfStages);
  ST_ASSIGN_OR_RETURN(layer, blocks.layer(key));
  works.clear();
  for (int64_t stage = 0; stage < count(); ++stage) {
    ST_ASSIGN_OR_RETURN(StageWork work, blocks.stage(key, kindOf(stage), placeOf(stage)));
    work += layer * static_cast<double>(layers[stage] - 1);
    works.push_back(work);
  }
  return absl::OkStatus();
}

double SimulatedStages::ofGroup(int64_t group, WorkPart part) const {
  double sum = 0, fixed = -std::numeric_limits<double>::infinity();
  // Stages of the complete model have different work. Each has its buffers of temporaries only
  // while it runs.
  if (key.modelStages > 0) {
    for (int64_t stage = group; stage < count(); stage += layout.stages)
      sum = part == WorkspaceBytes ? std::max(sum, works[stage][part]) : sum + works[stage][part];
    return sum;
  }
  for (int64_t stage = group; stage < count(); stage += layout.stages) {
    const double ofLayers = layer[part] * static_cast<double>(layers[stage]);
    sum += ofLayers;
    // With several stages, the embeddings' or the head's group has more than layers.
    fixed = std::max(fixed, works[stage][part] - ofLayers);
  }
  return sum + fixed;
}

SimulatedPipeline SimulatedStages::makePipeline() const {
  SimulatedPipeline pipeline;
  for (int64_t group = 0; group < layout.stages; ++group) {
    SimulatedGroup &created = pipeline.groups.emplace_back();
    created.prologue =
        (ofGroup(group, PrologueTime) + ofGroup(group, TotalsTime)) / kPicosecondsPerUs;
    for (int64_t stage = group; stage < count(); stage += layout.stages)
      created.addStage(works[stage], layout.microBatches);
    created.update = ofGroup(group, UpdateTime) / kPicosecondsPerUs;
    created.chips = blocks.chipsOf(key, group);
  }
  if (count() > 1)
    pipeline.exchange(works.front(), works.back());
  return pipeline;
}

} // namespace st
