// How long a step of a program for GPUs takes, by what each of its commands costs.
#ifndef ST_DRIVER_GPUSTEP_H
#define ST_DRIVER_GPUSTEP_H

#include "lib/Costs/GpuCosts.h"
#include "lib/Driver/Prediction/GpuCommandCosts.h"
#include "lib/Proto/executable.pb.h"

#include "absl/status/statusor.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir::st {

/// Times are microseconds from the start of the step.
struct GpuStep {
  /// An entry of a rank's schedule.
  struct Run {
    double start = 0, end = 0;
    double kernels = 0;     ///< its stream of kernels works
    double collectives = 0; ///< it stands still for exchanges and for copies beside it
    double waits = 0;       ///< for messages of other device groups
  };
  double total = 0;
  double kernels = 0;   ///< of the rank with the most of them: no order of the commands is faster
  double serialSum = 0; ///< all commands of all ranks one after the other
  /// Commands of one name on the rank with the most kernels' time, summed over its step.
  struct Work {
    TimedCommand::Work kind = TimedCommand::Loop;
    std::string name;
    int64_t launches = 0;
    double us = 0, flops = 0, moved = 0; ///< as of a TimedCommand
  };
  std::vector<Work> works;             ///< the longest first
  std::vector<std::vector<Run>> ranks; ///< by global rank
};

/// Plays the commands of all ranks, in the order of their schedules, each rank on two streams: that
/// of kernels, and that of transfers beside it. Nothing where how often a loop runs depends on
/// data. InvalidArgument for a program that cannot be read or whose ranks wait for each other in
/// vain.
absl::StatusOr<std::optional<GpuStep>> playGpuStep(const ::st::proto::Executable &program,
                                                   const ::st::Costs &costs);

/// Costs on a GPU, and what they are made of.
struct DescribedGpu {
  ::st::proto::ImplementationProfile profile;
  std::string constants; ///< the cluster and the software whose fitted constants are used
  std::unique_ptr<::st::GpuCosts> costs;
};

/// What st-plan takes for a cluster of these GPUs under the profile of St's own programs.
absl::StatusOr<std::unique_ptr<DescribedGpu>> describeGpu(const ::st::proto::GpuDescription &gpu);

} // namespace mlir::st

#endif // ST_DRIVER_GPUSTEP_H
