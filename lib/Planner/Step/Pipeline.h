// Simulates the units of a pipeline in time.
#ifndef ST_PLANNER_PIPELINE_H
#define ST_PLANNER_PIPELINE_H

#include "lib/Planner/Layout.h"

#include "absl/container/flat_hash_map.h"

#include <array>
#include <functional>
#include <memory>
#include <vector>

namespace st {

/// One task of a device group: a phase of one of its stages for one micro-batch.
struct PipelineUnit {
  enum Kind : uint8_t { Forward, Backward, Weight };
  Kind kind = Forward;
  int64_t chunk = 0; ///< index among the group's stages
  int64_t microBatch = 0;
};

/// The order in which a group runs its units. The scheduling passes define it
/// (passes/Pipeline/SchedulePattern.h), and lib/Driver passes it on.
using PipelineOrder = std::function<std::vector<PipelineUnit>(const Layout &layout, int64_t group)>;

/// Times in microseconds.
struct StageTimes {
  double forward = 0, backward = 0, weight = 0;
};

struct PipelineCosts {
  /// By group and chunk: stage `chunk * groups + group` of the model.
  std::vector<std::vector<StageTimes>> stages;
  /// A message between a group and the next one, in either direction; the first group follows the
  /// last. The sender is busy for `sendBusy` of it.
  struct Link {
    double message = 0, sendBusy = 0;
  };
  std::vector<Link> links; ///< by group; empty for one group
};

/// Maximum number of micro-batches, over all chunks, whose tensors a group holds at once: results
/// of forward tasks for backward or weight tasks, and of backward tasks for weight tasks. Only the
/// order of units determines it.
struct HeldMicroBatches {
  int64_t forwardToBackward = 0, forwardToWeight = 0, backwardToWeight = 0;
};
HeldMicroBatches maxHeld(const std::vector<PipelineUnit> &units);

/// Times of a group between the start of the step and its last unit.
struct GroupTimes {
  double forward = 0, backward = 0, weight = 0; ///< busy
  double forwardWait = 0, backwardWait = 0;     ///< waits for messages before units of that kind
  double sending = 0;
  double end = 0;
  int64_t inFlight = 0; ///< most micro-batches, over all chunks, between forward and backward

  struct Run {
    PipelineUnit unit;
    double start = 0, end = 0;
  };
  std::vector<Run> runs; ///< only if requested
};

/// Runs the units of all groups. Takes time proportional to their number.
std::vector<GroupTimes> simulatePipeline(const Layout &layout, const PipelineCosts &costs,
                                         const PipelineOrder &order, bool keepRuns = false);

/// A lower bound of any simulation of a schedule, in time independent of the micro-batches. A group
/// starts when the first micro-batch has passed the groups before it, and then computes all
/// micro-batches without waits. The last micro-batch returns through the groups before it. This is
/// the exact time of 1F1B for equal stages and free messages. Waits and micro-batches in flight are
/// left at 0.
std::vector<GroupTimes> boundPipeline(const Layout &layout, const PipelineCosts &costs);

/// Memoises simulations: layouts that differ only in what happens after the pipeline share one.
class PipelineMemo {
public:
  /// Returns the result of simulatePipeline, valid as long as the memo.
  const std::vector<GroupTimes> &simulate(const Layout &layout, const PipelineCosts &costs,
                                          const PipelineOrder &order);
  /// Lower bound of what a group holds; exact for schedules whose maximum does not grow beyond some
  /// number of micro-batches.
  HeldMicroBatches maxHeld(const Layout &layout, const PipelineOrder &order, int64_t group);

private:
  absl::flat_hash_map<std::vector<double>, std::unique_ptr<std::vector<GroupTimes>>> simulations;
  absl::flat_hash_map<std::array<int64_t, 5>, HeldMicroBatches> held;
};

} // namespace st

#endif // ST_PLANNER_PIPELINE_H
