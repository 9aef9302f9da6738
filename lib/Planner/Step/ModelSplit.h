// Assigns the parts of a model to the device groups of a pipeline.
#ifndef ST_PLANNER_MODELSPLIT_H
#define ST_PLANNER_MODELSPLIT_H

#include "lib/Planner/Step/Blocks.h"

#include <algorithm>
#include <array>
#include <vector>

namespace st {

/// The layers of each stage, without embeddings and head: split evenly, with one more in earlier
/// stages.
std::vector<int64_t> layersOfStages(int64_t layers, int64_t stages);

/// An amount per device, of experts and of all other weights.
struct StateAmount {
  double dense = 0, experts = 0;

  double sum() const { return dense + experts; }
  /// The part that a device holds if all devices with equal weights split the amount.
  double sharedBy(const Layout &layout) const {
    return dense / static_cast<double>(layout.copies()) +
           experts / static_cast<double>(layout.expertCopies());
  }
  StateAmount operator*(double factor) const { return {dense * factor, experts * factor}; }
  StateAmount operator+(const StateAmount &other) const {
    return {dense + other.dense, experts + other.experts};
  }
};

/// Amounts that a device holds, by its device group. Stage `chunk * groups + group` is the group's
/// `chunk`-th. Members outlive it.
class ModelSplit {
public:
  ModelSplit(const PlannedModel &model, const Layout &layout, const proto::ProgramWork &work);

  bool isFirst(int64_t stage) const { return stage == 0; }
  bool isLast(int64_t stage) const { return stage + 1 == stages; }
  /// Returns true if the stage has the bridge from an encoder to a decoder.
  bool hasBridge(int64_t stage) const { return stage == bridge; }
  int64_t stageOf(int64_t group, int64_t chunk) const { return chunk * layout.stages + group; }
  int64_t layersOfStage(int64_t stage) const { return layers[stage]; }
  /// Returns true if the stage has decoder layers of a model with an encoder.
  bool hasDecoderLayers(int64_t stage) const {
    return model.decoderLayers > 0 && starts[stage + 1] > model.encoderLayers();
  }
  int64_t layersOfGroup(int64_t group) const;
  /// The blocks that represent layers, ascending.
  const std::vector<int64_t> &layerBlocks() const { return blocks; }
  /// Visits the layers of a stage in order, as runs that one block represents: its index among
  /// layerBlocks, and the number of layers.
  template <typename Visit> void visitLayers(int64_t stage, Visit visit) const;

  /// Elements of parameters per device of a group, and of those that train.
  StateAmount parametersOf(int64_t group) const { return sumOf(elements, group); }
  StateAmount trainedOf(int64_t group) const { return sumOf(trained, group); }
  /// Bytes of optimizer state per device of a group if no axis shards it.
  StateAmount optimizerBytesOf(int64_t group) const { return sumOf(optimizerBytes, group); }
  /// Elements per device of the largest parameter of any group that trains.
  double largestParameter() const { return largest; }
  /// Parameter tensors in the layers of a group, and those that train.
  double tensorsOf(int64_t group) const { return countTensors(group, false); }
  double trainedTensorsOf(int64_t group) const { return countTensors(group, true); }
  /// Elements per device of trained tables that the embeddings and the head share.
  double tiedElements() const;

private:
  static constexpr size_t kStageKinds = 8;
  /// Amount of a stage outside its layers, and per layer. Indexed by whether the stage is the
  /// first, has the bridge, and is the last; `perLayer` then by the block of the layer.
  struct Amounts {
    std::array<StateAmount, kStageKinds> once = {};
    std::vector<StateAmount> perLayer;
  };
  size_t indexOf(int64_t layer) const;
  static size_t indexOf(bool isFirst, bool hasBridge, bool isLast) {
    return (isFirst ? 4 : 0) + (hasBridge ? 2 : 0) + (isLast ? 1 : 0);
  }
  void add(const proto::StateWork &state, double amount, Amounts &amounts) const;
  StateAmount sumOf(const Amounts &amounts, int64_t group) const;
  StateAmount ofStage(const Amounts &amounts, int64_t stage) const;
  double countTensors(int64_t group, bool areTrained) const;

  const PlannedModel &model;
  const Layout &layout;
  const proto::ProgramWork &work;
  const std::vector<int64_t> blocks;
  const int64_t stages;
  const std::vector<int64_t> layers;
  std::vector<int64_t> starts; ///< the first layer of each stage, and the number of all
  int64_t bridge = -1;         ///< its stage, or -1
  Amounts elements, trained, optimizerBytes;
  double largest = 0;
};

template <typename Visit> void ModelSplit::visitLayers(int64_t stage, Visit visit) const {
  int64_t layer = starts[stage];
  const int64_t end = starts[stage + 1];
  while (layer < end) {
    const size_t index = indexOf(layer);
    int64_t next = layer + 1;
    if (model.hasUnequalLayers())
      while (next < end && indexOf(next) == index)
        ++next;
    else
      next = layer < model.encoderLayers() ? std::min(end, model.encoderLayers()) : end;
    visit(index, next - layer);
    layer = next;
  }
}

} // namespace st

#endif // ST_PLANNER_MODELSPLIT_H
