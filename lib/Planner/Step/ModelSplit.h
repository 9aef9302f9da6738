// The part of a model that each device group of a pipeline has.
#ifndef ST_PLANNER_MODELSPLIT_H
#define ST_PLANNER_MODELSPLIT_H

#include "lib/Planner/Step/Blocks.h"

#include <array>
#include <vector>

namespace st {

/// The layers of each stage, without embeddings and head: split evenly, with one more in earlier
/// stages.
std::vector<int64_t> layersOfStages(int64_t layers, int64_t stages);

/// Amounts that a device holds, by its device group. Stage `chunk * groups + group` is the group's
/// `chunk`-th. Members outlive it.
class ModelSplit {
public:
  static constexpr int64_t kLayer = kCompiledLayers, kHead = kCompiledLayers + 1;

  ModelSplit(const PlannedModel &model, const Layout &layout, const proto::ProgramWork &work);

  bool isFirst(int64_t stage) const { return stage == 0; }
  bool isLast(int64_t stage) const { return stage + 1 == stages; }
  int64_t stageOf(int64_t group, int64_t chunk) const { return chunk * layout.stages + group; }
  int64_t layersOfStage(int64_t stage) const { return layers[stage]; }
  int64_t layersOfGroup(int64_t group) const;

  /// Elements of parameters per device of a group.
  double parametersOf(int64_t group) const;
  double parametersOfStage(int64_t stage) const;
  /// Bytes of optimizer state per device of a group if replicas do not split it.
  double optimizerBytesOf(int64_t group) const;
  /// Elements per device of the largest parameter of any group.
  double largestParameter() const { return largest; }
  /// Parameter tensors in the layers of a group.
  double tensorsOf(int64_t group) const;
  /// Elements per device of tables that the embeddings and the head share.
  double tiedElements() const;

private:
  /// Amount of a stage outside its layers, and per layer.
  struct StageAmount {
    double once = 0, perLayer = 0;
  };
  /// Indexed by whether the stage is the first, and whether it is the last.
  using Amounts = std::array<std::array<StageAmount, 2>, 2>;
  static void add(const proto::StateWork &state, double amount, Amounts &amounts);
  double sumOf(const Amounts &amounts, int64_t group) const;
  double ofStage(const Amounts &amounts, int64_t stage) const;

  const Layout &layout;
  const proto::ProgramWork &work;
  const int64_t stages;
  const std::vector<int64_t> layers;
  Amounts elements = {}, optimizerBytes = {};
  double largest = 0;
};

} // namespace st

#endif // ST_PLANNER_MODELSPLIT_H
