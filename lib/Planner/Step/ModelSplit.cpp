#include "lib/Planner/Step/ModelSplit.h"

#include "lib/Costs/ElementWidth.h"

#include <algorithm>

namespace st {

static bool isUsedBy(const proto::StateWork &state, int64_t block) {
  return std::find(state.blocks().begin(), state.blocks().end(), block) != state.blocks().end();
}

int64_t PlannedModel::timesOf(const proto::StateWork &state) const {
  if (layersUnlike)
    return 1;
  // Tables of distances that all layers of an encoder or decoder share are read before the passes.
  if (state.blocks().empty())
    return decoderLayers > 0 ? 1 : 0;
  for (int64_t block : {kLayerBlock, kDecoderBlock})
    if (isLayer(block) && isUsedBy(state, block) && isUsedBy(state, block - 1))
      return 1;
  return timesOf(state.blocks(0));
}

std::vector<int64_t> layersOfStages(int64_t layers, int64_t stages) {
  std::vector<int64_t> counts(stages, layers / stages);
  for (int64_t stage = 0; stage < layers % stages; ++stage)
    ++counts[stage];
  return counts;
}

int64_t ModelSplit::layersOfGroup(int64_t group) const {
  int64_t count = 0;
  for (int64_t chunk = 0; chunk < layout.virtualStages; ++chunk)
    count += layers[stageOf(group, chunk)];
  return count;
}

ModelSplit::ModelSplit(const PlannedModel &model, const Layout &layout,
                       const proto::ProgramWork &work)
    : model(model), layout(layout), work(work), stages(layout.stages * layout.virtualStages),
      layers(layersOfStages(model.layers, stages)), decoders(stages, 0) {
  // The decoder's layers are the last ones.
  for (int64_t stage = stages - 1, left = model.decoderLayers; stage >= 0 && left > 0; --stage) {
    decoders[stage] = std::min(left, layers[stage]);
    left -= decoders[stage];
    bridge = stage;
  }
  for (const proto::StateWork &state : work.states()) {
    const auto local = static_cast<double>(state.local_elements());
    if (state.role() == "optimizer_state") {
      add(state, local * widthOf(state.type()), optimizerBytes);
      continue;
    }
    if (state.role() != "parameter")
      continue;
    add(state, local, elements);
    if (state.is_frozen())
      continue;
    add(state, local, trained);
    largest = std::max(largest, local);
  }
}

/// A stage with the embeddings, the bridge, the head or several of these has a state of theirs
/// once.
void ModelSplit::add(const proto::StateWork &state, double amount, Amounts &amounts) const {
  const bool hasDecoder = model.decoderLayers > 0;
  const bool ofEmbeddings = isUsedBy(state, 0), ofHead = isUsedBy(state, model.headBlock()),
             ofBridge = hasDecoder && isUsedBy(state, PlannedModel::kBridgeBlock),
             ofLayer = isUsedBy(state, PlannedModel::kLayerBlock),
             ofDecoder = hasDecoder && isUsedBy(state, PlannedModel::kDecoderBlock);
  auto addTo = [&](StateAmount &to) { (state.is_of_experts() ? to.experts : to.dense) += amount; };
  for (bool first : {false, true})
    for (bool middle : {false, true})
      for (bool last : {false, true}) {
        StageAmount &stage = amounts[indexOf(first, middle, last)];
        if ((ofEmbeddings && first) || (ofBridge && middle) || (ofHead && last))
          addTo(stage.once);
        else if (ofLayer)
          addTo(stage.perLayer);
        else if (ofDecoder)
          addTo(stage.perDecoderLayer);
      }
}

StateAmount ModelSplit::ofStage(const Amounts &amounts, int64_t stage) const {
  const StageAmount &own = amounts[indexOf(isFirst(stage), hasBridge(stage), isLast(stage))];
  return own.once + own.perLayer * static_cast<double>(encoderLayersOf(stage)) +
         own.perDecoderLayer * static_cast<double>(decoderLayersOf(stage));
}

StateAmount ModelSplit::sumOf(const Amounts &amounts, int64_t group) const {
  StateAmount sum;
  for (int64_t chunk = 0; chunk < layout.virtualStages; ++chunk)
    sum = sum + ofStage(amounts, stageOf(group, chunk));
  return sum;
}

double ModelSplit::countTensors(int64_t group, bool areTrained) const {
  double perLayer = 0, perDecoderLayer = 0;
  for (const proto::StateWork &state : work.states())
    if (state.role() == "parameter" && !(areTrained && state.is_frozen()))
      for (int64_t block : state.blocks()) {
        perLayer += block == PlannedModel::kLayerBlock;
        perDecoderLayer += block == PlannedModel::kDecoderBlock && model.isLayer(block);
      }
  double count = 0;
  for (int64_t chunk = 0; chunk < layout.virtualStages; ++chunk) {
    const int64_t stage = stageOf(group, chunk);
    count += perLayer * static_cast<double>(encoderLayersOf(stage)) +
             perDecoderLayer * static_cast<double>(decoderLayersOf(stage));
  }
  return count;
}

double ModelSplit::tiedElements() const {
  double elements = 0;
  for (const proto::StateWork &state : work.states())
    if (state.role() == "parameter" && !state.is_frozen() && isUsedBy(state, 0) &&
        isUsedBy(state, model.headBlock()))
      elements += static_cast<double>(state.local_elements());
  return elements;
}

} // namespace st
