// The stages of a layout on simulated devices, composed of a stage with one layer and of layers.
#ifndef ST_PLANNER_SIMULATEDSTAGES_H
#define ST_PLANNER_SIMULATEDSTAGES_H

#include "lib/Planner/Simulated/SimulatedPipeline.h"

#include "absl/status/status.h"

#include <vector>

namespace st {

class SimulatedStages {
public:
  /// `blocks` and `layout` must outlive this.
  SimulatedStages(SimulatedBlocks &blocks, const SimulatedKey &key, const Layout &layout)
      : blocks(blocks), layout(layout), key(key) {}

  /// Composes the work of all stages. `layers` is the number of layers of each stage.
  absl::Status read(std::vector<int64_t> layers);

  int64_t count() const { return layout.stages * layout.virtualStages; }
  const StageWork &work(int64_t stage) const { return works[stage]; }
  /// Sums over the stages of a group. Amounts that exist once per program count once.
  double ofGroup(int64_t group, WorkPart part) const;
  /// The tasks of all groups, without contention and launches.
  SimulatedPipeline makePipeline() const;

private:
  StagePlace placeOf(int64_t stage) const;
  StageKind kindOf(int64_t stage) const;

  SimulatedBlocks &blocks;
  const Layout &layout;
  const SimulatedKey key;
  StageWork layer = {};
  std::vector<int64_t> layers;
  std::vector<StageWork> works; ///< by stage
};

} // namespace st

#endif // ST_PLANNER_SIMULATEDSTAGES_H
