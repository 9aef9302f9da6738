#include "lib/Planner/ModelSplit.h"

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

double ModelSplit::parametersOf(int64_t group) const {
  double elements = 0;
  for (int64_t chunk = 0; chunk < layout.virtualStages; ++chunk) {
    const int64_t stage = stageOf(group, chunk);
    for (const proto::StateWork &state : work.states()) {
      if (state.role() != "parameter" || state.blocks().empty())
        continue;
      auto isUsedBy = [&](int64_t block) {
        return std::find(state.blocks().begin(), state.blocks().end(), block) !=
               state.blocks().end();
      };
      const auto local = static_cast<double>(state.local_elements());
      if ((isUsedBy(0) && isFirst(stage)) || (isUsedBy(kHead) && isLast(stage)))
        elements += local;
      else if (isUsedBy(kLayer))
        elements += local * static_cast<double>(layers[stage]);
    }
  }
  return elements;
}

double ModelSplit::largestParameter() const {
  double largest = 0;
  for (const proto::StateWork &state : work.states())
    if (state.role() == "parameter")
      largest = std::max(largest, static_cast<double>(state.local_elements()));
  return largest;
}

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
