#include "tools/st-compare/Comparison.h"

#include "lib/Runtime/Json.h"
#include "lib/Runtime/Report.h"
#include "lib/Support/Text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace st {
namespace {

using Part = Comparison::Part;

std::vector<Part> join(const Times &a, const Times &b) {
  std::map<std::string, Part> parts;
  for (const auto &[name, time] : a)
    parts[name].a = time;
  for (const auto &[name, time] : b)
    parts[name].b = time;
  std::vector<Part> sorted;
  for (auto &[name, part] : parts) {
    part.name = name;
    sorted.push_back(part);
  }
  std::sort(sorted.begin(), sorted.end(), [](const Part &x, const Part &y) {
    const double own = std::fabs(x.difference()), other = std::fabs(y.difference());
    return own != other ? own > other : x.name < y.name;
  });
  return sorted;
}

// Splits the host's time into batch preparation and the rest.
Times hostParts(const RunFiles &run) {
  const std::optional<double> host = run.median(&RunStep::host), data = run.median(&RunStep::data);
  if (!host || !data)
    return {};
  return {{"batches on the host", *data}, {"step on the host", *host - *data}};
}

double relative(double a, double b) {
  const double scale = std::max(std::fabs(a), std::fabs(b));
  return scale == 0 ? 0 : std::fabs(a - b) / scale;
}

void compareTimes(const RunFiles &a, const RunFiles &b, Comparison &comparison) {
  if (a.stepTime() && b.stepTime() && a.timeSource() == b.timeSource()) {
    comparison.step = Part{"step", *a.stepTime(), *b.stepTime()};
    comparison.timeSource = a.timeSource();
  }
  const bool isOfDevices = comparison.timeSource == "devices";
  const Times hostA = hostParts(a), hostB = hostParts(b);
  if (isOfDevices && !a.path.empty() && !b.path.empty()) {
    comparison.parts = join(a.path, b.path);
    comparison.partSource = "critical path";
    comparison.addsUp = true;
  } else if (isOfDevices && !a.timers.empty() && !b.timers.empty()) {
    comparison.parts = join(a.timers, b.timers);
    comparison.partSource = "timers of the last rank";
  } else if (!a.spans.empty() && !b.spans.empty()) {
    comparison.parts = join(a.spans, b.spans);
    comparison.partSource = "trace: busy time by label, mean over ranks";
  } else if (comparison.timeSource == "host" && !hostA.empty() && !hostB.empty()) {
    comparison.parts = join(hostA, hostB);
    comparison.partSource = "host";
  }
  for (const Part &link : join(a.links, b.links))
    if (link.difference() != 0)
      comparison.links.push_back(link);
}

void compareLosses(const RunFiles &a, const RunFiles &b, Comparison &comparison) {
  for (const auto &[number, step] : a.steps) {
    const auto other = b.steps.find(number);
    if (other == b.steps.end() || !step.loss || !other->second.loss)
      continue;
    ++comparison.comparedLosses;
    const double own = *step.loss, its = *other->second.loss;
    comparison.largestLossDifference =
        std::max(comparison.largestLossDifference, relative(own, its));
    if (own != its && !comparison.firstLoss)
      comparison.firstLoss = Comparison::LossDifference{number, own, its};
  }
}

std::string printPart(const Part &part) {
  return absl::StrCat("{\"name\": ", quoteJson(part.name), ", \"a_ms\": ", printJsonNumber(part.a),
                      ", \"b_ms\": ", printJsonNumber(part.b),
                      ", \"difference_ms\": ", printJsonNumber(part.difference()), "}");
}

std::string printParts(const std::vector<Part> &parts) {
  std::string text = "[";
  for (const Part &part : parts)
    absl::StrAppend(&text, text == "[" ? "" : ", ", printPart(part));
  return text + "]";
}

// The difference with its sign.
std::string printDifference(const Part &part) {
  return absl::StrCat(part.difference() < 0 ? "" : "+", printFigure(part.difference()));
}

std::string describeStep(const Comparison &comparison) {
  const Part &step = *comparison.step;
  if (step.difference() == 0)
    return absl::StrCat("a step takes ", printFigure(step.a), " ms in both\n");
  std::string text = absl::StrFormat(
      "B's step is %s ms (%.3g %%) %s than A's\n", printFigure(std::fabs(step.difference())),
      100 * std::fabs(step.difference()) / step.a, step.difference() > 0 ? "longer" : "shorter");
  if (const Part *cause = comparison.cause()) {
    absl::StrAppendFormat(&text, "largest part: %s, %s ms", cause->name, printDifference(*cause));
    if (comparison.addsUp)
      absl::StrAppendFormat(&text, ", %.0f %% of the difference",
                            100 * cause->difference() / step.difference());
    text += '\n';
  }
  if (!comparison.links.empty()) {
    const Part &link = comparison.links.front();
    absl::StrAppendFormat(&text, "link whose busy time changes most: %s, %s ms to %s ms\n",
                          link.name, printFigure(link.a), printFigure(link.b));
  }
  return text;
}

std::string describeLosses(const Comparison &comparison) {
  if (comparison.comparedLosses == 0)
    return "no losses of the same steps\n";
  if (!comparison.firstLoss)
    return absl::StrFormat("losses are equal in all %d steps\n", comparison.comparedLosses);
  const Comparison::LossDifference &first = *comparison.firstLoss;
  return absl::StrFormat("losses differ from step %d: %.9g and %.9g, relative difference %.3g; "
                         "largest over %d steps %.3g\n",
                         first.step, first.a, first.b, relative(first.a, first.b),
                         comparison.comparedLosses, comparison.largestLossDifference);
}

} // namespace

// A cause must change in the direction of the step: a shorter part does not explain a longer step.
const Part *Comparison::cause() const {
  if (!step || step->difference() == 0)
    return nullptr;
  for (const Part &part : parts)
    if (part.difference() * step->difference() > 0)
      return &part;
  return nullptr;
}

absl::StatusOr<Comparison> compareRuns(const RunFiles &a, const RunFiles &b) {
  Comparison comparison;
  compareTimes(a, b, comparison);
  compareLosses(a, b, comparison);
  if (!comparison.step && comparison.comparedLosses == 0)
    return absl::InvalidArgumentError(
        "the two runs have neither times of the same kind nor losses of the same steps");
  return comparison;
}

std::string printComparison(const Comparison &comparison) {
  std::string text;
  if (comparison.step) {
    std::vector<std::vector<std::string>> rows = {
        {comparison.partSource.empty() ? "ms" : absl::StrCat("ms (", comparison.partSource, ")"),
         "A", "B", "B - A"}};
    const auto add = [&](const Part &part) {
      rows.push_back({part.name, printFigure(part.a), printFigure(part.b), printDifference(part)});
    };
    for (const Part &part : comparison.parts)
      add(part);
    add(*comparison.step);
    absl::StrAppend(&text, printTable(rows), "\n", describeStep(comparison));
  }
  return text + describeLosses(comparison);
}

std::string printComparisonJson(const Comparison &comparison) {
  std::string text = "{";
  if (comparison.step)
    absl::StrAppend(&text, "\"step\": ", printPart(*comparison.step),
                    ", \"time_source\": ", quoteJson(comparison.timeSource), ",\n ");
  absl::StrAppend(
      &text, "\"part_source\": ", quoteJson(comparison.partSource),
      ", \"adds_up\": ", comparison.addsUp ? "true" : "false",
      ",\n \"parts\": ", printParts(comparison.parts),
      ",\n \"links\": ", printParts(comparison.links),
      ",\n \"cause\": ", comparison.cause() ? quoteJson(comparison.cause()->name) : "null",
      ",\n \"losses\": {\"compared\": ", comparison.comparedLosses,
      ", \"largest_relative_difference\": ", printJsonNumber(comparison.largestLossDifference),
      ", \"first_difference\": ");
  if (comparison.firstLoss)
    absl::StrAppend(&text, "{\"step\": ", comparison.firstLoss->step,
                    ", \"a\": ", printJsonNumber(comparison.firstLoss->a),
                    ", \"b\": ", printJsonNumber(comparison.firstLoss->b), "}");
  else
    text += "null";
  return text + "}}\n";
}

} // namespace st
