#include "lib/Runtime/Training/StepTiming.h"

#include "lib/Runtime/Report.h"
#include "lib/Runtime/Stopwatch.h"
#include "lib/Runtime/TraceWriter.h"
#include "lib/Runtime/Training/Log/SimulatedEvents.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_format.h"

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
    events = simulatedEvents(program, step, timeline);
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

absl::Status StepTiming::saveTrace(const StepTrace &rows) {
  if (!trace)
    return absl::OkStatus();
  ST_RETURN_IF_ERROR(writeTrace(rows, *trace));
  return trace->commit();
}

} // namespace st
