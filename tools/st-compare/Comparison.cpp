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

void compareTimes(const RunFiles &a, const RunFiles &b, Comparison &made) {
  if (a.stepTime() && b.stepTime() && a.timeSource() == b.timeSource()) {
    made.step = Part{"step", *a.stepTime(), *b.stepTime()};
    made.timeSource = a.timeSource();
  }
  const bool isOfDevices = made.timeSource == "devices";
  const Times hostA = hostParts(a), hostB = hostParts(b);
  if (isOfDevices && !a.path.empty() && !b.path.empty()) {
    made.parts = join(a.path, b.path);
    made.partSource = "critical path";
    made.addsUp = true;
  } else if (isOfDevices && !a.timers.empty() && !b.timers.empty()) {
    made.parts = join(a.timers, b.timers);
    made.partSource = "timers of the last rank";
  } else if (!a.spans.empty() && !b.spans.empty()) {
    made.parts = join(a.spans, b.spans);
    made.partSource = "trace: busy time by label, mean over ranks";
  } else if (made.timeSource == "host" && !hostA.empty() && !hostB.empty()) {
    made.parts = join(hostA, hostB);
    made.partSource = "host";
  }
  for (const Part &link : join(a.links, b.links))
    if (link.difference() != 0)
      made.links.push_back(link);
}

void compareLosses(const RunFiles &a, const RunFiles &b, Comparison &made) {
  for (const auto &[number, step] : a.steps) {
    const auto other = b.steps.find(number);
    if (other == b.steps.end() || !step.loss || !other->second.loss)
      continue;
    ++made.comparedLosses;
    const double own = *step.loss, its = *other->second.loss;
    made.largestLossDifference = std::max(made.largestLossDifference, relative(own, its));
    if (own != its && !made.firstLoss)
      made.firstLoss = Comparison::LossDifference{number, own, its};
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

std::string describeStep(const Comparison &made) {
  const Part &step = *made.step;
  if (step.difference() == 0)
    return absl::StrCat("a step takes ", printFigure(step.a), " ms in both\n");
  std::string text = absl::StrFormat(
      "B's step is %s ms (%.3g %%) %s than A's\n", printFigure(std::fabs(step.difference())),
      100 * std::fabs(step.difference()) / step.a, step.difference() > 0 ? "longer" : "shorter");
  if (const Part *cause = made.cause()) {
    absl::StrAppendFormat(&text, "largest part: %s, %s ms", cause->name, printDifference(*cause));
    if (made.addsUp)
      absl::StrAppendFormat(&text, ", %.0f %% of the difference",
                            100 * cause->difference() / step.difference());
    text += '\n';
  }
  if (!made.links.empty()) {
    const Part &link = made.links.front();
    absl::StrAppendFormat(&text, "link whose busy time changes most: %s, %s ms to %s ms\n",
                          link.name, printFigure(link.a), printFigure(link.b));
  }
  return text;
}

std::string describeLosses(const Comparison &made) {
  if (made.comparedLosses == 0)
    return "no losses of the same steps\n";
  if (!made.firstLoss)
    return absl::StrFormat("losses are equal in all %d steps\n", made.comparedLosses);
  const Comparison::LossDifference &first = *made.firstLoss;
  return absl::StrFormat("losses differ from step %d: %.9g and %.9g, relative difference %.3g; "
                         "largest over %d steps %.3g\n",
                         first.step, first.a, first.b, relative(first.a, first.b),
                         made.comparedLosses, made.largestLossDifference);
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
  Comparison made;
  compareTimes(a, b, made);
  compareLosses(a, b, made);
  if (!made.step && made.comparedLosses == 0)
    return absl::InvalidArgumentError(
        "the two runs have neither times of the same kind nor losses of the same steps");
  return made;
}

std::string printComparison(const Comparison &made) {
  std::string text;
  if (made.step) {
    std::vector<std::vector<std::string>> rows = {
        {made.partSource.empty() ? "ms" : absl::StrCat("ms (", made.partSource, ")"), "A", "B",
         "B - A"}};
    const auto add = [&](const Part &part) {
      rows.push_back({part.name, printFigure(part.a), printFigure(part.b), printDifference(part)});
    };
    for (const Part &part : made.parts)
      add(part);
    add(*made.step);
    absl::StrAppend(&text, printTable(rows), "\n", describeStep(made));
  }
  return text + describeLosses(made);
}

std::string printComparisonJson(const Comparison &made) {
  std::string text = "{";
  if (made.step)
    absl::StrAppend(&text, "\"step\": ", printPart(*made.step),
                    ", \"time_source\": ", quoteJson(made.timeSource), ",\n ");
  absl::StrAppend(
      &text, "\"part_source\": ", quoteJson(made.partSource),
      ", \"adds_up\": ", made.addsUp ? "true" : "false", ",\n \"parts\": ", printParts(made.parts),
      ",\n \"links\": ", printParts(made.links),
      ",\n \"cause\": ", made.cause() ? quoteJson(made.cause()->name) : "null",
      ",\n \"losses\": {\"compared\": ", made.comparedLosses,
      ", \"largest_relative_difference\": ", printJsonNumber(made.largestLossDifference),
      ", \"first_difference\": ");
  if (made.firstLoss)
    absl::StrAppend(&text, "{\"step\": ", made.firstLoss->step,
                    ", \"a\": ", printJsonNumber(made.firstLoss->a),
                    ", \"b\": ", printJsonNumber(made.firstLoss->b), "}");
  else
    text += "null";
  return text + "}}\n";
}

} // namespace st
