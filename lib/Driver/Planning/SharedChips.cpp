#include "lib/Driver/Planning/PlannedModels.h"
#include "lib/Driver/Planning/SimulatedPrograms.h"
#include "lib/Planner/Simulated/SimulatedPipeline.h"
#include "lib/Support/StatusMacros.h"
#include "st/Runtime/Client.h"

#include <set>

using namespace mlir;
using namespace mlir::st;
using ::st::LoneTask;
using ::st::StageWork;

constexpr double kUsPerPicosecond = 1e-6;

std::vector<int64_t> SimulatedPrograms::chipsOf(const ::st::SimulatedKey &key,
                                                int64_t group) const {
  const int64_t ranks = key.tensor * key.replicas, perChip = description.clusters_per_chip();
  std::vector<int64_t> chips;
  for (int64_t chip = group * ranks / perChip; chip <= ((group + 1) * ranks - 1) / perChip; ++chip)
    chips.push_back(chip);
  return chips;
}

/// A layout with few stages and micro-batches that stands for others.
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

static ::st::Slowdown scale(::st::Slowdown slowdown, double factor) {
  for (auto &row : slowdown)
    for (double &share : row)
      share *= factor;
  return slowdown;
}

static bool isApart(const ::st::Slowdown &slowdown) {
  return llvm::all_of(slowdown, [](const auto &row) {
    return llvm::all_of(row, [](double share) { return share == 0; });
  });
}

/// Slowdowns are scaled where there are any, else the pace of all tasks.
static ::st::Contention correct(const ::st::Contention &contention, double factor) {
  if (isApart(contention.slowdown))
    return {contention.slowdown, factor};
  return {scale(contention.slowdown, factor), contention.pace};
}

/// Whether ranks of several stages or replicas have parts of one chip.
static bool sharesChips(const ::st::Layout &layout, int64_t perChip) {
  return layout.stages > 1 && layout.tensor % perChip != 0;
}

/// In a pipeline, what shares a chip begins when messages come: neither in step, as the replicas of
/// a group where a task is timed by itself, nor at random, as groups where their slowdown is
/// measured. Small pipelines, simulated whole, say what it comes to on the mean of their forms.
absl::StatusOr<::st::Contention> SimulatedPrograms::contention(const ::st::Layout &layout) {
  if (!sharesChips(layout, description.clusters_per_chip()))
    return ::st::Contention();
  const auto key = ::st::SimulatedKey::of(layout);
  const auto most = static_cast<int64_t>(kPipelineLayers.size());
  const int64_t stages = std::min(layout.stages, most);
  auto [found, isNew] =
      contentions.try_emplace({key, stages, layout.schedule}, absl::UnknownError(""));
  if (!isNew)
    return found->second;
  auto make = [&]() -> absl::StatusOr<::st::Contention> {
    const int64_t ranks = key.tensor * key.replicas;
    ::st::Contention contention;
    if (ranks % description.clusters_per_chip() != 0) {
      ST_ASSIGN_OR_RETURN(const std::vector<Program> *made, programsOf(key));
      ST_ASSIGN_OR_RETURN(contention.slowdown, measureSlowdown(made->front(), ranks));
    }
    double sum = 0, pipelines = 0;
    for (int64_t own : std::set<int64_t>{stages, most}) {
      ST_ASSIGN_OR_RETURN(const Program *program, pipelineOf(key, own));
      ST_ASSIGN_OR_RETURN(double factor,
                          compareWithPipeline(smallPipeline(layout, own), *program, contention));
      sum += factor;
      ++pipelines;
    }
    return correct(contention, sum / pipelines);
  };
  found->second = make();
  return found->second;
}

/// The program of a small pipeline: that of the stages there are, or one of fewer with two layers
/// each.
absl::StatusOr<const SimulatedPrograms::Program *>
SimulatedPrograms::pipelineOf(const ::st::SimulatedKey &key, int64_t stages) {
  if (stages == static_cast<int64_t>(kPipelineLayers.size())) {
    ST_ASSIGN_OR_RETURN(const std::vector<Program> *made, programsOf(key));
    return &made->front();
  }
  auto [found, isNew] = pipelines.try_emplace({key, stages}, absl::UnknownError(""));
  if (isNew) {
    constexpr int64_t kLayers = 2;
    std::vector<int64_t> starts;
    for (int64_t stage = 1; stage < stages; ++stage)
      starts.push_back(stage * kLayers);
    ::st::Layout layout = layoutOf(key);
    layout.stages = stages;
    found->second = compile(layout, stages * kLayers, starts);
  }
  if (!found->second.ok())
    return found->second.status();
  return &*found->second;
}

/// The tasks of a phase of a group, `times` over.
static std::vector<int64_t> repeatPhase(const ::st::proto::Group &group, StringRef phase,
                                        int64_t times) {
  std::vector<int64_t> tasks;
  for (int64_t i = 0; i < times; ++i)
    for (auto [number, task] : llvm::enumerate(group.tasks()))
      if (task.phase() == phase)
        tasks.push_back(static_cast<int64_t>(number));
  return tasks;
}

/// The deeper stage's tasks of each kind while a stage on the same chip runs those of each kind.
absl::StatusOr<::st::Slowdown> SimulatedPrograms::measureSlowdown(const Program &program,
                                                                  int64_t ranks) const {
  const int64_t period = description.clusters_per_chip() * description.chips_per_group();
  Placement placement(kPipelineLayers.size());
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
      // The other stage goes on for longer. What begins together is in step at first.
      constexpr int64_t kTimes = 4, kSlowest = 3;
      std::vector<std::vector<int64_t>> tasks(kPipelineLayers.size());
      tasks[kDeeper] = repeatPhase(own, phase, kTimes);
      tasks[kMiddle] = repeatPhase(other, otherPhase,
                                   static_cast<int64_t>(kSlowest * kTimes * lone / beside) + 1);
      ST_ASSIGN_OR_RETURN(const auto took, loaded->timeSideBySide(tasks));
      double shared = 0;
      for (int64_t duration : ArrayRef(took[kDeeper]).drop_front())
        shared += static_cast<double>(duration);
      // Launches touch no memory, and count more in short tasks.
      const double launch = description.task_launch_ns().value() * 1e3;
      slowdown[kind][otherKind] = std::max(0.0, (shared / (kTimes - 1) - lone) / (lone - launch)) *
                                  beside / (beside - launch);
    }
  return slowdown;
}

/// A schedule of more micro-batches than the program was made for: its tasks are the same for all
/// of them.
static void reschedule(::st::proto::Executable &executable, const ::st::Layout &layout,
                       const ::st::PipelineOrder &order) {
  for (auto [number, group] : llvm::enumerate(*executable.mutable_groups())) {
    group.clear_schedule();
    auto add = [&, &group = group](StringRef phase, int64_t microBatch) {
      for (auto [task, each] : llvm::enumerate(group.tasks()))
        if (each.phase() == phase) {
          ::st::proto::ScheduleEntry &entry = *group.add_schedule();
          entry.set_task(static_cast<int64_t>(task));
          entry.set_micro_batch(microBatch % executable.micro_batches());
        }
    };
    add("prologue", 0);
    for (int64_t microBatch = 0; microBatch < layout.microBatches; ++microBatch)
      add("statistics", microBatch);
    add("totals", 0);
    for (const ::st::PipelineUnit &unit : order(layout, static_cast<int64_t>(number)))
      add(unit.kind == ::st::PipelineUnit::Forward    ? "forward"
          : unit.kind == ::st::PipelineUnit::Backward ? "backward"
                                                      : "weight",
          unit.microBatch);
    add("update", 0);
  }
}

/// Simulates a small pipeline whole, and says what factor of the contention composes the same time.
absl::StatusOr<double>
SimulatedPrograms::compareWithPipeline(const ::st::Layout &layout, const Program &program,
                                       const ::st::Contention &contention) const {
  const auto key = ::st::SimulatedKey::of(layout);
  const ::st::PipelineOrder order = makePipelineOrder();
  Placement placement;
  ::st::SimulatedPipeline pipeline;
  pipeline.launch = description.task_launch_ns().value() * 1e-3;
  for (int64_t group = 0; group < layout.stages; ++group)
    placement.push_back(group * key.tensor * key.replicas);
  for (int64_t group = 0; group < layout.stages; ++group) {
    const int64_t previous = group == 0 ? layout.stages - 1 : group - 1,
                  next = (group + 1) % layout.stages;
    ST_ASSIGN_OR_RETURN(StageWork work, measure(program, static_cast<size_t>(group), previous, next,
                                                placement, key));
    ::st::SimulatedGroup &made = pipeline.groups.emplace_back();
    made.addStage(work, layout.microBatches);
    made.prologue += (work[::st::PrologueTime] + work[::st::TotalsTime]) * kUsPerPicosecond;
    made.update = work[::st::UpdateTime] * kUsPerPicosecond;
    made.chips = chipsOf(key, group);
    if (group == 0)
      pipeline.firstUpdateLag = work[::st::UpdateLag] * kUsPerPicosecond;
    pipeline.lastUpdateLag = work[::st::UpdateLag] * kUsPerPicosecond;
  }
  Program rescheduled = program;
  reschedule(rescheduled.executable, layout, order);
  ST_ASSIGN_OR_RETURN(std::unique_ptr<::st::Executable> loaded, load(rescheduled, placement));
  ST_ASSIGN_OR_RETURN(::st::StepTime time, loaded->timeStep(nullptr, nullptr));
  const double simulated = static_cast<double>(time.total) * kUsPerPicosecond;
  auto play = [&](double factor) {
    const ::st::Contention corrected = correct(contention, factor);
    pipeline.slowdown = corrected.slowdown;
    pipeline.pace = corrected.pace;
    double end = 0;
    for (const ::st::SimulatedGroupTimes &group :
         ::st::playSimulated(layout, pipeline, order, /*keepRuns=*/false))
      end = std::max(end, group.end);
    return end;
  };
  constexpr int kHalvings = 20;
  double least = 0, most = 4;
  for (int i = 0; i < kHalvings; ++i) {
    const double factor = (least + most) / 2;
    (play(factor) < simulated ? least : most) = factor;
  }
  return least;
}
