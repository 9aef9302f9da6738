// What of a model each device group of a pipeline has.
#ifndef ST_PLANNER_MODELSPLIT_H
#define ST_PLANNER_MODELSPLIT_H

#include "lib/Planner/Step/Blocks.h"

#include <array>
#include <vector>

namespace st {

/// The layers of each stage of the model, embeddings and head aside: as equal as they divide,
/// earlier stages have one more.
std::vector<int64_t> layersOfStages(int64_t layers, int64_t stages);

/// Counts of what a device holds of the model, by its device group. Stage `chunk * groups + group`
/// is the group's `chunk`-th. Members outlive it.
class ModelSplit {
public:
  static constexpr int64_t kLayer = kCompiledLayers, kHead = kCompiledLayers + 1;

  ModelSplit(const PlannedModel &model, const Layout &layout, const proto::ProgramWork &work);

  bool isFirst(int64_t stage) const { return stage == 0; }
  bool isLast(int64_t stage) const { return stage + 1 == stages; }
  int64_t stageOf(int64_t group, int64_t chunk) const { return chunk * layout.stages + group; }
  int64_t layersOfStage(int64_t stage) const { return layers[stage]; }
  int64_t layersOfGroup(int64_t group) const;

  /// Elements of parameters that a device of a group has.
  double parametersOf(int64_t group) const;
  double parametersOfStage(int64_t stage) const;
  /// Bytes of optimizer state that a device of a group has where replicas do not split it.
  double optimizerBytesOf(int64_t group) const;
  /// Elements of the largest parameter of any group, on a device.
  double largestParameter() const { return largest; }
  /// Tensors of parameters in the layers of a group.
  double tensorsOf(int64_t group) const;
  /// Elements, on a device, of tables that the embeddings and the head share.
  double tiedElements() const;

private:
  /// Of a stage beside what its layers have, and of each of these.
  struct StageAmount {
    double once = 0, perLayer = 0;
  };
  /// By whether the stage is the first, and whether it is the last.
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
