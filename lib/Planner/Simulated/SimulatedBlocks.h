// The planner's building blocks on simulated devices: the pipeline stages of device groups, split
// into the tasks of a compiled program.
#ifndef ST_PLANNER_SIMULATEDBLOCKS_H
#define ST_PLANNER_SIMULATEDBLOCKS_H

#include "lib/Planner/Step/Blocks.h"

#include "absl/status/statusor.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace st {

/// Parameters of tasks, except their place and the layers of their stage.
struct SimulatedKey {
  /// Layers of the compiled stages: 2 if the layout has at least 2 layers per stage on average.
  /// First and second layers differ more than second and third layers.
  int64_t stageLayers = 1;
  int64_t tensor = 1, context = 1, replicas = 1, expert = 1;
  int64_t microBatch = 1, microBatches = 1, zero = 0;
  /// If layers differ, the program is the full model in this number of stages; else 0.
  int64_t modelStages = 0;
  ContextAttention contextAttention = ContextAttention::Unset;
  bool isPipelined = false;    ///< there are several stages
  bool splitsBackward = false; ///< gradients of weights are separate tasks
  bool sequenceParallel = false;
  Recompute recompute = Recompute::None;

  static SimulatedKey of(const Layout &layout, const PlannedModel &model);
  /// Devices of a device group, and of one of its replicas.
  int64_t groupDevices() const { return replicaDevices() * replicas; }
  int64_t replicaDevices() const { return tensor * context; }
  auto tie() const {
    return std::tie(stageLayers, tensor, context, replicas, expert, microBatch, microBatches, zero,
                    modelStages, contextAttention, isPipelined, splitsBackward, sequenceParallel,
                    recompute);
  }
  bool operator<(const SimulatedKey &other) const { return tie() < other.tie(); }
};

enum class StageKind : uint8_t {
  Single, ///< the full model in one stage
  First,  ///< with the embeddings
  Middle, ///< layers only
  Last,   ///< with the head
};

/// Numbers of the device groups that run a stage and its neighbours. The first and the last stage
/// count as neighbours, since they may share a table.
struct StagePlace {
  int64_t own = 0, previous = 0, next = 0;
  int64_t stage = 0; ///< of the model; only if layers differ
};

/// Parts of a stage's work. All are linear in the layers of the stage.
enum WorkPart : uint8_t {
  // Task times on an otherwise idle device, picoseconds.
  PrologueTime,
  StatisticsTime, ///< per micro-batch, like the next three
  ForwardTime,
  BackwardTime,
  WeightTime,
  TotalsTime,
  UpdateTime,
  // Since the start of a task, in the time of its work without waits.
  ForwardNeed,  ///< until it needs the message of the previous stage
  ForwardSend,  ///< until it sends to the next stage
  BackwardNeed, ///< until it needs the message of the next stage
  BackwardSend, ///< until it sends to the previous stage
  // From the send until the message has arrived.
  ForwardUnderway,
  BackwardUnderway,
  // Between the first and the last stage if they share a table: from the start of a task until the
  // task of the other stage that receives its result may start; kNoLag if it sends nothing.
  PrologueLag,
  UpdateLag,
  // Bytes per device.
  ParameterBytes,
  GradientBytes,
  OptimizerBytes,
  ActivationBytes, ///< kept per micro-batch
  StepBytes,       ///< kept for the full step
  WorkspaceBytes,
  InputBytes, ///< per micro-batch
  kWorkParts
};
constexpr double kNoLag = -std::numeric_limits<double>::infinity();
using StageWork = std::array<double, kWorkParts>;

/// Tasks of device groups that share a chip, by their sensitivity to contention for its memory.
enum TaskKind : uint8_t {
  PrologueTask,
  ForwardTask,
  BackwardTask,
  WeightTask,
  UpdateTask,
  kTaskKinds
};
/// Relative slowdown of a task while a task of another group runs on the chip, by the kinds of
/// both. Slowdowns by several tasks add up.
using Slowdown = std::array<std::array<double, kTaskKinds>, kTaskKinds>;

/// One number per kind of task.
using TaskNumbers = std::array<double, kTaskKinds>;
constexpr TaskNumbers kAsByThemselves = {1, 1, 1, 1, 1};

/// Contention between device groups, or between replicas of a group, that share chips.
struct Contention {
  Slowdown slowdown = {};
  /// Slowdown factor of tasks that does not depend on the other groups' tasks. Timings of replicas
  /// start simultaneously, but in a step the replicas drift apart.
  TaskNumbers pace = kAsByThemselves;
};

/// A layout's program, fully compiled and timed by the simulator.
struct CompiledStep {
  int64_t picoseconds = 0;
  std::vector<int64_t> arenaBytes; ///< per device, by device group
  /// The same by class: (name, bytes) in the compiler's plan.
  std::vector<std::vector<std::pair<std::string, int64_t>>> memory;
};

/// Times the tasks of each stage once.
class SimulatedBlocks {
public:
  virtual ~SimulatedBlocks() = default;

  /// A stage with one layer. Fails if its program does not compile.
  virtual absl::StatusOr<StageWork> stage(const SimulatedKey &key, StageKind kind,
                                          const StagePlace &place) = 0;
  /// The increment per layer beyond the first.
  virtual absl::StatusOr<StageWork> layer(const SimulatedKey &key) = 0;
  virtual absl::StatusOr<Contention> contention(const Layout &layout) = 0;
  /// The chips of a device group's devices.
  virtual std::vector<int64_t> chipsOf(const SimulatedKey &key, int64_t group) const = 0;
  /// The layers of each stage as the compiler splits the full model.
  virtual absl::StatusOr<std::vector<int64_t>> layersOfStages(const Layout &layout) = 0;

  /// Compiles and times a full layout once. Fails with the compiler's first error, for example if
  /// it does not fit memory.
  virtual absl::StatusOr<CompiledStep> timeCompiled(const Layout &layout) = 0;
  /// An earlier result of timeCompiled; null if there is none or it failed.
  virtual const CompiledStep *findCompiled(const Layout &layout) const = 0;
};

} // namespace st

#endif // ST_PLANNER_SIMULATEDBLOCKS_H
