// The time of a compiled block's passes under an implementation profile.
#ifndef ST_PLANNER_BLOCKTIME_H
#define ST_PLANNER_BLOCKTIME_H

#include "lib/Planner/Layout.h"
#include "lib/Planner/Step/ModelSplit.h"
#include "lib/Planner/Step/QueuedWork.h"
#include "lib/Proto/profile.pb.h"

#include <set>

namespace st {

/// One block's passes of one micro-batch.
struct BlockTime {
  QueuedWork forward, backward;
  QueuedWork weight;       ///< gradients of weights, where they are a task of their own
  double productFlops = 0; ///< forward and backward, without what is computed again
  double againFlops = 0;   ///< products that are computed again
  /// Device time that products lose to sizes that matrix units take badly, and these sizes.
  double lostUs = 0;
  std::set<int64_t> badSizes;
};

/// What the time of a block depends on besides its program.
struct BlockContext {
  const Layout &layout;
  int64_t heads;      ///< of the whole model
  int64_t vocabulary; ///< without padding
  const proto::ImplementationProfile &profile;
  const Costs &costs;
  GroupPlacement tensorGroup; ///< where the tensor shards of a rank are
};

/// `block` is one of ProgramWork's: 0 the embeddings, ModelSplit::kLayer, ModelSplit::kHead.
BlockTime timeBlock(const BlockContext &context, const proto::ProgramWork &work, int64_t block);

} // namespace st

#endif // ST_PLANNER_BLOCKTIME_H
