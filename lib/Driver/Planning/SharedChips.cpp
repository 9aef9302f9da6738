#include "lib/Driver/Planning/SimulatedPrograms.h"
#include "lib/Planner/Simulated/SimulatedStages.h"
#include "lib/Support/StatusMacros.h"
#include "st/Runtime/Client.h"

#include <numeric>

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

/// A layout with few stages and micro-batches that represents larger layouts. The groups have one
/// stage each if `isInterleaved` is false, or if there would be more than kMaxStages.
static ::st::Layout smallPipeline(const ::st::Layout &layout, int64_t groups,
                                  bool isInterleaved = true) {
  constexpr int64_t kMaxStages = 12;
  ::st::Layout small = layout;
  small.stages = groups;
  // The fill and the drain of four stages are then less than a quarter of the schedule. Interleaved
  // stages take micro-batches in rounds of one per group.
  constexpr int64_t kMaxMicroBatches = 16;
  small.microBatches = std::min(layout.microBatches, kMaxMicroBatches / groups * groups);
  if (layout.schedule == ::st::PipelineSchedule::Interleaved &&
      (!isInterleaved || groups * layout.virtualStages > kMaxStages)) {
    small.virtualStages = 1;
    small.schedule = ::st::PipelineSchedule::OneForwardOneBackward;
  }
  return small;
}

/// Returns true if ranks of several stages or replicas share a chip.
static bool sharesChips(const ::st::Layout &layout, int64_t perChip) {
  const int64_t replicaDevices = layout.tensor * layout.context;
  return layout.stages * layout.replicas > 1 && replicaDevices % perChip != 0;
}

/// Layers of the stages of a small pipeline that represents others: of the first stage, the last
/// one and `stages` - 2 between them. Keeps the shares of the stages, because they determine which
/// tasks overlap.
static std::vector<int64_t> representLayers(ArrayRef<int64_t> layers, int64_t stages) {
  constexpr int64_t kMaxLayers = 12;
  std::vector<int64_t> few;
  for (int64_t stage = 0; stage < stages; ++stage)
    few.push_back(layers[stage * (static_cast<int64_t>(layers.size()) - 1) / (stages - 1)]);
  const int64_t sum = std::accumulate(few.begin(), few.end(), int64_t{0});
  const bool hasAllStages = few.size() == layers.size();
  if (hasAllStages && sum <= kMaxLayers)
    return few;
  for (int64_t &count : few)
    count = std::max<int64_t>(1, (count * std::min(sum, kMaxLayers) + sum / 2) / sum);
  return few;
}

/// Tasks that share a chip in a pipeline start when their messages arrive. They do not start
/// simultaneously, like the replicas of a separately timed task, nor at random, like the groups of
/// a slowdown measurement. The full simulation of a small pipeline gives the mean effect.
absl::StatusOr<::st::Contention> SimulatedPrograms::contention(const ::st::Layout &layout) {
  // For more ranks the simulator composes separately timed tasks (ClientOptions::timeTasks).
  constexpr int64_t kMaxTimedRanks = 64;
  if (!sharesChips(layout, description.clusters_per_chip()) || layout.devices() > kMaxTimedRanks)
    return ::st::Contention();
  const auto key = ::st::SimulatedKey::of(layout, input.model);
  std::vector<int64_t> layers; // of a small pipeline
  if (key.isPipelined) {
    ST_ASSIGN_OR_RETURN(layers, layersOfStages(layout));
    if (key.modelStages == 0) {
      const ::st::Layout small = smallPipeline(layout, std::min(layout.stages, kPipelineStages));
      layers = representLayers(layers, small.stages * small.virtualStages);
    }
  }
  auto [found, isNew] = contentions.try_emplace(
      {key, layers, layout.virtualStages, layout.schedule}, absl::UnknownError(""));
  if (isNew)
    found->second = key.isPipelined ? contentionOfPipeline(key, layout, layers)
                                    : contentionOfReplicas(key, layout);
  return found->second;
}

absl::StatusOr<::st::Contention>
SimulatedPrograms::contentionOfReplicas(const ::st::SimulatedKey &key, const ::st::Layout &layout) {
  ST_ASSIGN_OR_RETURN(const std::vector<Program> *created, programsOf(key));
  return compareReplicas(smallPipeline(layout, 1), *created);
}

absl::StatusOr<::st::Contention>
SimulatedPrograms::contentionOfPipeline(const ::st::SimulatedKey &key, const ::st::Layout &layout,
                                        const std::vector<int64_t> &layers) {
  ST_ASSIGN_OR_RETURN(const std::vector<Program> *created, programsOf(key));
  const Program *program = &created->front();
  ::st::Contention measured;
  ::st::Layout small;
  if (key.modelStages > 0) {
    // A program of the complete model has one stage on each group.
    small = smallPipeline(layout, static_cast<int64_t>(layers.size()), /*isInterleaved=*/false);
  } else {
    const int64_t ranks = key.groupDevices();
    if (ranks % description.clusters_per_chip() != 0) {
      ST_ASSIGN_OR_RETURN(measured.slowdown, measureSlowdown(*program, ranks));
    }
    small = smallPipeline(layout, std::min(layout.stages, kPipelineStages));
    ST_ASSIGN_OR_RETURN(program, pipelineOf(key, layers, small.virtualStages));
  }
  ::st::SimulatedStages stages(*this, key, small);
  ST_RETURN_IF_ERROR(stages.read(layers));
  return compareWithPipeline(small, *program, stages.makePipeline(), measured);
}

/// Returns the program of a pipeline whose stages have these numbers of layers, with
/// `virtualStages` stages on each group.
absl::StatusOr<const SimulatedPrograms::Program *>
SimulatedPrograms::pipelineOf(const ::st::SimulatedKey &key, const std::vector<int64_t> &layers,
                              int64_t virtualStages) {
  auto [found, isNew] = pipelines.try_emplace({key, layers, virtualStages}, absl::UnknownError(""));
  if (isNew) {
    const int64_t sum = std::accumulate(layers.begin(), layers.end(), int64_t{0});
    std::vector<int64_t> starts(layers.size());
    std::partial_sum(layers.begin(), layers.end(), starts.begin());
    starts.pop_back();
    // A stage without layers is in a pipeline of the complete model, which the compiler splits.
    if (llvm::is_contained(layers, 0))
      starts.clear();
    ::st::Layout layout = layoutOf(key);
    layout.stages = static_cast<int64_t>(layers.size()) / virtualStages;
    if (virtualStages > 1) {
      layout.virtualStages = virtualStages;
      layout.schedule = ::st::PipelineSchedule::Interleaved;
    }
    found->second = compile(layout, sum, starts);
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
      const double ownAlone = phaseTime(own, ownTasks, phase),
                   otherAlone = phaseTime(other, otherTasks, otherPhase);
      if (ownAlone <= 0 || otherAlone <= 0)
        continue;
      // The other stage runs for longer. Tasks that start together are aligned at first.
      constexpr int64_t kTimes = 4, kSlowest = 3;
      std::vector<std::vector<int64_t>> tasks(kPipelineStages);
      tasks[kDeeper] = repeatPhase(own, phase, kTimes);
      tasks[kMiddle] = repeatPhase(
          other, otherPhase, static_cast<int64_t>(kSlowest * kTimes * ownAlone / otherAlone) + 1);
      ST_ASSIGN_OR_RETURN(const auto took, loaded->timeSideBySide(tasks));
      double shared = 0;
      for (int64_t duration : ArrayRef(took[kDeeper]).drop_front())
        shared += static_cast<double>(duration);
      // Launches do not access memory, and are a larger part of short tasks.
      const double launch = description.task_launch_ns().value() * 1e3;
      slowdown[kind][otherKind] =
          std::max(0.0, (shared / (kTimes - 1) - ownAlone) / (ownAlone - launch)) * otherAlone /
          (otherAlone - launch);
    }
  return slowdown;
}
