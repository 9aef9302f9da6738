// A training step, loaded onto devices.
#ifndef ST_RUNTIME_EXECUTABLE_H
#define ST_RUNTIME_EXECUTABLE_H

#include "st/Runtime/Buffer.h"
#include "st/Runtime/Event.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace st {

/// What a rank does in all runs of a task in a step. Bytes are those that its device's engines read
/// and write of each level of memory; `to` and `from` the host's.
struct TaskWork {
  int64_t picoseconds = 0; ///< from start to end, waiting included; 0 where data was counted
  int64_t macs = 0;        ///< multiply-accumulates of its matrix products
  int64_t l1Bytes = 0, l2Bytes = 0, l3Bytes = 0;
  int64_t toHostBytes = 0, fromHostBytes = 0;
  int64_t sentBytes = 0, receivedBytes = 0, messages = 0;
  int64_t instructions = 0; ///< that move or compute anything, each time that one was run
};
struct LinkWork {
  std::string name;
  int64_t bytes = 0;
  int64_t picoseconds = 0; ///< in which it is taken; 0 where data was counted
};
struct StepWork {
  std::vector<std::vector<TaskWork>> ranks; ///< by the tasks of the rank's group
  std::vector<LinkWork> links;              ///< that carried anything
};

/// How long a step takes on the devices, in picoseconds. It depends on the
/// program only, never on data.
struct StepTime {
  int64_t total = 0;      ///< from the start of the step to the end of its last rank
  int64_t lowerBound = 0; ///< roofline: no schedule of the same work is faster
  int64_t serialSum = 0;  ///< all instructions one after the other
  /// Runs of a task by a rank, and how many of them were simulated (ClientOptions::timeTasks).
  int64_t tasks = 0, simulatedTasks = 0;
  int64_t simulatedInstructions = 0;
  struct Rank {
    int64_t macs = 0;     ///< multiply-accumulates of its matrix products
    int64_t messages = 0; ///< that it sends over links
    int64_t sentBytes = 0;
    int64_t toHostBytes = 0, fromHostBytes = 0; ///< between its device and the host's memory
    /// In which its engines work: the first two summed over the device's cores, the third over its
    /// queues.
    int64_t matrixPicoseconds = 0, vectorPicoseconds = 0, dtePicoseconds = 0;
    int64_t sendPicoseconds = 0, receivePicoseconds = 0;
    int64_t burstBytes = 0; ///< that it occupies its device's memory for, in whole bursts
  };
  std::vector<Rank> ranks;
  StepWork work;
};

/// When each engine of each device worked on what.
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
  /// Picoseconds by which times of different ranks may be apart from what they were; zero of
  /// simulated time and of one rank.
  int64_t clockBound = 0;
};

/// What each rank was busy with at every instant of a step, and the chain of work that decided when
/// it ended. Times in picoseconds from the start of the step.
struct StepTimeline {
  enum class Kind : uint8_t {
    Launch,     ///< a task is being launched
    Compute,    ///< the device's own engines work
    Collective, ///< they do not: messages within the rank's group are under way or waited for
    Transfer,   ///< they do not: a message of another group is under way
    Wait,       ///< they do not: another group has not sent what is needed, or is waited for
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
    std::vector<Segment> segments; ///< may be empty but for the first rank of a group
  };
  /// A stay of the chain at a run of a task, with the way there from the one before.
  struct Visit {
    int64_t rank = 0, run = 0, start = 0, end = 0;
    Sums sums = {};
  };
  struct Traffic {
    std::string link;
    int64_t rank = 0, task = 0; ///< of the sender; the task of its group
    std::string what;           ///< "all_reduce"; empty where that is not known
    int64_t bytes = 0;
  };
  std::vector<Rank> ranks;
  std::vector<Visit> path; ///< from the start of the step to its end, without a gap
  std::vector<Traffic> traffic;
};

/// A task that runs alone on its device group. The machine is idle, the group's ranks start
/// together, and messages of other groups have arrived when they are received. Times in picoseconds
/// from its start.
struct LoneTask {
  struct Message {
    bool isSend = false;
    int64_t rank = 0, peer = 0; ///< of the peer, which is in another group, its global rank
    int64_t channel = 0, bytes = 0;
    int64_t time = 0;     ///< when the rank gets to it
    int64_t underway = 0; ///< of a send: until it arrives
  };
  int64_t duration = 0;
  std::vector<Message> messages; ///< with other groups, in the order of time
};

class Executable {
public:
  virtual ~Executable() = default;

  virtual int64_t numRanks() const = 0;

  /// The memory of a rank; zero after loading. Null for an executable that was loaded for its
  /// timing only.
  virtual Buffer *arena(int64_t rank) = 0;

  /// Starts one training step on what the arenas hold. The next step may be
  /// started once the event is set.
  virtual Event launchStep() = 0;

  /// The program's other program of this name, which shares the arenas: states are where they were.
  /// Whoever starts one of the two loses what the other has in its inputs and outputs. Null if
  /// there is none.
  virtual Executable *other(absl::string_view /*name*/) { return nullptr; }

  /// Whether the devices are simulated, so that timeStep and lastStepWork have an answer.
  virtual bool isSimulated() const { return true; }
  /// The time of one step. `trace` and `timeline` may be null.
  virtual absl::StatusOr<StepTime> timeStep(StepTrace *trace, StepTimeline *timeline) = 0;
  /// Times each task of a device group alone. `group` is the number of the group.
  virtual absl::StatusOr<std::vector<LoneTask>> timeEachTask(int64_t /*group*/) const {
    return absl::UnimplementedError("no tasks of these devices are timed by themselves");
  }
  /// Tasks that device groups run one after the other, side by side with other groups: each group's
  /// messages with others are there when they are received, but chips are shared. `tasks`: by
  /// group; may be empty. Returns how long each took, as the mean over ranks.
  virtual absl::StatusOr<std::vector<std::vector<int64_t>>>
  timeSideBySide(const std::vector<std::vector<int64_t>> & /*tasks*/) const {
    return absl::UnimplementedError("no tasks of these devices are timed by themselves");
  }
  /// Of devices that are not simulated: the next step is measured, which takes it longer than
  /// others, and then told of once. With several processes all of them call both.
  virtual absl::Status traceNextStep() { return notMeasured(); }
  virtual absl::StatusOr<StepTrace> tracedStep() { return notMeasured(); }
  /// What the last step did, counted as its data went: no times.
  virtual absl::StatusOr<StepWork> lastStepWork() const = 0;
  /// Whether timeStep depends on data (loops that end where their data says): it is then the time
  /// of the last step that ran, and an error before the first.
  virtual bool timeDependsOnData() const { return false; }

private:
  static absl::Status notMeasured() {
    return absl::UnimplementedError("steps of simulated devices are timed, not measured");
  }
};

} // namespace st

#endif // ST_RUNTIME_EXECUTABLE_H
