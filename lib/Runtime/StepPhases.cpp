#include "lib/Runtime/StepPhases.h"
#include "lib/Runtime/Report.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/Text.h"

#include <array>

namespace st {
namespace {

constexpr std::array<const char *, StepTimeline::kKinds> kActivities = {
    "launch", "compute", "collective", "transfer", "wait"};

const proto::Group &groupOf(const proto::Executable &program, int64_t rank) {
  int last = 0;
  for (int i = 0; i < program.groups_size(); ++i)
    if (program.groups(i).first_rank() <= rank)
      last = i;
  return program.groups(last);
}

void add(const StepTimeline::Sums &sums, const std::string &phase, PhaseTimes &phases) {
  for (size_t kind = 0; kind < sums.size(); ++kind)
    if (sums[kind] != 0)
      phases[absl::StrCat(phase, ", ", kActivities[kind])] += sums[kind];
}

const std::string &phaseOf(const proto::Group &group, int64_t run) {
  return group.tasks(static_cast<int>(group.schedule(static_cast<int>(run)).task())).phase();
}

} // namespace

PhaseTimes criticalPathPhases(const proto::Executable &program, const StepTimeline &timeline) {
  PhaseTimes phases;
  for (const StepTimeline::Visit &visit : timeline.path)
    add(visit.sums, phaseOf(groupOf(program, visit.rank), visit.run), phases);
  return phases;
}

PhaseTimes rankPhases(const proto::Executable &program, const StepTimeline &timeline, int64_t rank,
                      int64_t step) {
  const proto::Group &group = groupOf(program, rank);
  const std::vector<StepTimeline::Run> &runs = timeline.ranks[static_cast<size_t>(rank)].runs;
  PhaseTimes phases;
  int64_t total = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    add(runs[i].sums, phaseOf(group, static_cast<int64_t>(i)), phases);
    for (int64_t time : runs[i].sums)
      total += time;
  }
  if (total < step)
    phases["end of step"] = step - total;
  return phases;
}

std::string printPhasesJson(const PhaseTimes &phases) {
  std::string text = "{";
  absl::string_view separator = "";
  for (const auto &[name, picoseconds] : phases) {
    absl::StrAppend(&text, separator, quoteJson(name), ": ", printExactMilliseconds(picoseconds));
    separator = ", ";
  }
  return text + "}";
}

} // namespace st
