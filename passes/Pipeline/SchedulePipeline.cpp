#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipeline/Schedule.h"

namespace mlir::st {
#define GEN_PASS_DEF_SCHEDULEPIPELINE
#include "passes/Pipeline/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
enum class ScheduleKind { Sequential, GPipe, OneForwardOneBackward };

/// The tasks of a program by phase; null where there is none.
struct ProgramTasks {
  TaskOp prologue, statistics, forward, backward, update;
};

struct SchedulePipeline : mlir::st::impl::SchedulePipelineBase<SchedulePipeline> {
  using SchedulePipelineBase::SchedulePipelineBase;
  void runOnOperation() override;
  FailureOr<StringRef> getKindName();
  LogicalResult schedule(StringRef kindName, MeshOp mesh);
};
} // namespace

static std::optional<ScheduleKind> parseKind(StringRef name) {
  return llvm::StringSwitch<std::optional<ScheduleKind>>(name)
      .Case("sequential", ScheduleKind::Sequential)
      .Case("gpipe", ScheduleKind::GPipe)
      .Case("1f1b", ScheduleKind::OneForwardOneBackward)
      .Default(std::nullopt);
}

static FailureOr<ProgramTasks> getTasks(ProgramOp program) {
  ProgramTasks tasks;
  for (auto task : program.getOps<TaskOp>()) {
    TaskOp &place = *llvm::StringSwitch<TaskOp *>(task.getPhase())
                         .Case("prologue", &tasks.prologue)
                         .Case("statistics", &tasks.statistics)
                         .Case("forward", &tasks.forward)
                         .Case("backward", &tasks.backward)
                         .Default(&tasks.update);
    if (place) {
      InFlightDiagnostic diagnostic = task.emitOpError("is a second task of phase ")
                                      << task.getPhase();
      diagnostic.attachNote(place.getLoc()) << "the first is here; expected one stage a program";
      return diagnostic;
    }
    place = task;
  }
  return tasks;
}

/// How many forwards run before the first backward. After them one forward and one backward
/// alternate, as in PipeDream (Narayanan et al., SOSP 2019) with a flush at the end of each step.
static int64_t getWarmUp(ScheduleKind kind, int64_t stage, int64_t numStages,
                         int64_t microBatches) {
  switch (kind) {
  case ScheduleKind::Sequential:
    return 0;
  case ScheduleKind::GPipe:
    return microBatches;
  case ScheduleKind::OneForwardOneBackward:
    return std::min(microBatches, numStages - stage - 1);
  }
  llvm_unreachable("unknown schedule");
}

static GroupSchedule makeSchedule(ProgramOp program, const ProgramTasks &tasks, int64_t warmUp,
                                  int64_t microBatches) {
  GroupSchedule schedule{program, {}};
  auto add = [&](TaskOp task, int64_t microBatch) {
    if (task)
      schedule.entries.push_back({task, microBatch});
  };
  add(tasks.prologue, 0);
  for (int64_t i = 0; i < microBatches; ++i)
    add(tasks.statistics, i);
  for (int64_t i = 0; i < warmUp; ++i)
    add(tasks.forward, i);
  for (int64_t i = 0; i < microBatches; ++i) {
    if (i + warmUp < microBatches)
      add(tasks.forward, i + warmUp);
    add(tasks.backward, i);
  }
  add(tasks.update, 0);
  return schedule;
}

static void emitSchedule(const GroupSchedule &schedule, StringRef kindName) {
  ProgramOp program = schedule.program;
  for (auto old : llvm::make_early_inc_range(program.getOps<ScheduleOp>()))
    old.erase();
  OpBuilder builder = OpBuilder::atBlockEnd(&program.getBody().front());
  SmallVector<Attribute> tasks;
  SmallVector<int64_t> microBatches;
  for (const ScheduleEntry &entry : schedule.entries) {
    tasks.push_back(FlatSymbolRefAttr::get(TaskOp(entry.task).getSymNameAttr()));
    microBatches.push_back(entry.microBatch);
  }
  ScheduleOp::create(builder, program.getLoc(), kindName, builder.getArrayAttr(tasks),
                     microBatches);
}

FailureOr<StringRef> SchedulePipeline::getKindName() {
  StringRef name = kind;
  auto attribute = getOperation()->getAttrOfType<StringAttr>("st.schedule");
  if (name.empty())
    name = attribute ? attribute.getValue() : "sequential";
  else if (attribute && attribute.getValue() != name)
    return getOperation().emitError("the module's st.schedule is \"")
           << attribute.getValue() << "\", which contradicts the option kind=" << name;
  if (!parseKind(name))
    return getOperation().emitError("unknown schedule \"")
           << name << "\", expected sequential, gpipe or 1f1b";
  return name;
}

LogicalResult SchedulePipeline::schedule(StringRef kindName, MeshOp mesh) {
  SmallVector<GroupSchedule> schedules;
  auto programs = llvm::to_vector(getOperation().getOps<ProgramOp>());
  for (ProgramOp program : programs) {
    FailureOr<ProgramTasks> tasks = getTasks(program);
    if (failed(tasks))
      return failure();
    int64_t stage = program.getStages().empty() ? 0 : program.getStages().front();
    int64_t warmUp = getWarmUp(*parseKind(kindName), stage, programs.size(), mesh.getMicro());
    schedules.push_back(makeSchedule(program, *tasks, warmUp, mesh.getMicro()));
  }
  for (GroupSchedule &schedule : schedules) {
    assignSlots(schedule);
    if (failed(checkSlots(schedule)))
      return failure();
  }
  if (failed(checkMessages(schedules)))
    return failure();
  for (const GroupSchedule &schedule : schedules)
    emitSchedule(schedule, kindName);
  return success();
}

/// Another schedule may replace one, until memory is planned for it.
static constexpr FactContract kContract = {{Fact::Mesh, Fact::Programs},
                                           FactSet::from(Fact::Addresses)};

void SchedulePipeline::runOnOperation() {
  FailureOr<StringRef> kindName = getKindName();
  if (failed(kindName) || failed(checkFacts(getOperation(), getArgument(), kContract)) ||
      failed(schedule(*kindName, mlir::st::getMesh(getOperation()))))
    signalPassFailure();
}
