#include "passes/Pipeline/ScheduleTimeline.h"
#include "passes/Pipeline/Recompute.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <map>

using namespace mlir;
using namespace mlir::st;

/// Returns true if a task belongs to the loop over micro-batches.
static bool isInPipeline(TaskOp task) {
  return task.isPerMicroBatch() && task.getPhase() != "statistics";
}

static FailureOr<GroupSchedule> readSchedule(ProgramOp program) {
  GroupSchedule schedule{program, {}};
  auto ops = program.getOps<ScheduleOp>();
  if (ops.empty())
    return program.emitOpError("has no st.schedule; expected schedule-pipeline to have run");
  ScheduleOp op = *ops.begin();
  for (auto [task, microBatch] : llvm::zip_equal(op.getTasks(), op.getMicroBatches()))
    schedule.entries.push_back(
        {program.lookupSymbol<TaskOp>(cast<FlatSymbolRefAttr>(task).getAttr()), microBatch});
  return schedule;
}

/// An activation is held from the first task of its stage and micro-batch to the last.
static double getPeakStash(const GroupSchedule &schedule) {
  std::map<std::pair<int64_t, int64_t>, size_t> last;
  auto keyOf = [](const ScheduleEntry &entry) {
    TaskOp task = entry.task;
    return std::pair<int64_t, int64_t>(task.getStage(), entry.microBatch);
  };
  for (auto [i, entry] : llvm::enumerate(schedule.entries))
    if (isInPipeline(entry.task))
      last[keyOf(entry)] = i;
  size_t peak = 0;
  std::map<std::pair<int64_t, int64_t>, bool> held;
  for (auto [i, entry] : llvm::enumerate(schedule.entries)) {
    if (!isInPipeline(entry.task))
      continue;
    held[keyOf(entry)] = true;
    peak = std::max(peak, held.size());
    if (last[keyOf(entry)] == i)
      held.erase(keyOf(entry));
  }
  ProgramOp program = schedule.program;
  return static_cast<double>(peak) / static_cast<double>(program.getStages().size());
}

static int64_t getStashBytes(ProgramOp program) {
  int64_t bytes = 0;
  for (auto buffer : program.getOps<BufferOp>())
    if (buffer.getKind() == "stash")
      bytes += static_cast<int64_t>(buffer.getSlots()) * getTensorBytes(buffer.getType());
  return bytes;
}

FailureOr<SmallVector<GroupTimeline>> mlir::st::computeTimeline(ModuleOp module,
                                                                const PhaseTimes &times) {
  SmallVector<GroupSchedule> schedules;
  for (auto program : module.getOps<ProgramOp>()) {
    FailureOr<GroupSchedule> schedule = readSchedule(program);
    if (failed(schedule))
      return failure();
    schedules.push_back(std::move(*schedule));
  }
  if (schedules.empty())
    return module.emitError("has no st.program; expected split-tasks and schedule-pipeline to have "
                            "run"),
           failure();
  auto run = runMessages(schedules, [&](TaskOp task) { return times.lookup(task.getPhase()); });
  if (failed(run))
    return failure();

  SmallVector<GroupTimeline> groups;
  for (auto [schedule, entries] : llvm::zip_equal(schedules, *run)) {
    GroupTimeline &group = groups.emplace_back();
    bool isFirst = true;
    for (auto [entry, time] : llvm::zip_equal(schedule.entries, entries)) {
      if (TaskOp(entry.task).getPhase() == "update")
        group.barrier = time.start - group.end;
      if (!isInPipeline(entry.task))
        continue;
      if (isFirst)
        group.start = time.start;
      isFirst = false;
      group.end = time.end;
      group.busy += time.end - time.start;
    }
    group.peakStash = getPeakStash(schedule);
    group.stashBytes = getStashBytes(schedule.program);
    group.schedule = schedule;
    group.times = entries;
  }
  return groups;
}

/// The row of a chart, one character per unit of time.
static std::string drawGroup(const GroupTimeline &group, unsigned width) {
  std::string row(width, '.');
  ProgramOp program = group.schedule.program;
  int64_t first = *llvm::min_element(program.getStages());
  for (auto [entry, time] : llvm::zip_equal(group.schedule.entries, group.times)) {
    TaskOp task = entry.task;
    if (!isInPipeline(task))
      continue;
    char letter = task.getPhase().front();
    if (static_cast<int64_t>(task.getStage()) == first)
      letter = llvm::toUpper(letter);
    auto begin = static_cast<size_t>(std::lround(time.start)),
         end = static_cast<size_t>(std::lround(time.end));
    for (size_t i = begin; i < end && i < row.size(); ++i)
      row[i] = letter;
  }
  return StringRef(row).rtrim('.').str();
}

void mlir::st::printTimeline(ArrayRef<GroupTimeline> groups, unsigned width,
                             llvm::raw_ostream &os) {
  os << llvm::formatv("{0,-8} {1,-12} {2,10} {3,10} {4,10} {5,10} {6,10} {7,12} {8,14}\n", "group",
                      "stages", "start", "end", "busy", "bubble", "barrier", "peak stash",
                      "stash bytes");
  double end = 0;
  for (const GroupTimeline &group : groups) {
    ProgramOp program = group.schedule.program;
    std::string stages = llvm::join(
        llvm::map_range(program.getStages(), [](int64_t stage) { return std::to_string(stage); }),
        ",");
    os << llvm::formatv(
        "{0,-8} {1,-12} {2,10:f2} {3,10:f2} {4,10:f2} {5,10:f2} {6,10:f2} {7,12:f3} "
        "{8,14}\n",
        program.getSymName(), stages, group.start, group.end, group.busy, group.getBubble(),
        group.barrier, group.peakStash, group.stashBytes);
    end = std::max(end, group.end);
  }
  if (end > width)
    return;
  os << '\n';
  for (const GroupTimeline &group : groups) {
    ProgramOp program = group.schedule.program;
    os << llvm::formatv("{0,-8} ", program.getSymName()) << drawGroup(group, width) << '\n';
  }
}
