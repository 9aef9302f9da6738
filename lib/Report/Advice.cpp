#include "lib/Report/Advice.h"

#include "lib/Runtime/Report.h"
#include "lib/Support/Text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>

namespace st {
namespace {

std::string percent(double share) { return absl::StrFormat("%.1f %%", 100 * share); }

std::string milliseconds(double picoseconds) {
  return absl::StrCat(printFigure(picoseconds / 1e9), " ms");
}

double pathShare(const StepFigures &figures, TimeClass timeClass) {
  int64_t sum = 0;
  for (const StepFigures::Piece &piece : figures.path)
    sum += piece.times[static_cast<size_t>(timeClass)];
  return static_cast<double>(sum) / static_cast<double>(figures.total);
}

/// The gain from a better part of the machine, and how a program achieves a similar effect.
std::string changeFor(const StepFigures &figures, const StepFigures::WhatIf &whatIf) {
  const std::string &figure = whatIf.scales.front().first;
  auto busiest = [&](const char *kind) {
    for (const StepFigures::Link &link : figures.links)
      if (link.kind == kind)
        return absl::StrFormat(
            "The busiest link, %s, is busy for %s of the step; %s of its bytes are "
            "%s.",
            link.name, percent(static_cast<double>(link.busy) / static_cast<double>(figures.total)),
            percent(link.mostlyShare), link.mostly);
    return std::string();
  };
  if (figure == "task_launch_ns")
    return figures.microBatches > 1 ? "Fewer, larger micro-batches launch fewer tasks."
                                    : "Fewer stages on a device launch fewer tasks.";
  if (absl::StartsWith(figure, "fp32_macs"))
    return "Matrix products take this time. \"precision\": \"bf16\" makes products of f32 faster; "
           "more devices share them.";
  if (absl::StartsWith(figure, "vector"))
    return "Elementwise work and row reductions take this time; \"recompute\" repeats some of it.";
  if (absl::StartsWith(figure, "l3") || absl::StartsWith(figure, "l2") ||
      absl::StartsWith(figure, "dte"))
    return "Moves of data within the device take this time. 16-bit types halve the bytes, and "
           "larger micro-batches use each loaded weight more often.";
  if (absl::StartsWith(figure, "onchip"))
    return absl::StrCat(busiest("ports of clusters"),
                        " Fewer shards, or 16-bit types, send fewer bytes.");
  if (absl::StartsWith(figure, "chip"))
    return absl::StrCat(busiest("chip to chip"),
                        " Place the ranks that exchange most bytes on one chip (device_mapping). "
                        "Fewer shards, or 16-bit types, send fewer bytes.");
  if (absl::StartsWith(figure, "group"))
    return absl::StrCat(busiest("cables of groups"),
                        " Place the ranks that exchange most bytes in one group of chips "
                        "(device_mapping).");
  return absl::StrCat(busiest("to and from hosts"), " A larger {\"bytes\": n} of offload keeps "
                                                    "more on the device.");
}

void adviseOnMachine(const StepFigures &figures, std::vector<Advice> &list) {
  for (const StepFigures::WhatIf &whatIf : figures.whatIfs) {
    if (whatIf.picoseconds == 0)
      continue;
    const double gain =
        1 - static_cast<double>(whatIf.picoseconds) / static_cast<double>(figures.total);
    constexpr double kMinGain = 0.005;
    if (gain < kMinGain)
      continue;
    list.push_back({absl::StrFormat("If %s, the step takes %s ms.", whatIf.what,
                                    printMilliseconds(whatIf.picoseconds)),
                    changeFor(figures, whatIf), gain, /*isSimulated=*/true});
  }
}

/// The ratio of a schedule's bubble (docs/parallel-spec.md) to that of 1f1b, for F = B = W.
double bubbleFactor(const StepFigures &figures) {
  if (absl::StartsWith(figures.schedule, "zb-"))
    return figures.schedule == "zb-h1" ? 1.0 / 3 : 0;
  size_t stages = 1;
  for (const StepFigures::Row &group : figures.groups)
    stages = std::max(stages, group.stages.size());
  return figures.schedule == "interleaved" ? 1.0 / static_cast<double>(stages) : 1;
}

void adviseOnBubble(const StepFigures &figures, std::vector<Advice> &list) {
  const auto stages = static_cast<int64_t>(figures.groups.size()), micro = figures.microBatches;
  if (stages < 2)
    return;
  const double waiting = shareOf(figures, TimeClass::Wait);
  const auto p = static_cast<double>(stages), m = static_cast<double>(micro);
  auto inStep = [&](double bubble) { return bubble / (1 + bubble); };
  const std::string finding = absl::StrFormat(
      "Devices wait %s of the step for other stages; schedule %s, %d stages of devices, %d "
      "micro-batch%s.",
      percent(waiting), figures.schedule.empty() ? "unnamed" : figures.schedule, stages, micro,
      micro == 1 ? "" : "es");
  auto largerBatch = [&](int64_t wanted) {
    return figures.batch == 0 || figures.batch % wanted == 0
               ? std::string()
               : absl::StrFormat(" The batch, %d, would have to be a multiple of %d.",
                                 figures.batch, wanted);
  };
  Advice advice = {finding, "", 0, false};
  if (figures.schedule == "sequential" || micro == 1) {
    const int64_t wanted = 2 * stages;
    const double then = inStep((p - 1) / static_cast<double>(wanted));
    advice.change = absl::StrFormat(
        "Only one stage works at a time. With \"mode\": \"pipeline\" and \"accum_degree\": %d the "
        "bubble is (p - 1) / m = %d / %d of the work, %s of a step.",
        wanted, stages - 1, wanted, percent(then));
    advice.change += largerBatch(wanted);
    advice.gain = std::max(0.0, waiting - then);
  } else if (const double factor = bubbleFactor(figures); factor > 0) {
    const double now = factor * (p - 1) / m, then = now / 2;
    advice.change = absl::StrFormat(
        "For equal stages the bubble is %s(p - 1) / m = %.3g of the work, which is %s of a step. "
        "With %d micro-batches it is %s.",
        factor < 1 ? absl::StrFormat("%.3f ", factor) : "", now, percent(inStep(now)), 2 * micro,
        percent(inStep(then)));
    advice.change += largerBatch(2 * micro);
    if (figures.schedule == "gpipe" || figures.schedule == "1f1b")
      advice.change +=
          " With \"schedule\": \"interleaved\" and two stages on each device it is half, and with "
          "\"zb-h1\" a third if F = B = W, for the same micro-batches.";
    advice.gain = std::max(0.0, std::min(waiting, inStep(now) - inStep(then)));
  } else {
    advice.change =
        "This schedule has no bubble if stages and tasks are equal (docs/parallel-spec.md, "
        "schedule). The rest comes from unequal tasks and from messages.";
  }
  list.push_back(std::move(advice));
}

void adviseOnBalance(const StepFigures &figures, std::vector<Advice> &list) {
  if (figures.groups.size() < 2)
    return;
  auto work = [](const StepFigures::Row &row) {
    int64_t sum = 0;
    for (TimeClass c : {TimeClass::Forward, TimeClass::Backward, TimeClass::Update,
                        TimeClass::Other, TimeClass::Collective})
      sum += row.times[static_cast<size_t>(c)];
    return static_cast<double>(sum) / static_cast<double>(row.ranks);
  };
  double sum = 0, maximum = 0;
  std::string name;
  for (const StepFigures::Row &row : figures.groups) {
    sum += work(row);
    if (work(row) > maximum) {
      maximum = work(row);
      name = row.name;
    }
  }
  const double mean = sum / static_cast<double>(figures.groups.size());
  constexpr double kUneven = 1.1;
  if (maximum < kUneven * mean)
    return;
  list.push_back({absl::StrFormat("A device of %s works for %s, the mean over the groups is %s.",
                                  name, milliseconds(maximum), milliseconds(mean)),
                  "A more even split of the model into stages saves at most the difference.",
                  (maximum - mean) / static_cast<double>(figures.total), false});
}

void adviseOnLinks(const StepFigures &figures, std::vector<Advice> &list) {
  const double exposed = pathShare(figures, TimeClass::Collective);
  constexpr double kMin = 0.05;
  if (exposed < kMin)
    return;
  list.push_back(
      {absl::StrFormat("On the critical path, devices wait for collectives of their stage "
                       "for %s of the step.",
                       percent(exposed)),
       "Overlapping collectives with products, or avoiding them, saves at most this time. "
       "--explain=FILE lists what each one moves, why, and how to avoid it.",
       exposed, false});
}

} // namespace

double shareOf(const StepFigures &figures, TimeClass timeClass) {
  double sum = 0, ranks = 0;
  for (const StepFigures::Row &row : figures.groups) {
    sum += static_cast<double>(row.times[static_cast<size_t>(timeClass)]);
    ranks += static_cast<double>(row.ranks);
  }
  return sum / (ranks * static_cast<double>(figures.total));
}

std::vector<Advice> adviseOn(const StepFigures &figures) {
  std::vector<Advice> list;
  adviseOnMachine(figures, list);
  adviseOnBubble(figures, list);
  adviseOnBalance(figures, list);
  adviseOnLinks(figures, list);
  std::stable_sort(list.begin(), list.end(),
                   [](const Advice &a, const Advice &b) { return a.gain > b.gain; });
  return list;
}

} // namespace st
