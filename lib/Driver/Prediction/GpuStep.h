// The time of a step of a program for GPUs, from the costs of its commands.
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
    double kernels = 0;     ///< time of its stream of kernels
    double collectives = 0; ///< waits for exchanges and for concurrent copies
    double waits = 0;       ///< waits for messages of other device groups
  };
  double total = 0;
  double kernels = 0;   ///< of the rank with the most kernel time: a lower bound for any order of
                        ///< the commands
  double serialSum = 0; ///< sum over all commands of all ranks
  /// Commands of one name on the rank with the most kernel time, summed over its step.
  struct Work {
    TimedCommand::Work kind = TimedCommand::Loop;
    std::string name;
    int64_t launches = 0;
    double us = 0, flops = 0, moved = 0; ///< as in a TimedCommand
  };
  std::vector<Work> works;             ///< the longest first
  std::vector<std::vector<Run>> ranks; ///< by global rank
};

/// Simulates the commands of all ranks in the order of their schedules, each rank on two streams:
/// one of kernels and one of concurrent transfers. std::nullopt if the trip count of a loop depends
/// on data. InvalidArgument for a program that cannot be read or whose ranks deadlock.
absl::StatusOr<std::optional<GpuStep>> simulateGpuStep(const ::st::proto::Executable &program,
                                                       const ::st::Costs &costs);

/// Costs on a GPU, and their sources.
struct DescribedGpu {
  ::st::proto::ImplementationProfile profile;
  std::string constants; ///< the cluster and the software whose fitted constants are used
  std::unique_ptr<::st::GpuCosts> costs;
};

/// The costs that st-plan uses for a cluster of these GPUs under the profile of St's own programs.
absl::StatusOr<std::unique_ptr<DescribedGpu>> describeGpu(const ::st::proto::GpuDescription &gpu);

} // namespace mlir::st

#endif // ST_DRIVER_GPUSTEP_H
