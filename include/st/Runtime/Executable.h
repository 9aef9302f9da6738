// A training step, loaded onto devices.
#ifndef ST_RUNTIME_EXECUTABLE_H
#define ST_RUNTIME_EXECUTABLE_H

#include "st/Runtime/Buffer.h"
#include "st/Runtime/Event.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace st {

/// The work of a rank in all runs of a task in a step. Bytes are the bytes that its device's
/// engines read and write at each memory level; `to` and `from` are those of the host.
struct TaskWork {
  int64_t picoseconds = 0; ///< from start to end, including waits; 0 in counts of a run on data
  int64_t macs = 0;        ///< multiply-accumulates of its matrix products
  int64_t l1Bytes = 0, l2Bytes = 0, l3Bytes = 0;
  int64_t toHostBytes = 0, fromHostBytes = 0;
  int64_t sentBytes = 0, receivedBytes = 0, messages = 0;
  int64_t instructions = 0; ///< executed instructions that move or compute data
};
struct LinkWork {
  std::string name;
  int64_t bytes = 0;
  int64_t picoseconds = 0; ///< busy time; 0 in counts of a run on data
};
struct StepWork {
  std::vector<std::vector<TaskWork>> ranks; ///< by task of the rank's group
  std::vector<LinkWork> links;              ///< links with traffic
};

/// The time of a step on the devices, in picoseconds. It depends only on the program, never on
/// data.
struct StepTime {
  int64_t total = 0;      ///< from the start of the step to the end of its last rank
  int64_t lowerBound = 0; ///< roofline lower bound
  int64_t serialSum = 0;  ///< sum of all instructions' times
  /// Runs of a task by a rank, and the number of simulated ones (ClientOptions::timeTasks).
  int64_t tasks = 0, simulatedTasks = 0;
  int64_t simulatedInstructions = 0;
  struct Rank {
    int64_t macs = 0;     ///< multiply-accumulates of its matrix products
    int64_t messages = 0; ///< sent over links
    int64_t sentBytes = 0;
    int64_t toHostBytes = 0, fromHostBytes = 0; ///< between its device and the host's memory
    /// Busy time of its engines: the first two summed over the device's cores, the third over its
    /// queues.
    int64_t matrixPicoseconds = 0, vectorPicoseconds = 0, dtePicoseconds = 0;
    int64_t sendPicoseconds = 0, receivePicoseconds = 0;
    int64_t burstBytes = 0; ///< bytes of the bursts in the device's memory
  };
  std::vector<Rank> ranks;
  StepWork work;
};

/// The activity of each engine of each device over time.
struct StepTrace {
  struct Row {
    int64_t rank = 0;
    std::string device, engine;
  };
  /// Times in picoseconds from the start of the step.
  struct Span {
    int32_t row = 0, label = 0;
    int64_t start = 0, duration = 0;
  };
  std::vector<Row> rows;
  std::vector<std::string> labels;
  std::vector<Span> spans;
  /// Bound in picoseconds of the clock error between ranks; zero for simulated time and for one
  /// rank.
  int64_t clockBound = 0;
};

/// The activity of each rank at every instant of a step, and the critical path. Times in
/// picoseconds from the start of the step.
struct StepTimeline {
  enum class Kind : uint8_t {
    Launch,     ///< a task is being launched
    Compute,    ///< the device's own engines work
    Collective, ///< engines idle: messages within the rank's group are pending or awaited
    Transfer,   ///< engines idle: a message of another group is in flight
    Wait,       ///< engines idle: another group has not sent its message yet, or must catch up
  };
  static constexpr size_t kKinds = 5;
  using Sums = std::array<int64_t, kKinds>; ///< time by kind
  struct Segment {
    int64_t start = 0, end = 0;
    Kind kind = Kind::Launch;
  };
  /// An entry of a rank's schedule.
  struct Run {
    int64_t start = 0, end = 0;
    Sums sums = {};
  };
  struct Rank {
    std::vector<Run> runs;
    std::vector<Segment> segments; ///< may be empty except for the first rank of a group
  };
  /// A part of the critical path in a run of a task, with the message that led to it.
  struct Visit {
    int64_t rank = 0, run = 0, start = 0, end = 0;
    Sums sums = {};
  };
  struct Traffic {
    std::string link;
    int64_t rank = 0, task = 0; ///< of the sender; the task of its group
    std::string what;           ///< "all_reduce"; empty if unknown
    int64_t bytes = 0;
  };
  std::vector<Rank> ranks;
  std::vector<Visit> path; ///< from the start of the step to its end, without gaps
  std::vector<Traffic> traffic;
};

/// A task that runs alone on its device group. The machine is idle, the group's ranks start
/// together, and messages of other groups have arrived when they are received. Times in picoseconds
/// from its start.
struct LoneTask {
  struct Message {
    bool isSend = false;
    int64_t rank = 0, peer = 0; ///< global rank of the peer, which is in another group
    int64_t channel = 0, bytes = 0;
    int64_t time = 0;     ///< when the rank reaches it
    int64_t underway = 0; ///< for a send: time until it arrives
  };
  int64_t duration = 0;
  /// The time from which the task waits for messages of other groups if none has arrived.
  int64_t need = 0;
  std::vector<Message> messages; ///< with other groups, ordered by time
};

class Executable {
public:
  virtual ~Executable() = default;

  virtual int64_t numRanks() const = 0;

  /// The memory of a rank; zero after loading. Null for an executable that was loaded only for
  /// timing.
  virtual Buffer *arena(int64_t rank) = 0;

  /// Allocates the pages of this process's arenas in advance, with `threads` threads, to make the
  /// first step faster. It does not change contents, so it may run concurrently with everything
  /// except the executable's destruction. Returns the bytes.
  virtual int64_t touchMemory(int /*threads*/) { return 0; }

  /// Starts one training step on the contents of the arenas. The next step may start once the event
  /// is set.
  virtual Event launchStep() = 0;

  /// In later steps, calls `hook` before a rank of this process begins its first task that writes
  /// states (phase "update"). The call is on a thread of the step and may wait. Null: no calls. To
  /// be set between steps. Returns false if these devices make no such calls; states may then
  /// change at any time during a step.
  virtual bool callBeforeUpdates(std::function<void(int64_t rank)> /*hook*/) { return false; }

  /// The additional program with this name, such as "evaluation", which shares the arenas and
  /// states. Running one of the two overwrites the inputs and outputs of the other. Null if there
  /// is none.
  virtual Executable *other(absl::string_view /*name*/) { return nullptr; }

  /// Returns true if the devices are simulated, so that timeStep and lastStepWork are available.
  virtual bool isSimulated() const { return true; }
  /// The time of one step. `trace` and `timeline` may be null.
  virtual absl::StatusOr<StepTime> timeStep(StepTrace *trace, StepTimeline *timeline) = 0;
  /// Times each task of a device group alone. `group` is the number of the group.
  virtual absl::StatusOr<std::vector<LoneTask>> timeEachTask(int64_t /*group*/) const {
    return absl::UnimplementedError("these devices cannot time single tasks");
  }
  /// Times tasks that device groups run in sequence, together with other groups. Messages of other
  /// groups are available when they are received, but chips are shared. `tasks`: by group; may be
  /// empty. Returns the time of each task, as the mean over ranks.
  virtual absl::StatusOr<std::vector<std::vector<int64_t>>>
  timeSideBySide(const std::vector<std::vector<int64_t>> & /*tasks*/) const {
    return absl::UnimplementedError("these devices cannot time single tasks");
  }
  /// For devices that are not simulated: measures the next step, which makes it slower. Its trace
  /// can be read once. With several processes all of them call both functions.
  virtual absl::Status traceNextStep() { return notMeasured(); }
  virtual absl::StatusOr<StepTrace> tracedStep() { return notMeasured(); }
  /// For each rank, the seconds for which this host computed in the last step, without waits for
  /// messages; 0 for ranks of other processes. Empty if these devices do not measure it.
  virtual std::vector<double> computeSeconds() const { return {}; }
  /// The work of the last step, counted in the run on data: no times.
  virtual absl::StatusOr<StepWork> lastStepWork() const = 0;
  /// Returns true if the time depends on data, because a loop ends by a condition on data. timeStep
  /// then returns the time of the last step that ran, and an error before the first step.
  virtual bool timeDependsOnData() const { return false; }

private:
  static absl::Status notMeasured() {
    return absl::UnimplementedError("steps of simulated devices are timed, not measured");
  }
};

} // namespace st

#endif // ST_RUNTIME_EXECUTABLE_H
