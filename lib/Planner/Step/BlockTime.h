// The time of a compiled block's passes under an implementation profile.
#ifndef ST_PLANNER_BLOCKTIME_H
#define ST_PLANNER_BLOCKTIME_H

#include "lib/Planner/Search/Placement.h"
#include "lib/Planner/Step/Blocks.h"
#include "lib/Planner/Step/QueuedWork.h"
#include "lib/Proto/profile.pb.h"

#include <set>

namespace st {

/// One block's passes over one micro-batch.
struct BlockTime {
  QueuedWork forward, backward;
  QueuedWork weight; ///< gradients of weights, if they are a separate task
  /// Exchanges of experts' weights and of their gradients, once per step.
  OpTime gathers, scatters;
  double productFlops = 0; ///< forward and backward, without recomputation
  double againFlops = 0;   ///< recomputed products
  /// Device time that products lose because their sizes do not fill the matrix units, and these
  /// sizes.
  double lostUs = 0;
  std::set<int64_t> badSizes;
};

/// Inputs of a block's time other than its program.
struct BlockContext {
  const Layout &layout;
  const PlannedModel &model;
  const proto::ImplementationProfile &profile;
  const Costs &costs;
  const RankPlacement &placement;
};

/// `block` is one of ProgramWork's, see PlannedModel.
BlockTime timeBlock(const BlockContext &context, const proto::ProgramWork &work, int64_t block);

} // namespace st

#endif // ST_PLANNER_BLOCKTIME_H
