// A step composed of compiled blocks: its time and its memory.
#ifndef ST_PLANNER_STEP_H
#define ST_PLANNER_STEP_H

#include "lib/Costs/Costs.h"
#include "lib/Planner/Blocks.h"
#include "lib/Planner/Pipeline.h"
#include "lib/Proto/cluster.pb.h"
#include "lib/Proto/profile.pb.h"

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace st {

/// A part of a rank's step under the name of Megatron-LM's timer, in milliseconds.
struct Timer {
  std::string name;
  double least = 0, median = 0, most = 0, last = 0; ///< over the pipeline's ranks, and of the last
};

/// Bytes of one device by class.
struct DeviceMemory {
  double parameters = 0, gradients = 0, optimizer = 0, activations = 0, workspace = 0,
         communication = 0, context = 0, fragmentation = 0;

  double total() const {
    return parameters + gradients + optimizer + activations + workspace + communication + context +
           fragmentation;
  }
  /// (name, bytes) of each class.
  std::vector<std::pair<const char *, double>> classes() const;
};

enum class Fit : uint8_t { Fits, WithinMargin, DoesNotFit };
const char *fitName(Fit fit);

struct StepEstimate {
  double ms = 0;
  double lowerBoundMs = 0; ///< roofline: no schedule of the same work is faster
  std::vector<Timer> timers;
  std::vector<DeviceMemory> memory; ///< by device group
  size_t fullest = 0;               ///< group with the most memory
  double hostBytes = 0;             ///< of the host's memory, a device
  Fit fit = Fit::Fits;
  double flops = 0; ///< of products without recomputation, of all devices in a step
  double parameters = 0;
  std::vector<GroupTimes> groups; ///< with what each ran, if asked for
};

/// All that a composition needs. Members outlive it.
struct StepInputs {
  const PlannedModel &model;
  const proto::ClusterDescription &cluster;
  const proto::ImplementationProfile &profile;
  const Costs &costs;
  BlockSource &blocks;
  const PipelineOrder &order;
  double stepUs = 0;         ///< host time once a step
  double optimizerBytes = 8; ///< of a parameter, besides its master weight
};

/// InvalidArgument, with the reason, for a layout that cannot be run: what does not divide.
absl::Status checkLayout(const PlannedModel &model, const Layout &layout,
                         const proto::ClusterDescription &cluster);

/// Composes a step. Fails where checkLayout does or a block does not compile.
absl::StatusOr<StepEstimate> estimateStep(const StepInputs &inputs, const Layout &layout,
                                          bool keepRuns = false);

/// The layers of each stage of the model, embeddings and head aside: as equal as they divide, earlier
/// stages have one more.
std::vector<int64_t> layersOfStages(int64_t layers, int64_t stages);

} // namespace st

#endif // ST_PLANNER_STEP_H
