#include "lib/Planner/Answers/Answers.h"

#include "lib/Support/Text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace st {
namespace {

constexpr double kSecondsPerDay = 86400, kFlopsPerParameter = 8;

/// "tp=4 pp=8 ...: 1234 ms a step, 25.1 GiB a device, 5678 tokens/s".
std::string brief(const proto::PlanStep &step) {
  return absl::StrFormat("%s: %s ms a step, %.1f GiB a device (%s), %s tokens/s",
                         step.layout().text(), printFigure(step.predicted_ms()),
                         step.memory_mib() / 1024, step.fit(),
                         printFigure(step.tokens_per_second()));
}

std::string sizeText(const proto::PlanModelSize &size) {
  return absl::StrFormat("%s%.4g B parameters, %d layers of hidden size %d with %d heads",
                         size.name().empty() ? "" : absl::StrCat(size.name(), ": "),
                         size.parameters() * 1e-9, size.layers(), size.hidden(), size.heads());
}

} // namespace

proto::PlanTraining describeTraining(const proto::PlanStep &step, double tokens,
                                     double assumedTflops) {
  proto::PlanTraining training;
  const double devices = step.layout().devices(), seconds = tokens / step.tokens_per_second();
  const double flops = kFlopsPerParameter * tokens * step.parameters();
  training.set_tokens(tokens);
  training.set_days(seconds / kSecondsPerDay);
  training.set_device_hours(seconds / 3600 * devices);
  training.set_closed_form_tflops(flops / devices / seconds * 1e-12);
  if (assumedTflops > 0) {
    training.set_assumed_tflops(assumedTflops);
    training.set_assumed_days(flops / (devices * assumedTflops * 1e12) / kSecondsPerDay);
    training.set_ratio(training.days() / training.assumed_days());
  }
  return training;
}

void completeScale(proto::PlanScale &scale) {
  std::map<std::string, double> first, fastest;
  for (proto::PlanScaleRow &row : *scale.mutable_rows()) {
    if (!row.fits())
      continue;
    const double rate = row.plan().tokens_per_second() / row.nodes();
    const double base = first.emplace(row.scaling(), rate).first->second;
    row.set_efficiency(rate / base);
    double &best = fastest[row.scaling()];
    row.set_on_front(row.plan().tokens_per_second() > best);
    best = std::max(best, row.plan().tokens_per_second());
  }
}

std::string printTraining(const proto::PlanTraining &training, int devices, double parameters) {
  std::string text = absl::StrFormat(
      "%.4g tokens take %s days, %s device-hours\n"
      "closed form      8 T P / (n X) = 8 x %.4g x %.4g / (%d x X): the prediction "
      "is its X = %.4g TFLOP/s\n",
      training.tokens(), printFigure(training.days()), printFigure(training.device_hours()),
      training.tokens(), parameters, devices, training.closed_form_tflops());
  if (training.assumed_tflops() > 0)
    absl::StrAppendFormat(
        &text,
        "                 with X = %.4g TFLOP/s, %.4g days: the prediction is %.3g times as long\n",
        training.assumed_tflops(), training.assumed_days(), training.ratio());
  return text;
}

std::string printLargestModels(const proto::PlanLargestModels &answer) {
  std::string text;
  for (const proto::PlanLargestModel &scale : answer.scales()) {
    absl::StrAppendFormat(&text, "%s, %d devices of %s, global batch %d\n", scale.scale(),
                          scale.devices(), scale.cluster(), scale.global_batch());
    if (scale.largest().fits())
      absl::StrAppendFormat(&text, "  largest that fits   %s\n                      %s\n",
                            sizeText(scale.largest()), brief(scale.largest().plan()));
    else
      absl::StrAppend(&text, "  none fits\n");
    if (scale.next().layers() > 0)
      absl::StrAppendFormat(&text, "  next, does not fit  %s\n                      %s\n",
                            sizeText(scale.next()), scale.next().reason());
  }
  return text;
}

std::string printFewestDevices(const proto::PlanFewestDevices &answer) {
  std::string text = absl::StrFormat("%d %s of %s, %d devices, global batch %d\n%s\n",
                                     answer.nodes(), answer.nodes() == 1 ? "node" : "nodes",
                                     answer.cluster(), answer.plan().layout().devices(),
                                     answer.plan().layout().global_batch(), brief(answer.plan()));
  if (!answer.one_node_less().empty())
    absl::StrAppendFormat(&text, "on %d %s: %s\n", answer.nodes() - 1,
                          answer.nodes() == 2 ? "node" : "nodes", answer.one_node_less());
  if (answer.training().tokens() > 0)
    absl::StrAppend(&text, printTraining(answer.training(), answer.plan().layout().devices(),
                                         answer.plan().parameters()));
  return text;
}

std::string printScale(const proto::PlanScale &scale) {
  const bool hasDays =
      std::any_of(scale.rows().begin(), scale.rows().end(),
                  [](const proto::PlanScaleRow &row) { return row.training().tokens() > 0; });
  std::string text = absl::StrFormat("%6s %8s %7s %12s %11s %9s %11s %s  %s\n", "nodes", "devices",
                                     "batch", "ms a step", "tokens/s", "TFLOP/s", "per node",
                                     hasDays ? "     days  device-hours" : "", "layout");
  std::string scaling;
  for (const proto::PlanScaleRow &row : scale.rows()) {
    if (row.scaling() != scaling) {
      scaling = row.scaling();
      absl::StrAppend(&text,
                      scaling == "weak" ? "the batch grows with the nodes\n" : "the same batch\n");
    }
    const proto::PlanStep &plan = row.plan();
    absl::StrAppendFormat(&text, "%6d %8d %7d ", row.nodes(), plan.layout().devices(),
                          plan.layout().global_batch());
    if (!row.fits()) {
      absl::StrAppend(&text, row.reason(), "\n");
      continue;
    }
    absl::StrAppendFormat(&text, "%12s %11s %9.1f %9.1f %% ", printFigure(plan.predicted_ms()),
                          printFigure(plan.tokens_per_second()), plan.tflops_per_device(),
                          row.efficiency() * 100);
    if (hasDays)
      absl::StrAppendFormat(&text, "%s%9s %13s", row.on_front() ? "*" : " ",
                            printFigure(row.training().days()),
                            printFigure(row.training().device_hours()));
    absl::StrAppend(&text, "  ", plan.layout().text(), "\n");
  }
  if (hasDays)
    absl::StrAppend(&text, "* on the front of nodes against days: fewer nodes take longer\n");
  return text;
}

std::string printPhases(const proto::PlanLint &lint) {
  if (lint.phases().empty())
    return lint.no_prediction().empty()
               ? ""
               : absl::StrCat("no prediction: ", lint.no_prediction(), "\n");
  std::string text = absl::StrFormat("\n%-38s %10s %10s %8s\n", "timer of the last rank (ms)",
                                     "log", "predicted", "ratio");
  std::vector<const proto::PlanLogPhase *> off;
  for (const proto::PlanLogPhase &phase : lint.phases()) {
    absl::StrAppendFormat(
        &text, "%-38s %10s %10s %8s\n", phase.name(), printFigure(phase.log(), 2),
        printFigure(phase.predicted(), 2),
        phase.predicted() > 0 ? absl::StrFormat("%.2f", phase.log() / phase.predicted()) : "");
    if (phase.is_off())
      off.push_back(&phase);
  }
  std::sort(off.begin(), off.end(), [](const auto *a, const auto *b) {
    return std::abs(a->log() - a->predicted()) > std::abs(b->log() - b->predicted());
  });
  absl::StrAppend(&text, off.empty() ? "\nno phase is off\n" : "\n");
  for (const proto::PlanLogPhase *phase : off)
    absl::StrAppendFormat(&text, "off: %s takes %s ms, %s are predicted\n", phase->name(),
                          printFigure(phase->log()), printFigure(phase->predicted()));
  return text;
}

std::string printWhatIf(const proto::PlanWhatIf &answer) {
  auto line = [](const std::string &what, bool fits, const proto::PlanStep &step) {
    return absl::StrFormat("%-24s %s\n", what, fits ? brief(step) : "no layout fits");
  };
  std::string text = absl::StrCat(line("as it is", answer.fits_before(), answer.before()),
                                  line(answer.changes(), answer.fits_after(), answer.after()));
  if (answer.fits_before() && answer.fits_after())
    absl::StrAppendFormat(&text, "%-24s %.3g times as fast\n", "",
                          answer.before().predicted_ms() / answer.after().predicted_ms());
  return text;
}

} // namespace st
