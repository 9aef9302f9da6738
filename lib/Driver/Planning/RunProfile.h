// Maps the configuration of a run to switches of the implementation profile, and finds keys without
// effect.
#ifndef ST_DRIVER_PLANNING_RUNPROFILE_H
#define ST_DRIVER_PLANNING_RUNPROFILE_H

#include "lib/Frontend/TrainingRun.h"
#include "lib/Proto/profile.pb.h"

namespace mlir::st {

/// Sets the profile's switches that the run determines: fused kernels, the type and time of
/// gradient reductions, and whether stages send tensors in parts.
void applyRun(const TrainingRun &run, ::st::proto::ImplementationProfile &profile);

/// The treatment of a run's keys for a plan. Keys that only the checks of a log use have no effect
/// on a plan.
std::vector<KeyStatus> planKeys(const TrainingRun &run);

} // namespace mlir::st

#endif // ST_DRIVER_PLANNING_RUNPROFILE_H
