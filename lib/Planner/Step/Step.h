// A step composed of compiled blocks: its time and its memory.
#ifndef ST_PLANNER_STEP_H
#define ST_PLANNER_STEP_H

#include "lib/Costs/Costs.h"
#include "lib/Planner/Memory/Memory.h"
#include "lib/Planner/Simulated/SimulatedBlocks.h"
#include "lib/Planner/Step/Pipeline.h"
#include "lib/Proto/cluster.pb.h"
#include "lib/Proto/profile.pb.h"

#include "absl/status/statusor.h"

#include <optional>
#include <string>
#include <vector>

namespace st {

/// A part of a rank's step under the name of Megatron-LM's timer, in milliseconds.
struct Timer {
  std::string name;
  double least = 0, median = 0, most = 0, last = 0; ///< over the pipeline's ranks, and of the last
};

/// A part of a device group's step, in milliseconds, under the timer in which it shows.
struct StepPart {
  std::string timer;
  double ms = 0;
  bool isWait = false;     ///< for other ranks
  bool afterUnits = false; ///< behind the last forward and backward passes
};

struct StepEstimate {
  double ms = 0;
  /// Where the layout was compiled whole and simulated, so that `ms` and `memory` are exact: what
  /// the composition says.
  std::optional<double> composedMs;
  double lowerBoundMs = 0; ///< roofline: no schedule of the same work is faster
  std::vector<Timer> timers;
  std::vector<DeviceMemory> memory; ///< by device group
  size_t fullest = 0;               ///< group with the most memory
  double hostBytes = 0;             ///< of the host's memory, a device
  Fit fit = Fit::Fits;
  double flops = 0; ///< of products without recomputation, of all devices in a step
  double flopsWithRecomputation = 0;
  std::vector<std::vector<StepPart>>
      parts; ///< by device group: one after the other they are its step
  double parameters = 0;
  std::string note; ///< what is slow for a reason that a user can change; empty: nothing
  std::vector<GroupTimes> groups; ///< with what each ran, if asked for
};

class StepMemo;

/// All that a composition needs. Members outlive it.
struct StepInputs {
  const PlannedModel &model;
  const proto::ClusterDescription &cluster;
  const proto::ImplementationProfile &profile;
  const Costs &costs;
  BlockSource &blocks;
  const PipelineOrder &order;
  double stepUs = 0;              ///< host time once a step
  std::string optimizer = "adam"; ///< one of kOptimizerNames
  StepMemo *memo = nullptr;       ///< what other compositions with these inputs left
  SimulatedBlocks *simulated =
      nullptr; ///< what steps are composed of on devices that a simulator times
};

/// InvalidArgument, with the reason, for a layout that cannot be run: what does not divide.
absl::Status checkLayout(const PlannedModel &model, const Layout &layout,
                         const proto::ClusterDescription &cluster);

/// The same, and what the profile's programs do not have.
absl::Status checkLayout(const StepInputs &inputs, const Layout &layout);

/// Composes a step. Fails where checkLayout does or a block does not compile.
absl::StatusOr<StepEstimate> estimateStep(const StepInputs &inputs, const Layout &layout,
                                          bool keepRuns = false);

/// Bytes that the optimizer keeps of a parameter besides its master weight, on the mean over the
/// device groups of a layout. What tensor shards keep whole counts once for each.
absl::StatusOr<double> optimizerBytes(const StepInputs &inputs, const Layout &layout);

/// Parameters of the model, exact; its vocabulary as it is padded for one tensor shard.
absl::StatusOr<double> countParameters(const StepInputs &inputs);

/// What a composition takes blocks for: `work` as the layout recomputes, `kept` without that.
struct StepBlocks {
  BlockKey work, kept;
};
StepBlocks blocksOf(const StepInputs &inputs, const Layout &layout);

/// What a composition does not fall below.
struct StepBound {
  double ms = 0;
  DeviceMemory memory; ///< of `group`, the fullest of those that were looked at
  int64_t group = 0;
};
enum class BoundDetail : uint8_t { Pipeline, Step };

/// Bounds a step by the closed form of its schedule: the pipeline alone, or with what comes after
/// it. The layout must have passed checkLayout; `inputs` has a memo.
StepBound boundStep(const StepInputs &inputs, const Layout &layout, const proto::ProgramWork &work,
                    const proto::ProgramWork &kept, BoundDetail detail);

} // namespace st

#endif // ST_PLANNER_STEP_H
