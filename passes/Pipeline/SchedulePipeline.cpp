#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Interfaces/Notes.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipeline/Schedule.h"
#include "passes/Pipeline/SchedulePattern.h"

namespace mlir::st {
#define GEN_PASS_DEF_SCHEDULEPIPELINE
#include "passes/Pipeline/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
/// The tasks of a program; null for missing ones.
struct ProgramTasks {
  struct Stage {
    int64_t number = 0;
    TaskOp statistics, forward, backward, weight;

    TaskOp lookup(ScheduledUnit::Kind kind) const {
      return kind == ScheduledUnit::Forward    ? forward
             : kind == ScheduledUnit::Backward ? backward
                                               : weight;
    }
  };
  TaskOp prologue, totals, update;
  SmallVector<Stage> stages; ///< in model order
};

struct SchedulePipeline : mlir::st::impl::SchedulePipelineBase<SchedulePipeline> {
  using SchedulePipelineBase::SchedulePipelineBase;
  void runOnOperation() override;
  FailureOr<StringRef> getKindName();
  LogicalResult schedule(StringRef kindName, MeshOp mesh);
};
} // namespace

static FailureOr<ProgramTasks> getTasks(ProgramOp program) {
  ProgramTasks tasks;
  for (int64_t stage : program.getStages())
    tasks.stages.emplace_back().number = stage;
  llvm::sort(tasks.stages, [](const auto &a, const auto &b) { return a.number < b.number; });
  for (auto task : program.getOps<TaskOp>()) {
    auto *stage = llvm::find_if(tasks.stages, [&](const ProgramTasks::Stage &stage) {
      return stage.number == static_cast<int64_t>(task.getStage());
    });
    if (stage == tasks.stages.end())
      return withNote(task.emitOpError("is of stage ") << static_cast<int64_t>(task.getStage())
                                                       << ", which its program does not have",
                      program, "the program is here");
    TaskOp &place = *llvm::StringSwitch<TaskOp *>(task.getPhase())
                         .Case("prologue", &tasks.prologue)
                         .Case("statistics", &stage->statistics)
                         .Case("totals", &tasks.totals)
                         .Case("forward", &stage->forward)
                         .Case("backward", &stage->backward)
                         .Case("weight", &stage->weight)
                         .Default(&tasks.update);
    if (place) {
      InFlightDiagnostic diagnostic = task.emitOpError("is a second task of phase ")
                                      << task.getPhase();
      diagnostic.attachNote(place.getLoc()) << "the first is here; expected one per "
                                            << (task.isPerMicroBatch() ? "stage" : "program");
      return diagnostic;
    }
    place = task;
  }
  return tasks;
}

/// Checks that the groups have the stages that the schedule expects.
static LogicalResult checkStages(ScheduleKind kind, StringRef kindName, ProgramOp program,
                                 const ProgramTasks &tasks, const ScheduleShape &shape) {
  if (!allowsVirtualStages(kind, shape.numChunks))
    return program.emitOpError("has ")
           << shape.numChunks << " stages, expected " << getDefaultVirtualStages(kind)
           << " for the schedule \"" << kindName << "\"";
  if (kind == ScheduleKind::Interleaved && shape.numChunks > 1 &&
      shape.microBatches % shape.numGroups != 0)
    return program.emitOpError("has ")
           << shape.microBatches
           << " micro-batches, but the schedule \"interleaved\" expects a multiple of the "
           << shape.numGroups << " groups";
  for (const ProgramTasks::Stage &stage : tasks.stages)
    if (getGroupOfStage(kind, stage.number, shape.numGroups) != shape.group)
      return program.emitOpError("has stage ")
             << stage.number << ", which the schedule \"" << kindName << "\" expects in group "
             << getGroupOfStage(kind, stage.number, shape.numGroups) << " of " << shape.numGroups;
  return success();
}

/// The order that the module lists for a group, or that of the schedule's pattern.
static FailureOr<SmallVector<ScheduledUnit>> getOrder(ScheduleKind kind, ProgramOp program,
                                                      const ScheduleShape &shape) {
  if (kind != ScheduleKind::Listed)
    return makeScheduleOrder(kind, shape);
  auto lists = program->getParentOfType<ModuleOp>()->getAttrOfType<ArrayAttr>(kScheduleOrderAttr);
  if (!lists || static_cast<int64_t>(lists.size()) != shape.numGroups)
    return program.emitOpError("expects ")
           << kScheduleOrderAttr << " of the module to list " << shape.numGroups
           << " orders for the schedule \"listed\", found "
           << (lists ? Attribute(lists) : UnitAttr::get(program.getContext()));
  auto text = dyn_cast<StringAttr>(lists[shape.group]);
  auto units = text ? parseUnits(text.getValue()) : std::nullopt;
  if (!units)
    return program.emitOpError("expects a list of F, B and W with micro-batches in ")
           << kScheduleOrderAttr << ", found " << lists[shape.group];
  if (std::string fault = findFault(*units, shape.numChunks, shape.microBatches); !fault.empty())
    return program.emitOpError("has an invalid order in ") << kScheduleOrderAttr << ": " << fault;
  return std::move(*units);
}

static GroupSchedule makeSchedule(ArrayRef<ScheduledUnit> order, ProgramOp program,
                                  const ProgramTasks &tasks, const ScheduleShape &shape) {
  GroupSchedule schedule{program, {}};
  auto add = [&](TaskOp task, int64_t microBatch) {
    if (task)
      schedule.entries.push_back({task, microBatch});
  };
  add(tasks.prologue, 0);
  for (int64_t i = 0; i < shape.microBatches; ++i)
    for (const ProgramTasks::Stage &stage : tasks.stages)
      add(stage.statistics, i);
  add(tasks.totals, 0);
  for (const ScheduledUnit &unit : order)
    add(tasks.stages[unit.chunk].lookup(unit.kind), unit.microBatch);
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
  if (!parseScheduleKind(name))
    return getOperation().emitError("unknown schedule \"")
           << name << "\", expected " << getScheduleNames();
  return name;
}

LogicalResult SchedulePipeline::schedule(StringRef kindName, MeshOp mesh) {
  ScheduleKind kind = *parseScheduleKind(kindName);
  SmallVector<GroupSchedule> schedules;
  auto programs = llvm::to_vector(getOperation().getOps<ProgramOp>());
  for (auto [group, program] : llvm::enumerate(programs)) {
    FailureOr<ProgramTasks> tasks = getTasks(program);
    if (failed(tasks))
      return failure();
    ScheduleShape shape = {static_cast<int64_t>(group), static_cast<int64_t>(programs.size()),
                           static_cast<int64_t>(tasks->stages.size()),
                           static_cast<int64_t>(mesh.getMicro())};
    if (failed(checkStages(kind, kindName, program, *tasks, shape)))
      return failure();
    FailureOr<SmallVector<ScheduledUnit>> order = getOrder(kind, program, shape);
    if (failed(order))
      return failure();
    schedules.push_back(makeSchedule(*order, program, *tasks, shape));
  }
  for (GroupSchedule &schedule : schedules) {
    assignSlots(schedule);
    if (failed(checkSlots(schedule)))
      return failure();
  }
  if (failed(runMessages(schedules, [](TaskOp) { return 0.0; })))
    return failure();
  for (const GroupSchedule &schedule : schedules)
    emitSchedule(schedule, kindName);
  return success();
}

/// A schedule may be replaced until memory is planned for it.
static constexpr FactContract kContract = {{Fact::Mesh, Fact::Programs},
                                           FactSet::from(Fact::Addresses)};

void SchedulePipeline::runOnOperation() {
  FailureOr<StringRef> kindName = getKindName();
  if (failed(kindName) || failed(checkFacts(getOperation(), getArgument(), kContract)) ||
      failed(schedule(*kindName, mlir::st::getMesh(getOperation()))))
    signalPassFailure();
}
