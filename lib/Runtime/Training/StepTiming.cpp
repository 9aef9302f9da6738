#include "lib/Runtime/Training/StepTiming.h"

#include "lib/Runtime/MeasuredTimeline.h"
#include "lib/Runtime/Report.h"
#include "lib/Runtime/Stopwatch.h"
#include "lib/Runtime/TraceWriter.h"
#include "lib/Runtime/Training/Log/StepEvents.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_format.h"

#include <algorithm>
#include <utility>

namespace st {

absl::Status StepTiming::open() {
  isLogged = true;
  if (!options.trace.empty()) {
    ST_ASSIGN_OR_RETURN(trace, AtomicFile::create(options.trace));
  }
  if (!options.report.empty()) {
    ST_ASSIGN_OR_RETURN(report, AtomicFile::create(options.report));
  }
  return absl::OkStatus();
}

absl::Status StepTiming::time(Executable &executable,
                              const std::function<void(const std::string &)> &print) {
  Stopwatch watch;
  StepTrace rows;
  StepTimeline timeline;
  const bool isFixed = !executable.timeDependsOnData();
  const bool hasTimers = isLogged && options.log.style == "megatron" && isFixed;
  const bool hasEvents = isLogged && !options.log.tensorboard.empty() && isFixed;
  const bool hasPhases = hasTimers || hasEvents || (report && isFixed);
  ST_ASSIGN_OR_RETURN(step, executable.timeStep(trace || hasTimers ? &rows : nullptr,
                                                hasPhases ? &timeline : nullptr));
  if (hasTimers)
    timers = megatronTimers(program, timeline, rows);
  if (hasEvents)
    events = stepEvents(program, step, timeline);
  print(absl::StrFormat("timed one step in %.1f s", watch.seconds()));
  if (step.simulatedTasks < step.tasks)
    print(absl::StrFormat(", %d of %d runs of a task simulated", step.simulatedTasks, step.tasks));
  print("\n");
  if (report) {
    ST_RETURN_IF_ERROR(report->write(
        printStepTimeJson(step, program, timeline.ranks.empty() ? nullptr : &timeline)));
    ST_RETURN_IF_ERROR(report->commit());
  }
  return saveTrace(rows);
}

bool StepTiming::isMeasured(int64_t step) {
  constexpr int64_t kStepsBetween = 100;
  const bool isWanted = options.log.style == "megatron" || !options.log.tensorboard.empty();
  const bool isDue = lastMeasured < 0 || step >= lastMeasured + kStepsBetween;
  // The first step after loading is not typical.
  const bool isFirst = std::exchange(isFirstAsked, false);
  if (!isWanted || !isDue || isFirst || !options.log.isLogged(step))
    return false;
  lastMeasured = step;
  return true;
}

void StepTiming::takeMeasured(const StepTrace &rows) {
  const StepTimeline timeline = measuredTimeline(program, rows);
  StepTime time;
  for (const StepTimeline::Rank &rank : timeline.ranks)
    if (!rank.runs.empty())
      time.total = std::max(time.total, rank.runs.back().end);
  timers = megatronTimers(program, timeline, rows);
  events = stepEvents(program, time, timeline);
}

absl::Status StepTiming::saveTrace(const StepTrace &rows) {
  if (!trace)
    return absl::OkStatus();
  ST_RETURN_IF_ERROR(writeTrace(rows, *trace));
  return trace->commit();
}

} // namespace st
