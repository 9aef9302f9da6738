// A pipeline's units against a clock.
#ifndef ST_PLANNER_PIPELINE_H
#define ST_PLANNER_PIPELINE_H

#include "lib/Planner/Layout.h"

#include <functional>
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
using PipelineOrder =
    std::function<std::vector<PipelineUnit>(const Layout &layout, int64_t group)>;

/// Times in microseconds.
struct StageTimes {
  double forward = 0, backward = 0, weight = 0;
};

struct PipelineCosts {
  /// By group and chunk: stage `chunk * groups + group` of the model.
  std::vector<std::vector<StageTimes>> stages;
  /// Of a message from one stage to the next. The sender is busy for `sendBusy` of it.
  double message = 0, sendBusy = 0;
};

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

} // namespace st

#endif // ST_PLANNER_PIPELINE_H
