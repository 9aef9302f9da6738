#include "lib/Report/PlanFigures.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <cmath>

namespace st {
namespace {

constexpr double kPicosecondsPerMs = 1e9;

int64_t picoseconds(double ms) {
  return static_cast<int64_t>(std::llround(ms * kPicosecondsPerMs));
}

/// The group's runs, with waits in between.
StepFigures::Track trackOf(const proto::PlanGroup &group, const std::string &name, int64_t total) {
  StepFigures::Track track;
  track.name = name;
  int64_t at = 0;
  auto add = [&](int64_t start, int64_t end, TimeClass timeClass, const std::string &label) {
    if (start > at)
      track.runs.push_back({at, start, TimeClass::Wait, "waits"});
    if (end > start)
      track.runs.push_back({start, end, timeClass, label});
    at = std::max(at, end);
  };
  for (const proto::PlanRun &run : group.runs())
    add(picoseconds(run.start_ms()), picoseconds(run.end_ms()),
        run.task() == "F" ? TimeClass::Forward : TimeClass::Backward,
        absl::StrCat(run.task(), ", chunk ", run.chunk(), ", micro-batch ", run.micro_batch()));
  // The work after the last unit ends with the step.
  double tail = 0;
  for (const proto::PlanPart &part : group.parts())
    if (part.after_units())
      tail += part.ms();
  int64_t start = std::max(at, total - picoseconds(tail));
  for (const proto::PlanPart &part : group.parts()) {
    if (!part.after_units())
      continue;
    const int64_t end = start + picoseconds(part.ms());
    add(start, end, classOfPart(part), part.name());
    start = end;
  }
  return track;
}

} // namespace

TimeClass classOfPart(const proto::PlanPart &part) {
  const std::string &name = part.name();
  if (part.is_wait() || absl::EndsWith(name, "-recv"))
    return TimeClass::Wait;
  if (name == "forward-compute")
    return TimeClass::Forward;
  if (name == "backward-compute")
    return TimeClass::Backward;
  if (absl::EndsWith(name, "-send"))
    return TimeClass::Transfer;
  if (absl::EndsWith(name, "-all-reduce") || absl::EndsWith(name, "-all-gather") ||
      absl::EndsWith(name, "-reduce-scatter"))
    return TimeClass::Collective;
  return absl::StartsWith(name, "optimizer") ? TimeClass::Update : TimeClass::Other;
}

StepFigures figuresOfPlan(const proto::PlanStep &step) {
  StepFigures figures;
  figures.total = picoseconds(step.predicted_ms());
  figures.lowerBound = picoseconds(step.bound_ms());
  for (int g = 0; g < step.timeline_size(); ++g) {
    const proto::PlanGroup &group = step.timeline(g);
    const std::string name = absl::StrCat("group ", g);
    figures.tracks.push_back(trackOf(group, name, figures.total));
    StepFigures::Row row;
    row.name = name;
    for (const proto::PlanPart &part : group.parts())
      row.times[static_cast<size_t>(classOfPart(part))] += picoseconds(part.ms());
    figures.groups.push_back(std::move(row));
  }
  return figures;
}

} // namespace st
