#include "lib/Planner/Simulated/SimulatedReport.h"

#include "lib/Planner/Answers/Report.h"
#include "lib/Support/Text.h"

#include "absl/strings/str_format.h"

#include <algorithm>

namespace st {

void describeSimulated(const StepInputs &inputs, const SearchResult &result,
                       proto::PlanReport &report) {
  for (size_t i : result.simulated) {
    const Layout &layout = result.candidates[i].layout;
    const absl::StatusOr<StepEstimate> step = estimateStep(inputs, layout);
    const CompiledStep *compiled = inputs.simulated->findCompiled(layout);
    if (!step.ok() || !step->composedMs || !compiled)
      continue;
    proto::PlanSimulated &added = *report.add_simulated();
    *added.mutable_layout() = describeLayout(layout);
    added.set_composed_ms(*step->composedMs);
    added.set_simulated_ms(step->ms);
    added.set_picoseconds(compiled->picoseconds);
    added.set_difference(*step->composedMs / step->ms - 1);
    added.set_memory_bytes(
        *std::max_element(compiled->arenaBytes.begin(), compiled->arenaBytes.end()));
    for (int64_t bytes : compiled->arenaBytes)
      added.add_arena_bytes(bytes);
  }
}

std::string printSimulated(const proto::PlanReport &report) {
  std::string text = absl::StrFormat("compiled in full and simulated\n%12s %14s %10s %14s  %s\n",
                                     "composed ms", "simulated ms", "off by", "bytes", "layout");
  for (const proto::PlanSimulated &each : report.simulated())
    absl::StrAppendFormat(&text, "%12s %14s %+8.2f %% %14d  %s\n", printFigure(each.composed_ms()),
                          printFigure(each.simulated_ms()), each.difference() * 100,
                          each.memory_bytes(), each.layout().text());
  return text;
}

} // namespace st
