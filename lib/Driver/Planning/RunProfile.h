// What a described run says of its software: switches of the profile, and keys that change nothing.
#ifndef ST_DRIVER_PLANNING_RUNPROFILE_H
#define ST_DRIVER_PLANNING_RUNPROFILE_H

#include "lib/Frontend/TrainingRun.h"
#include "lib/Proto/profile.pb.h"

namespace mlir::st {

/// Sets the profile's switches that the run speaks of: fused kernels, in which type and when
/// gradients are reduced, and whether tensors between stages are sent in parts.
void applyRun(const TrainingRun &run, ::st::proto::ImplementationProfile &profile);

/// The fates of a run's keys for a plan: those that reading honours, for checks of a log, but that
/// no plan depends on have no effect.
std::vector<KeyFate> planFates(const TrainingRun &run);

} // namespace mlir::st

#endif // ST_DRIVER_PLANNING_RUNPROFILE_H
