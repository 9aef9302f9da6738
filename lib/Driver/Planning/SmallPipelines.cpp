// Contention of tasks that share chips: compares full simulations of small pipelines with composed
// times.
#include "lib/Driver/Planning/PlannedModels.h"
#include "lib/Driver/Planning/SimulatedPrograms.h"
#include "lib/Planner/Simulated/SimulatedPipeline.h"
#include "lib/Support/StatusMacros.h"

#include <map>

using namespace mlir;
using namespace mlir::st;
using ::st::Contention;
using ::st::StageWork;
using ::st::StepTimeline;
using ::st::TaskNumbers;

constexpr double kUsPerPicosecond = 1e-6;

/// Schedules more micro-batches than the program was compiled for. Its tasks are the same for all
/// micro-batches.
static void reschedule(::st::proto::Executable &executable, const ::st::Layout &layout,
                       const ::st::PipelineOrder &order) {
  for (auto [number, group] : llvm::enumerate(*executable.mutable_groups())) {
    group.clear_schedule();
    auto add = [&, &group = group](StringRef phase, int64_t microBatch,
                                   std::optional<int64_t> stage = std::nullopt) {
      for (auto [task, each] : llvm::enumerate(group.tasks()))
        if (each.phase() == phase && (!stage || each.stage() == *stage)) {
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
          unit.microBatch, unit.chunk * layout.stages + static_cast<int64_t>(number));
    add("update", 0);
  }
}

static ::st::TaskKind kindOf(StringRef phase) {
  return phase == "forward"    ? ::st::ForwardTask
         : phase == "backward" ? ::st::BackwardTask
         : phase == "weight"   ? ::st::WeightTask
         : phase == "update"   ? ::st::UpdateTask
                               : ::st::PrologueTask;
}

/// The runs of a task on one rank.
static void addWork(ArrayRef<const StepTimeline::Run *> runs, int64_t moving, double share,
                    double &work) {
  constexpr auto kWait = static_cast<size_t>(StepTimeline::Kind::Wait),
                 kTransfer = static_cast<size_t>(StepTimeline::Kind::Transfer),
                 kCollective = static_cast<size_t>(StepTimeline::Kind::Collective);
  int64_t meeting = runs.front()->sums[kCollective];
  for (const StepTimeline::Run *run : runs)
    meeting = std::min(meeting, run->sums[kCollective]);
  for (const StepTimeline::Run *run : runs) {
    const int64_t waited =
        run->sums[kWait] + run->sums[kTransfer] - moving + run->sums[kCollective] - meeting;
    work += static_cast<double>(run->end - run->start - waited) * kUsPerPicosecond * share;
  }
}

/// Mean microseconds that a group's ranks work on tasks of each kind in a step. Excludes waits for
/// messages and messages in flight. The run of a task with the fastest messages gives the transfer
/// time. While a rank waits for a message, other ranks of its group may wait for that rank in a
/// collective. The run with the shortest wait gives the collective's own time.
static TaskNumbers workIn(const ::st::proto::Group &group, const StepTimeline &timeline) {
  constexpr auto kTransfer = static_cast<size_t>(StepTimeline::Kind::Transfer);
  const auto first = static_cast<size_t>(group.first_rank()),
             count = static_cast<size_t>(group.device_ids_size());
  std::map<int64_t, int64_t> moving;                                                 // by task
  std::map<std::pair<int64_t, size_t>, SmallVector<const StepTimeline::Run *>> runs; // and rank
  for (size_t rank = first; rank < first + count; ++rank)
    for (auto [entry, run] : llvm::zip_equal(group.schedule(), timeline.ranks[rank].runs)) {
      auto [minimum, isNew] = moving.try_emplace(entry.task(), run.sums[kTransfer]);
      minimum->second = std::min(minimum->second, run.sums[kTransfer]);
      runs[{entry.task(), rank}].push_back(&run);
    }
  TaskNumbers work = {};
  for (const auto &[taskAndRank, own] : runs) {
    const int64_t task = taskAndRank.first;
    addWork(own, moving[task], 1 / static_cast<double>(count),
            work[kindOf(group.tasks(static_cast<int>(task)).phase())]);
  }
  return work;
}

static void add(TaskNumbers &sum, const TaskNumbers &other) {
  for (auto [a, b] : llvm::zip_equal(sum, other))
    a += b;
}

/// Time of the tasks alone.
static TaskNumbers loneWork(const ::st::SimulatedGroup &group, int64_t microBatches) {
  TaskNumbers work = {};
  work[::st::PrologueTask] = group.prologue;
  work[::st::UpdateTask] = group.update;
  for (const ::st::SimulatedStageTimes &stage : group.chunks) {
    work[::st::ForwardTask] += stage.forward * static_cast<double>(microBatches);
    work[::st::BackwardTask] += stage.backward * static_cast<double>(microBatches);
    work[::st::WeightTask] += stage.weight * static_cast<double>(microBatches);
  }
  return work;
}

static absl::StatusOr<TaskNumbers> composedWork(const ::st::Layout &layout,
                                                const ::st::SimulatedPipeline &pipeline,
                                                const ::st::PipelineOrder &order) {
  ST_ASSIGN_OR_RETURN(auto groups,
                      ::st::timeSimulatedPipeline(layout, pipeline, order, /*keepRuns=*/false));
  TaskNumbers work = {};
  for (const ::st::SimulatedGroupTimes &group : groups) {
    work[::st::PrologueTask] += group.prologue;
    work[::st::UpdateTask] += group.update;
    work[::st::ForwardTask] += group.units.forward;
    work[::st::BackwardTask] += group.units.backward;
    work[::st::WeightTask] += group.units.weight;
  }
  return work;
}

/// Corrects the composed time of one kind of task towards the simulated one. Adjusts the slowdown
/// by other groups if there is one, otherwise the pace.
static void correct(Contention &contention, size_t kind, double simulated, double composed,
                    double lone) {
  auto &row = contention.slowdown[kind];
  const bool isSlowedDown = llvm::any_of(row, [](double share) { return share > 0; });
  // Tasks that overlap little in a small pipeline give no estimate of their slowdown.
  constexpr double kMaxScaled = 4;
  if (isSlowedDown && simulated > lone && kMaxScaled * (composed - lone) > simulated - lone) {
    for (double &share : row)
      share *= (simulated - lone) / (composed - lone);
    return;
  }
  if (simulated <= lone)
    row.fill(0);
  contention.pace[kind] = simulated / lone;
}

/// Simulates a small program fully, with its groups placed one after the other. `pipeline`: its
/// composition.
absl::StatusOr<SimulatedPrograms::SmallStep>
SimulatedPrograms::simulateSmall(const ::st::Layout &layout, const Program &program,
                                 ::st::SimulatedPipeline pipeline) const {
  Program rescheduled = program;
  reschedule(rescheduled.executable, layout, makePipelineOrder());
  Placement placement;
  for (int64_t group = 0; group < layout.stages; ++group)
    placement.push_back(group * layout.tensor * layout.context * layout.replicas);
  SmallStep step;
  step.pipeline = std::move(pipeline);
  step.pipeline.launch = description.task_launch_ns().value() * 1e-3;
  ST_ASSIGN_OR_RETURN(std::unique_ptr<::st::Executable> loaded, load(rescheduled, placement));
  StepTimeline timeline;
  ST_ASSIGN_OR_RETURN(const ::st::StepTime time, loaded->timeStep(nullptr, &timeline));
  step.total = static_cast<double>(time.total) * kUsPerPicosecond;
  for (auto [group, created] :
       llvm::zip_equal(rescheduled.executable.groups(), step.pipeline.groups)) {
    add(step.simulated, workIn(group, timeline));
    add(step.lone, loneWork(created, layout.microBatches));
  }
  return step;
}

/// Scales the pace of all kinds by the remaining effects, such as different start times.
absl::Status SimulatedPrograms::matchTotal(const ::st::Layout &layout,
                                           const ::st::PipelineOrder &order, SmallStep &step) {
  const TaskNumbers pace = step.pipeline.contention.pace;
  constexpr int kHalvings = 20;
  double minimum = 0.5, maximum = 2;
  for (int i = 0; i < kHalvings; ++i) {
    const double factor = (minimum + maximum) / 2;
    for (size_t kind = 0; kind < ::st::kTaskKinds; ++kind)
      step.pipeline.contention.pace[kind] = pace[kind] * factor;
    ST_ASSIGN_OR_RETURN(const auto groups, ::st::timeSimulatedPipeline(layout, step.pipeline, order,
                                                                       /*keepRuns=*/false));
    double end = 0;
    for (const ::st::SimulatedGroupTimes &group : groups)
      end = std::max(end, group.end);
    (end < step.total ? minimum : maximum) = factor;
  }
  return absl::OkStatus();
}

/// Finds the contention that gives each kind of task the same time in the composition of a small
/// pipeline as in its simulation.
absl::StatusOr<Contention>
SimulatedPrograms::compareWithPipeline(const ::st::Layout &layout, const Program &program,
                                       ::st::SimulatedPipeline pipeline,
                                       const Contention &measured) const {
  const ::st::PipelineOrder order = makePipelineOrder();
  ST_ASSIGN_OR_RETURN(SmallStep step, simulateSmall(layout, program, std::move(pipeline)));
  step.pipeline.contention = measured;
  // A correction of one kind changes the times of the others.
  constexpr int kRounds = 6;
  for (int round = 0; round < kRounds; ++round) {
    ST_ASSIGN_OR_RETURN(const TaskNumbers composed, composedWork(layout, step.pipeline, order));
    for (size_t kind = 0; kind < ::st::kTaskKinds; ++kind)
      if (step.lone[kind] > 0)
        correct(step.pipeline.contention, kind, step.simulated[kind], composed[kind],
                step.lone[kind]);
  }
  ST_RETURN_IF_ERROR(matchTotal(layout, order, step));
  return step.pipeline.contention;
}

/// Without a pipeline only replicas share chips. Their times in steps of few and of more layers are
/// extrapolated to all layers.
absl::StatusOr<Contention> SimulatedPrograms::compareReplicas(const ::st::Layout &layout,
                                                              ArrayRef<Program> fewAndMore) const {
  // A program of the complete model needs no second one.
  ST_ASSIGN_OR_RETURN(const SmallStep few, simulateReplicas(layout, fewAndMore.front()));
  ST_ASSIGN_OR_RETURN(const SmallStep more, simulateReplicas(layout, fewAndMore.back()));
  const auto [fewLayers, moreLayers] = layersOfPrograms();
  const double share = static_cast<double>(input.model.layers - fewLayers) /
                       static_cast<double>(moreLayers - fewLayers);
  Contention contention;
  for (size_t kind = 0; kind < ::st::kTaskKinds; ++kind) {
    auto ofAll = [&](const TaskNumbers &a, const TaskNumbers &b) {
      return a[kind] + (b[kind] - a[kind]) * share;
    };
    if (few.lone[kind] > 0)
      contention.pace[kind] = ofAll(few.simulated, more.simulated) / ofAll(few.lone, more.lone);
  }
  return contention;
}

/// Simulates a program of one stage fully, and its tasks separately.
absl::StatusOr<SimulatedPrograms::SmallStep>
SimulatedPrograms::simulateReplicas(const ::st::Layout &layout, const Program &program) const {
  const auto key = ::st::SimulatedKey::of(layout, input.model);
  ST_ASSIGN_OR_RETURN(const StageWork work, measure(program, 0, -1, -1, {0}, key));
  ::st::SimulatedPipeline pipeline;
  ::st::SimulatedGroup &created = pipeline.groups.emplace_back();
  created.addStage(work, layout.microBatches);
  created.prologue += (work[::st::PrologueTime] + work[::st::TotalsTime]) * kUsPerPicosecond;
  created.update = work[::st::UpdateTime] * kUsPerPicosecond;
  return simulateSmall(layout, program, std::move(pipeline));
}
