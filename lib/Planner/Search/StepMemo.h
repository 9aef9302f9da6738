// Results that steps of one model, cluster and profile share.
#ifndef ST_PLANNER_STEPMEMO_H
#define ST_PLANNER_STEPMEMO_H

#include "lib/Planner/Memory/KeptTensors.h"
#include "lib/Planner/Search/Placement.h"
#include "lib/Planner/Step/BlockTime.h"
#include "lib/Planner/Step/Pipeline.h"
#include "lib/Proto/work.pb.h"

#include <functional>
#include <map>
#include <tuple>

namespace st {

struct ModelTimes {
  BlockTime embeddings, head;
  BlockTime bridge;              ///< of a model with an encoder and a decoder
  std::vector<BlockTime> layers; ///< by index in ModelSplit::layerBlocks
};

/// Memoises parts of compositions. Serves one StepInputs.
class StepMemo {
public:
  const RankPlacement &place(const proto::ClusterDescription &cluster, const Layout &layout);
  /// Computes the blocks of a program once per micro-batch, recomputation and placement of the
  /// tensor ranks, on which their times depend.
  const ModelTimes &blocks(const proto::ProgramWork &work, const Layout &layout,
                           const RankPlacement &placement,
                           const std::function<ModelTimes()> &compute);

  PipelineMemo pipelines;
  KeptMemo kept;

private:
  using Sizes = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, bool, RankOrder>;
  using GroupUse = std::tuple<int, int, int, int>;
  using BlockUse = std::tuple<const proto::ProgramWork *, int64_t, int64_t, Recompute, GroupUse,
                              GroupUse, GroupUse>;
  std::map<Sizes, RankPlacement> placements;
  std::map<BlockUse, ModelTimes> times;
};

} // namespace st

#endif // ST_PLANNER_STEPMEMO_H
