#include "lib/Planner/Step/ModelSplit.h"

#include "lib/Costs/ElementWidth.h"

#include <algorithm>

namespace st {

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
    : layout(layout), work(work), stages(layout.stages * layout.virtualStages),
      layers(layersOfStages(model.layers, stages)) {
  for (const proto::StateWork &state : work.states()) {
    const auto local = static_cast<double>(state.local_elements());
    if (state.role() == "parameter") {
      largest = std::max(largest, local);
      add(state, local, elements);
    } else if (state.role() == "optimizer_state") {
      add(state, local * widthOf(state.type()), optimizerBytes);
    }
  }
}

/// A stage with the embeddings, the head or both has a state of theirs once.
void ModelSplit::add(const proto::StateWork &state, double amount, Amounts &amounts) {
  auto isUsedBy = [&](int64_t block) {
    return std::find(state.blocks().begin(), state.blocks().end(), block) != state.blocks().end();
  };
  const bool ofEmbeddings = isUsedBy(0), ofHead = isUsedBy(kHead), ofLayer = isUsedBy(kLayer);
  for (bool first : {false, true})
    for (bool last : {false, true}) {
      StageAmount &stage = amounts[first][last];
      if ((ofEmbeddings && first) || (ofHead && last))
        stage.once += amount;
      else if (ofLayer)
        stage.perLayer += amount;
    }
}

double ModelSplit::ofStage(const Amounts &amounts, int64_t stage) const {
  const StageAmount &own = amounts[isFirst(stage)][isLast(stage)];
  return own.once + own.perLayer * static_cast<double>(layers[stage]);
}

double ModelSplit::sumOf(const Amounts &amounts, int64_t group) const {
  double sum = 0;
  for (int64_t chunk = 0; chunk < layout.virtualStages; ++chunk)
    sum += ofStage(amounts, stageOf(group, chunk));
  return sum;
}

double ModelSplit::parametersOfStage(int64_t stage) const { return ofStage(elements, stage); }

double ModelSplit::parametersOf(int64_t group) const { return sumOf(elements, group); }

double ModelSplit::optimizerBytesOf(int64_t group) const { return sumOf(optimizerBytes, group); }

double ModelSplit::tensorsOf(int64_t group) const {
  double perLayer = 0;
  for (const proto::StateWork &state : work.states())
    if (state.role() == "parameter")
      for (int64_t block : state.blocks())
        perLayer += block == kLayer;
  return perLayer * static_cast<double>(layersOfGroup(group));
}

double ModelSplit::tiedElements() const {
  double elements = 0;
  for (const proto::StateWork &state : work.states())
    if (state.role() == "parameter" && !state.blocks().empty() && state.blocks(0) == 0 &&
        state.blocks(state.blocks_size() - 1) == kHead)
      elements += static_cast<double>(state.local_elements());
  return elements;
}

} // namespace st
