#include "lib/Driver/Planning/SimulatedPrograms.h"
#include "lib/Support/StatusMacros.h"
#include "st/Runtime/Client.h"

#include <set>

using namespace mlir;
using namespace mlir::st;
using ::st::LoneTask;
using ::st::StageWork;

std::vector<int64_t> SimulatedPrograms::chipsOf(const ::st::SimulatedKey &key,
                                                int64_t group) const {
  const int64_t ranks = key.groupDevices(), perChip = description.clusters_per_chip();
  std::vector<int64_t> chips;
  for (int64_t chip = group * ranks / perChip; chip <= ((group + 1) * ranks - 1) / perChip; ++chip)
    chips.push_back(chip);
  return chips;
}

/// A layout with few stages and micro-batches that represents others.
static ::st::Layout smallPipeline(const ::st::Layout &layout, int64_t stages) {
  ::st::Layout small = layout;
  small.stages = stages;
  constexpr int64_t kMostMicroBatches = 8;
  small.microBatches = std::min(layout.microBatches, kMostMicroBatches);
  small.virtualStages = 1;
  if (layout.schedule == ::st::PipelineSchedule::Interleaved)
    small.schedule = ::st::PipelineSchedule::OneForwardOneBackward;
  return small;
}

/// Returns true if ranks of several stages or replicas share a chip.
static bool sharesChips(const ::st::Layout &layout, int64_t perChip) {
  const int64_t replicaDevices = layout.tensor * layout.context;
  return layout.stages * layout.replicas > 1 && replicaDevices % perChip != 0;
}

static ::st::Contention meanOf(ArrayRef<::st::Contention> all) {
  ::st::Contention mean;
  const double share = 1 / static_cast<double>(all.size());
  for (size_t kind = 0; kind < ::st::kTaskKinds; ++kind) {
    mean.pace[kind] = 0;
    for (const ::st::Contention &each : all) {
      mean.pace[kind] += each.pace[kind] * share;
      for (size_t other = 0; other < ::st::kTaskKinds; ++other)
        mean.slowdown[kind][other] += each.slowdown[kind][other] * share;
    }
  }
  return mean;
}

/// Tasks that share a chip in a pipeline start when their messages arrive. They do not start
/// simultaneously, like the replicas of a separately timed task, nor at random, like the groups of
/// a slowdown measurement. Full simulations of small pipelines give the mean effect.
absl::StatusOr<::st::Contention> SimulatedPrograms::contention(const ::st::Layout &layout) {
  // For more ranks the simulator composes separately timed tasks (ClientOptions::timeTasks).
  constexpr int64_t kMostTimedRanks = 64;
  if (!sharesChips(layout, description.clusters_per_chip()) || layout.devices() > kMostTimedRanks)
    return ::st::Contention();
  const auto key = ::st::SimulatedKey::of(layout, input.model);
  const int64_t stages = std::min(layout.stages, kPipelineStages);
  auto [found, isNew] =
      contentions.try_emplace({key, stages, layout.schedule}, absl::UnknownError(""));
  if (isNew)
    found->second = key.isPipelined ? contentionOfPipelines(key, layout, stages)
                                    : contentionOfReplicas(key, layout);
  return found->second;
}

absl::StatusOr<::st::Contention>
SimulatedPrograms::contentionOfReplicas(const ::st::SimulatedKey &key, const ::st::Layout &layout) {
  ST_ASSIGN_OR_RETURN(const std::vector<Program> *made, programsOf(key));
  return compareReplicas(smallPipeline(layout, 1), *made);
}

absl::StatusOr<::st::Contention>
SimulatedPrograms::contentionOfPipelines(const ::st::SimulatedKey &key, const ::st::Layout &layout,
                                         int64_t stages) {
  const int64_t ranks = key.groupDevices();
  ::st::Contention measured;
  if (key.wholeStages > 0) {
    ST_ASSIGN_OR_RETURN(const std::vector<Program> *made, programsOf(key));
    return compareWithPipeline(smallPipeline(layout, key.wholeStages), made->front(), measured);
  }
  if (ranks % description.clusters_per_chip() != 0) {
    ST_ASSIGN_OR_RETURN(const std::vector<Program> *made, programsOf(key));
    ST_ASSIGN_OR_RETURN(measured.slowdown, measureSlowdown(made->front(), ranks));
  }
  SmallVector<::st::Contention> all;
  for (int64_t own : std::set<int64_t>{stages, kPipelineStages}) {
    ST_ASSIGN_OR_RETURN(const Program *program, pipelineOf(key, own));
    ST_ASSIGN_OR_RETURN(all.emplace_back(),
                        compareWithPipeline(smallPipeline(layout, own), *program, measured));
  }
  return meanOf(all);
}

/// Returns the program of a small pipeline whose stages have the same number of layers. Stages of
/// layouts differ by at most one layer; with one much slower stage, other tasks would overlap.
absl::StatusOr<const SimulatedPrograms::Program *>
SimulatedPrograms::pipelineOf(const ::st::SimulatedKey &key, int64_t stages) {
  auto [found, isNew] = pipelines.try_emplace({key, stages}, absl::UnknownError(""));
  if (isNew) {
    std::vector<int64_t> starts;
    for (int64_t stage = 1; stage < stages; ++stage)
      starts.push_back(stage * key.stageLayers);
    ::st::Layout layout = layoutOf(key);
    layout.stages = stages;
    found->second = compile(layout, stages * key.stageLayers, starts);
  }
  if (!found->second.ok())
    return found->second.status();
  return &*found->second;
}

/// The tasks of a phase of a group, repeated `times` times.
static std::vector<int64_t> repeatPhase(const ::st::proto::Group &group, StringRef phase,
                                        int64_t times) {
  std::vector<int64_t> tasks;
  for (int64_t i = 0; i < times; ++i)
    for (auto [number, task] : llvm::enumerate(group.tasks()))
      if (task.phase() == phase)
        tasks.push_back(static_cast<int64_t>(number));
  return tasks;
}

/// Measures the deeper stage's tasks of each kind while a stage on the same chip runs each kind.
absl::StatusOr<::st::Slowdown> SimulatedPrograms::measureSlowdown(const Program &program,
                                                                  int64_t ranks) const {
  const int64_t period = description.clusters_per_chip() * description.chips_per_group();
  Placement placement(kPipelineStages);
  placement[kDeeper] = 0;
  placement[kMiddle] = ranks;
  placement[kFirst] = placement[kLast] = llvm::divideCeil(2 * ranks, period) * period;
  ST_ASSIGN_OR_RETURN(std::unique_ptr<::st::Executable> loaded, load(program, placement));
  const ::st::proto::Group &own = program.executable.groups(kDeeper),
                           &other = program.executable.groups(kMiddle);
  ST_ASSIGN_OR_RETURN(std::vector<LoneTask> ownTasks, loaded->timeEachTask(kDeeper));
  ST_ASSIGN_OR_RETURN(std::vector<LoneTask> otherTasks, loaded->timeEachTask(kMiddle));
  constexpr std::array<std::pair<::st::TaskKind, const char *>, ::st::kTaskKinds> kPhases = {
      {{::st::PrologueTask, "prologue"},
       {::st::ForwardTask, "forward"},
       {::st::BackwardTask, "backward"},
       {::st::WeightTask, "weight"},
       {::st::UpdateTask, "update"}}};
  ::st::Slowdown slowdown = {};
  for (auto [kind, phase] : kPhases)
    for (auto [otherKind, otherPhase] : kPhases) {
      const double lone = phaseTime(own, ownTasks, phase),
                   beside = phaseTime(other, otherTasks, otherPhase);
      if (lone <= 0 || beside <= 0)
        continue;
      // The other stage runs for longer. Tasks that start together are aligned at first.
      constexpr int64_t kTimes = 4, kSlowest = 3;
      std::vector<std::vector<int64_t>> tasks(kPipelineStages);
      tasks[kDeeper] = repeatPhase(own, phase, kTimes);
      tasks[kMiddle] = repeatPhase(other, otherPhase,
                                   static_cast<int64_t>(kSlowest * kTimes * lone / beside) + 1);
      ST_ASSIGN_OR_RETURN(const auto took, loaded->timeSideBySide(tasks));
      double shared = 0;
      for (int64_t duration : ArrayRef(took[kDeeper]).drop_front())
        shared += static_cast<double>(duration);
      // Launches do not access memory, and are a larger part of short tasks.
      const double launch = description.task_launch_ns().value() * 1e3;
      slowdown[kind][otherKind] = std::max(0.0, (shared / (kTimes - 1) - lone) / (lone - launch)) *
                                  beside / (beside - launch);
    }
  return slowdown;
}
