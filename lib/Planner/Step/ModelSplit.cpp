#include "lib/Planner/Step/ModelSplit.h"

#include "lib/Costs/ElementWidth.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace st {

static bool isUsedBy(const proto::StateWork &state, int64_t block) {
  return std::find(state.blocks().begin(), state.blocks().end(), block) != state.blocks().end();
}

/// The layer whose block represents each layer of a stack: the second one of its kind, or the only
/// one. Like the other layers, it follows a layer.
static std::vector<int64_t> findRepresentatives(const std::vector<std::string> &kinds) {
  std::map<std::string, std::pair<int64_t, int64_t>>
      representatives; // number of layers, and the layer
  for (size_t layer = 0; layer < kinds.size(); ++layer)
    if (auto &[count, like] = representatives[kinds[layer]]; ++count <= 2)
      like = static_cast<int64_t>(layer);
  std::vector<int64_t> found;
  for (const std::string &kind : kinds)
    found.push_back(representatives[kind].second);
  return found;
}

static int64_t countCompiled(const std::vector<int64_t> &representatives) {
  return std::max(kCompiledLayers,
                  representatives.empty()
                      ? 0
                      : *std::max_element(representatives.begin(), representatives.end()) + 1);
}

void PlannedModel::setLayerKinds(const std::vector<std::string> &kinds,
                                 const std::vector<int64_t> &needed) {
  likeBlocks.clear();
  compiledLayers = compiledDecoderLayers = kCompiledLayers;
  const auto first = kinds.begin(), middle = first + encoderLayers();
  auto differ = [](auto begin, auto end) {
    return std::adjacent_find(begin, end, std::not_equal_to<>()) != end;
  };
  if (!differ(first, middle) && !differ(middle, kinds.end()))
    return;
  const std::vector<int64_t> representatives = findRepresentatives({first, middle}),
                             decoderLikes = findRepresentatives({middle, kinds.end()});
  compiledLayers = countCompiled(representatives);
  compiledDecoderLayers = countCompiled(decoderLikes);
  for (int64_t layer : needed) {
    const bool isDecoder = layer >= encoderLayers();
    int64_t &count = isDecoder ? compiledDecoderLayers : compiledLayers;
    count = std::max(count, layer + 1 - (isDecoder ? encoderLayers() : 0));
  }
  for (int64_t like : representatives)
    likeBlocks.push_back(1 + like);
  for (int64_t like : decoderLikes)
    likeBlocks.push_back(bridgeBlock() + 1 + like);
}

std::vector<int64_t> PlannedModel::layerBlocks() const {
  if (!hasUnequalLayers())
    return decoderLayers > 0 ? std::vector<int64_t>{blockOf(0), blockOf(layers - 1)}
                             : std::vector<int64_t>{blockOf(0)};
  const std::set<int64_t> blocks(likeBlocks.begin(), likeBlocks.end());
  return {blocks.begin(), blocks.end()};
}

int64_t PlannedModel::timesOf(int64_t block) const {
  if (!isLayer(block))
    return 1;
  if (hasUnequalLayers())
    return std::count(likeBlocks.begin(), likeBlocks.end(), block);
  if (isDecoderLayer(block))
    return block == blockOf(layers - 1) ? decoderLayers : 0;
  return block == blockOf(0) ? encoderLayers() : 0;
}

int64_t PlannedModel::timesOf(const proto::StateWork &state) const {
  // Tables of distances that all layers of an encoder or decoder share are read before the passes.
  if (state.blocks().empty())
    return decoderLayers > 0 ? 1 : 0;
  // A state of several layers.
  if (state.blocks_size() > 1 && isLayer(state.blocks(0)) && isLayer(state.blocks(1)) &&
      isDecoderLayer(state.blocks(0)) == isDecoderLayer(state.blocks(1)))
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
    : model(model), layout(layout), work(work), blocks(model.layerBlocks()),
      stages(layout.stages * layout.virtualStages), layers(layersOfStages(model.layers, stages)) {
  for (Amounts *amounts : {&elements, &trained, &optimizerBytes})
    amounts->perLayer.resize(kStageKinds * blocks.size());
  starts.push_back(0);
  for (int64_t count : layers)
    starts.push_back(starts.back() + count);
  // The decoder's layers are the last ones.
  if (model.decoderLayers > 0)
    for (bridge = stages - 1; starts[bridge] > model.encoderLayers();)
      --bridge;
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

/// A stage holds a state of the embeddings, the bridge or the head once, even if it has several of
/// these.
void ModelSplit::add(const proto::StateWork &state, double amount, Amounts &amounts) const {
  const bool ofEmbeddings = isUsedBy(state, 0), ofHead = isUsedBy(state, model.headBlock()),
             ofBridge = model.decoderLayers > 0 && isUsedBy(state, model.bridgeBlock());
  size_t ofLayer = 0;
  while (ofLayer < blocks.size() && !isUsedBy(state, blocks[ofLayer]))
    ++ofLayer;
  auto addTo = [&](StateAmount &to) { (state.is_of_experts() ? to.experts : to.dense) += amount; };
  for (bool first : {false, true})
    for (bool middle : {false, true})
      for (bool last : {false, true}) {
        const size_t kind = indexOf(first, middle, last);
        if ((ofEmbeddings && first) || (ofBridge && middle) || (ofHead && last))
          addTo(amounts.once[kind]);
        else if (ofLayer < blocks.size())
          addTo(amounts.perLayer[kind * blocks.size() + ofLayer]);
      }
}

size_t ModelSplit::indexOf(int64_t layer) const {
  return std::lower_bound(blocks.begin(), blocks.end(), model.blockOf(layer)) - blocks.begin();
}

StateAmount ModelSplit::ofStage(const Amounts &amounts, int64_t stage) const {
  const size_t kind = indexOf(isFirst(stage), hasBridge(stage), isLast(stage));
  StateAmount sum = amounts.once[kind];
  visitLayers(stage, [&](size_t index, int64_t count) {
    sum = sum + amounts.perLayer[kind * blocks.size() + index] * static_cast<double>(count);
  });
  return sum;
}

StateAmount ModelSplit::sumOf(const Amounts &amounts, int64_t group) const {
  StateAmount sum;
  for (int64_t chunk = 0; chunk < layout.virtualStages; ++chunk)
    sum = sum + ofStage(amounts, stageOf(group, chunk));
  return sum;
}

double ModelSplit::countTensors(int64_t group, bool areTrained) const {
  std::vector<double> perLayer(blocks.size());
  for (const proto::StateWork &state : work.states())
    if (state.role() == "parameter" && !(areTrained && state.is_frozen()))
      for (size_t index = 0; index < blocks.size(); ++index)
        perLayer[index] += isUsedBy(state, blocks[index]);
  double count = 0;
  for (int64_t chunk = 0; chunk < layout.virtualStages; ++chunk)
    visitLayers(stageOf(group, chunk), [&](size_t index, int64_t layers) {
      count += perLayer[index] * static_cast<double>(layers);
    });
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
