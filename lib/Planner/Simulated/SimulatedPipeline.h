// The tasks of a step against a clock, where device groups that share a chip slow each other down.
#ifndef ST_PLANNER_SIMULATEDPIPELINE_H
#define ST_PLANNER_SIMULATEDPIPELINE_H

#include "lib/Planner/Simulated/SimulatedBlocks.h"
#include "lib/Planner/Step/Pipeline.h"

#include <vector>

namespace st {

/// One stage's tasks, in microseconds on devices that have nothing else to do.
struct SimulatedStageTimes {
  double forward = 0, backward = 0, weight = 0;

  /// When a task reaches its messages.
  struct Messages {
    double need = 0;     ///< work until it needs what its neighbour sends
    double send = 0;     ///< work until it sends to its other neighbour
    double underway = 0; ///< from then until that has arrived
  };
  Messages forwardMessages, backwardMessages;
};

struct SimulatedGroup {
  std::vector<SimulatedStageTimes> chunks;
  double prologue = 0, update = 0; ///< before its first unit, and after its last one
  std::vector<int64_t> chips;      ///< that its devices are on

  /// Adds a stage, its tasks along the micro-batches alone.
  void addStage(const StageWork &work, int64_t microBatches);
};

struct SimulatedPipeline {
  std::vector<SimulatedGroup> groups;
  /// What the first and the last group send each other once a step. From the start of the first
  /// group's prologue until the last one's may start; from the end of the first group's units until
  /// the last one's update may start, and the other way round. kNoLag where nothing is sent.
  double prologueLag = kNoLag, firstUpdateLag = kNoLag, lastUpdateLag = kNoLag;
  Contention contention;
  double launch =
      0; ///< the part of each task in which it neither slows others down nor is slowed down

  /// Reads what the first and the last stage of several send each other once a step.
  void exchange(const StageWork &first, const StageWork &last);
};

/// What a group did. `exchange`: its waits for what the first and the last group send each other
/// once a step.
struct SimulatedGroupTimes {
  GroupTimes units; ///< `end`: when the last one ended
  double prologue = 0, exchange = 0, update = 0, end = 0;
};

/// Runs the tasks of all groups. Internal where one waits for what nobody sends.
absl::StatusOr<std::vector<SimulatedGroupTimes>> playSimulated(const Layout &layout,
                                                               const SimulatedPipeline &pipeline,
                                                               const PipelineOrder &order,
                                                               bool keepRuns);

} // namespace st

#endif // ST_PLANNER_SIMULATEDPIPELINE_H
