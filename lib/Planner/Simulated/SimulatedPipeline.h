// Times the tasks of a step. Device groups that share a chip slow each other down.
#ifndef ST_PLANNER_SIMULATEDPIPELINE_H
#define ST_PLANNER_SIMULATEDPIPELINE_H

#include "lib/Planner/Simulated/SimulatedBlocks.h"
#include "lib/Planner/Step/Pipeline.h"

#include <vector>

namespace st {

/// The work of programs is in picoseconds, that of pipelines in microseconds.
constexpr double kPicosecondsPerUs = 1e6;

/// One stage's tasks, in microseconds on otherwise idle devices.
struct SimulatedStageTimes {
  double forward = 0, backward = 0, weight = 0;

  /// The times at which a task needs and sends its messages.
  struct Messages {
    double need = 0;     ///< work until it needs its neighbour's message
    double send = 0;     ///< work until it sends to its other neighbour
    double underway = 0; ///< from `send` until the message arrives
  };
  Messages forwardMessages, backwardMessages;
};

struct SimulatedGroup {
  std::vector<SimulatedStageTimes> chunks;
  double prologue = 0, update = 0; ///< before the first unit, and after the last one
  std::vector<int64_t> chips;      ///< of its devices

  /// Adds the tasks of a stage, in micro-batches only.
  void addStage(const StageWork &work, int64_t microBatches);
};

struct SimulatedPipeline {
  std::vector<SimulatedGroup> groups;
  /// Lags of the data that the first and the last group exchange once per step; kNoLag if there is
  /// no message. They are: from the start of the first group's prologue to the start of the last
  /// group's; from the end of the first group's units to the last group's update; and the reverse.
  double prologueLag = kNoLag, firstUpdateLag = kNoLag, lastUpdateLag = kNoLag;
  Contention contention;
  double launch = 0; ///< the part of each task that is not affected by contention

  /// Sets the lags of the exchanges between the first and the last stage.
  void exchange(const StageWork &first, const StageWork &last);
};

/// The times of a group. `exchange` is the time in which it waits for data that the first and the
/// last group exchange once per step.
struct SimulatedGroupTimes {
  GroupTimes units; ///< `end` is that of the last unit
  double prologue = 0, exchange = 0, update = 0, end = 0;
};

/// Runs the tasks of all groups. Internal if a task waits for a message that no group sends.
absl::StatusOr<std::vector<SimulatedGroupTimes>>
timeSimulatedPipeline(const Layout &layout, const SimulatedPipeline &pipeline,
                      const PipelineOrder &order, bool keepRuns);

} // namespace st

#endif // ST_PLANNER_SIMULATEDPIPELINE_H
