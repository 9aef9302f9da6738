// The planner's atoms where a simulator times them: stages of a pipeline as device groups run them,
// each part of which is a task of a compiled program.
#ifndef ST_PLANNER_SIMULATEDBLOCKS_H
#define ST_PLANNER_SIMULATEDBLOCKS_H

#include "lib/Planner/Layout.h"

#include "absl/status/statusor.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace st {

/// What tasks depend on, besides where they run and the layers of their stage.
struct SimulatedKey {
  /// Layers of the stages that are compiled: 2 where no stage of the layout has less, on the mean,
  /// since a first layer and a second one are less alike than a second and a third.
  int64_t stageLayers = 1;
  int64_t tensor = 1, replicas = 1, microBatch = 1, microBatches = 1, zero = 0;
  bool isPipelined = false;    ///< there are several stages
  bool splitsBackward = false; ///< gradients of weights are tasks of their own
  bool sequenceParallel = false;
  Recompute recompute = Recompute::None;

  /// `layers`: of the model.
  static SimulatedKey of(const Layout &layout, int64_t layers);
  auto tie() const {
    return std::tie(stageLayers, tensor, replicas, microBatch, microBatches, zero, isPipelined,
                    splitsBackward, sequenceParallel, recompute);
  }
  bool operator<(const SimulatedKey &other) const { return tie() < other.tie(); }
};

enum class StageKind : uint8_t {
  Whole,  ///< of a model in one stage
  First,  ///< with the embeddings
  Middle, ///< layers alone
  Last,   ///< with the head
};

/// Numbers of the device groups that run a stage and its neighbours; of a first stage `previous` is
/// the last one, with which it may share a table, and the other way round.
struct StagePlace {
  int64_t own = 0, previous = 0, next = 0;
  auto tie() const { return std::tie(own, previous, next); }
};

/// Parts of what a stage does. All are linear in the layers of the stage.
enum WorkPart : uint8_t {
  // Tasks on a device that has nothing else to do, picoseconds.
  PrologueTime,
  StatisticsTime, ///< of one micro-batch, as the next three
  ForwardTime,
  BackwardTime,
  WeightTime,
  TotalsTime,
  UpdateTime,
  // From the start of a task, in its own work.
  ForwardNeed,  ///< until it needs what the previous stage sends
  ForwardSend,  ///< until it sends to the next stage
  BackwardNeed, ///< until it needs what the next stage sends
  BackwardSend, ///< until it sends to the previous stage
  // From then until the message has arrived.
  ForwardUnderway,
  BackwardUnderway,
  // Between the first and the last stage, where they share a table: from the start of a task until
  // that of the other stage's task may start which takes what this one sends. kNoLag where this one
  // sends nothing to the other.
  PrologueLag,
  UpdateLag,
  // Bytes of a device.
  ParameterBytes,
  GradientBytes,
  OptimizerBytes,
  ActivationBytes, ///< kept of one micro-batch
  StepBytes,       ///< kept for all of a step
  WorkspaceBytes,
  InputBytes, ///< of one micro-batch
  kWorkParts
};
constexpr double kNoLag = -std::numeric_limits<double>::infinity();
using StageWork = std::array<double, kWorkParts>;

/// Tasks of device groups that share a chip, by how its memory slows them down.
enum TaskKind : uint8_t {
  PrologueTask,
  ForwardTask,
  BackwardTask,
  WeightTask,
  UpdateTask,
  kTaskKinds
};
/// By a task's kind and that of another group's task on the chip: how much longer the one takes
/// while the other runs, as a share of what it takes by itself. Of several others the shares add
/// up.
using Slowdown = std::array<std::array<double, kTaskKinds>, kTaskKinds>;

/// A number for each kind of task.
using TaskNumbers = std::array<double, kTaskKinds>;
constexpr TaskNumbers kAsByThemselves = {1, 1, 1, 1, 1};

/// What device groups that share chips do to each other, and replicas of a group that do.
struct Contention {
  Slowdown slowdown = {};
  /// By this factor tasks take longer than by themselves, whatever other groups run: replicas that
  /// are timed together begin together, and in a step they are soon out of step.
  TaskNumbers pace = kAsByThemselves;
};

/// A layout's program, compiled whole and timed by the simulator.
struct WholeStep {
  int64_t picoseconds = 0;
  std::vector<int64_t> arenaBytes; ///< of a device, by device group
  /// The same by class: (name, bytes) as the compiler's plan has them.
  std::vector<std::vector<std::pair<std::string, int64_t>>> memory;
};

/// Times the tasks of stages, each once.
class SimulatedBlocks {
public:
  virtual ~SimulatedBlocks() = default;

  /// A stage with one layer. Fails where its program does not compile.
  virtual absl::StatusOr<StageWork> stage(const SimulatedKey &key, StageKind kind,
                                          const StagePlace &place) = 0;
  /// What each layer beyond the first adds to a stage.
  virtual absl::StatusOr<StageWork> layer(const SimulatedKey &key) = 0;
  virtual absl::StatusOr<Contention> contention(const Layout &layout) = 0;
  /// The chips that a device group has devices on.
  virtual std::vector<int64_t> chipsOf(const SimulatedKey &key, int64_t group) const = 0;
  /// The layers of each stage of the whole model as the compiler cuts it.
  virtual absl::StatusOr<std::vector<int64_t>> layersOfStages(const Layout &layout) = 0;

  /// Compiles and times a layout whole, once. Fails with the compiler's first error, as where
  /// memory does not suffice.
  virtual absl::StatusOr<WholeStep> timeWhole(const Layout &layout) = 0;
  /// What timeWhole said of a layout before; null where nobody asked or it failed.
  virtual const WholeStep *findWhole(const Layout &layout) const = 0;
};

} // namespace st

#endif // ST_PLANNER_SIMULATEDBLOCKS_H
