// A pipeline's units against a clock.
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
  int64_t chunk = 0; ///< which of the group's stages
  int64_t microBatch = 0;
};

/// The order in which a group runs its units. The passes that schedule programs have it
/// (passes/Pipeline/SchedulePattern.h); lib/Driver hands it over.
using PipelineOrder = std::function<std::vector<PipelineUnit>(const Layout &layout, int64_t group)>;

/// Times in microseconds.
struct StageTimes {
  double forward = 0, backward = 0, weight = 0;
};

struct PipelineCosts {
  /// By group and chunk: stage `chunk * groups + group` of the model.
  std::vector<std::vector<StageTimes>> stages;
  /// Of a message between a group and the next one, in either direction; the last one's next is the
  /// first. The sender is busy for `sendBusy` of it.
  struct Link {
    double message = 0, sendBusy = 0;
  };
  std::vector<Link> links; ///< by group; empty where there is one group
};

/// The most micro-batches, over all chunks, whose tensors a group has at once: what a forward task
/// leaves for a backward or a weight task, and a backward task for a weight task. Its order decides
/// that alone.
struct HeldMicroBatches {
  int64_t forwardToBackward = 0, forwardToWeight = 0, backwardToWeight = 0;
};
HeldMicroBatches mostHeld(const std::vector<PipelineUnit> &units);

/// What a group did between the start of the step and its last unit.
struct GroupTimes {
  double forward = 0, backward = 0, weight = 0; ///< at work
  double forwardWait = 0, backwardWait = 0;     ///< for messages, before units of that kind
  double sending = 0;
  double end = 0;
  int64_t inFlight = 0; ///< most micro-batches, over all chunks, between forward and backward

  struct Run {
    PipelineUnit unit;
    double start = 0, end = 0;
  };
  std::vector<Run> runs; ///< only if asked for
};

/// Runs the units of all groups. Takes time in proportion to their number.
std::vector<GroupTimes> playPipeline(const Layout &layout, const PipelineCosts &costs,
                                     const PipelineOrder &order, bool keepRuns = false);

/// What no play of a schedule falls below, in time that does not grow with the micro-batches: a
/// group starts when the first one has passed the groups before it and works for all of them, and
/// the last one goes back through the groups before it. That is the time of 1F1B itself where
/// stages are equal and messages take none. Waits and micro-batches in flight are left at 0.
std::vector<GroupTimes> boundPipeline(const Layout &layout, const PipelineCosts &costs);

/// Plays that have been there before: layouts that differ in what happens after the pipeline alone
/// share one.
class PipelineMemo {
public:
  /// What playPipeline returns, valid as long as the memo.
  const std::vector<GroupTimes> &play(const Layout &layout, const PipelineCosts &costs,
                                      const PipelineOrder &order);
  /// At least so many are held by a group; exact for schedules that hold no more from some
  /// number of micro-batches on.
  HeldMicroBatches mostHeld(const Layout &layout, const PipelineOrder &order, int64_t group);

private:
  absl::flat_hash_map<std::vector<double>, std::unique_ptr<std::vector<GroupTimes>>> plays;
  absl::flat_hash_map<std::array<int64_t, 5>, HeldMicroBatches> held;
};

} // namespace st

#endif // ST_PLANNER_PIPELINE_H
