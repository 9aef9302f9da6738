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

/// A part of a rank's step, named after Megatron-LM's timer, in milliseconds.
struct Timer {
  std::string name;
  double least = 0, median = 0, most = 0, last = 0; ///< over the ranks, and of the last
};

/// A part of a device group's step in milliseconds, with the timer that contains it.
struct StepPart {
  std::string timer;
  double ms = 0;
  bool isWait = false;     ///< for other ranks
  bool afterUnits = false; ///< after the last forward and backward pass
};

struct StepEstimate {
  double ms = 0;
  /// The composed time if the layout was fully compiled and simulated; then `ms` and `memory` are
  /// exact.
  std::optional<double> composedMs;
  double lowerBoundMs = 0; ///< roofline lower bound
  std::vector<Timer> timers;
  std::vector<DeviceMemory> memory; ///< by device group
  size_t fullest = 0;               ///< group with the most memory
  double hostBytes = 0;             ///< bytes per device in the host's memory
  Fit fit = Fit::Fits;
  double flops = 0; ///< of products without recomputation, all devices, per step
  double flopsWithRecomputation = 0;
  std::vector<std::vector<StepPart>> parts; ///< by device group; consecutive parts of its step
  double parameters = 0;
  std::string note;               ///< a slowdown that a user can change; may be empty
  std::vector<GroupTimes> groups; ///< includes each unit's run if requested
};

class StepMemo;

/// Inputs of a composition. Members outlive it.
struct StepInputs {
  const PlannedModel &model;
  const proto::ClusterDescription &cluster;
  const proto::ImplementationProfile &profile;
  const Costs &costs;
  BlockSource &blocks;
  const PipelineOrder &order;
  double stepUs = 0;                    ///< host time per step
  std::string optimizer = "adam";       ///< one of kOptimizerNames
  StepMemo *memo = nullptr;             ///< shared by compositions with these inputs
  SimulatedBlocks *simulated = nullptr; ///< blocks for devices that a simulator times
};

/// InvalidArgument with a reason, such as a size that does not divide, if the layout cannot run.
absl::Status checkLayout(const PlannedModel &model, const Layout &layout,
                         const proto::ClusterDescription &cluster);

/// Also checks that the profile's programs support the layout.
absl::Status checkLayout(const StepInputs &inputs, const Layout &layout);

/// Composes a step. Fails if checkLayout does or a block does not compile.
absl::StatusOr<StepEstimate> estimateStep(const StepInputs &inputs, const Layout &layout,
                                          bool keepRuns = false);

/// Bytes of optimizer state per parameter besides its master weight, averaged over the device
/// groups of a layout. State that tensor shards replicate counts once per shard.
absl::StatusOr<double> optimizerBytes(const StepInputs &inputs, const Layout &layout);

/// The share of a layout's parameters that train.
absl::StatusOr<double> trainedShare(const StepInputs &inputs, const Layout &layout);

/// The work of the model on one device, without shards and without recomputation.
absl::StatusOr<const proto::ProgramWork *> readUnshardedWork(const StepInputs &inputs);

/// Exact number of parameters; the vocabulary is padded for one tensor shard.
absl::StatusOr<double> countParameters(const StepInputs &inputs);

/// Blocks of a composition: `work` with the layout's recomputation, and `kept` with the values that
/// a layer has between its forward pass, which may run again, and its backward pass.
struct StepBlocks {
  BlockKey work, kept;
};
StepBlocks blocksOf(const StepInputs &inputs, const Layout &layout);

/// Lower bounds of a composition.
struct StepBound {
  double ms = 0;
  DeviceMemory memory; ///< of `group`, the largest among those considered
  int64_t group = 0;
};
enum class BoundDetail : uint8_t { Pipeline, Step };

/// Bounds a step by the closed form of its schedule: the pipeline only, or with the work after it.
/// The layout must have passed checkLayout; `inputs` must have a memo.
StepBound boundStep(const StepInputs &inputs, const Layout &layout, const proto::ProgramWork &work,
                    const proto::ProgramWork &kept, BoundDetail detail);

} // namespace st

#endif // ST_PLANNER_STEP_H
