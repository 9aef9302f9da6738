// Communication between replicas of a model in a step.
#ifndef ST_PLANNER_REPLICATIME_H
#define ST_PLANNER_REPLICATIME_H

#include "lib/Costs/Costs.h"
#include "lib/Planner/Search/Placement.h"
#include "lib/Planner/Step/ModelSplit.h"
#include "lib/Proto/profile.pb.h"

namespace st {

/// A device's share of the model, and the time of its passes.
struct ReplicaWork {
  // Before ZeRO splits them.
  StateAmount weightBytes;                 ///< of all parameters
  StateAmount gradientBytes, updatedBytes; ///< gradients and weights of the trained parameters
  double tensors = 0, trainedTensors = 0;  ///< numbers of parameters and of trained parameters
  double layers = 1;
  double passes = 0;       ///< microseconds of forward and backward passes of a step
  double lastBackward = 0; ///< microseconds of the backward pass of the last micro-batch
};

/// Microseconds added to a step.
struct ReplicaTime {
  double reduction = 0; ///< of gradients, and from ZeRO-1 on the gather of updated weights
  double gathers = 0;   ///< of weights for forward and backward passes (ZeRO-3)
};

/// The expected maximum of `count` standard normal variates, by Blom's formula ("Statistical
/// Estimates and Transformed Beta-Variables", 1958). The error is at most 0.03 for two or more
/// variates; the result is 0 for one.
double meanOfLargest(int64_t count);

/// Devices that hold the same weights exchange them: replicas, and parts of a sequence. Experts
/// have fewer copies, so their exchanges are separate. ZeRO-1 reduces gradients once per step and
/// gathers updated weights. ZeRO-2 reduces those of each micro-batch. ZeRO-3 gathers weights for
/// each forward and each backward pass of a micro-batch instead (arXiv 1910.02054, section 7). The
/// host ops that the profile counts for each level wait for the device, so they add to the step.
ReplicaTime timeReplicas(const Layout &layout, const proto::ImplementationProfile &profile,
                         const Costs &costs, const RankPlacement &placement,
                         const ReplicaWork &work);

} // namespace st

#endif // ST_PLANNER_REPLICATIME_H
