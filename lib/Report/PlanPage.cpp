#include "lib/Report/PlanPage.h"

#include "lib/Report/Charts.h"
#include "lib/Report/Html.h"
#include "lib/Report/PlanCharts.h"
#include "lib/Report/PlanFigures.h"
#include "lib/Report/Style.h"
#include "lib/Support/Text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <vector>

namespace st {
namespace {

using Rows = std::vector<std::vector<HtmlCell>>;

/// The number of listed layouts for each outcome.
constexpr size_t kMaxLayouts = 40;

HtmlCell msCell(double ms) { return textCell(printFigure(ms, 2)); }
HtmlCell gibCell(double mib) { return textCell(printFigure(mib / 1024, 2)); }

std::string key(const std::string &style, const std::string &name) {
  return absl::StrCat("<span class=\"key ", style, "\"></span>", name, " ");
}

std::string summary(const proto::PlanReport &report) {
  const proto::PlanStep &best = report.best();
  Rows rows = {{textCell("the plan"), textCell("")}};
  auto add = [&](const std::string &name, const std::string &text) {
    rows.push_back({textCell(name), textCell(text)});
  };
  rows.push_back({textCell("layout"),
                  {absl::StrCat("<strong>", escapeHtml(best.layout().text()), "</strong>")}});
  add("devices", absl::StrFormat("%d, global batch %d", best.layout().devices(),
                                 best.layout().global_batch()));
  add("parameters", absl::StrFormat("%.0f", best.parameters()));
  add("a step", absl::StrCat(printFigure(best.predicted_ms()), " ms, ",
                             printFigure(best.ms_per_sample()), " ms a sample"));
  add("roofline lower bound", absl::StrCat(printFigure(best.bound_ms()), " ms"));
  add("throughput", absl::StrCat(printFigure(best.samples_per_second()), " samples/s, ",
                                 printFigure(best.tokens_per_second()), " tokens/s"));
  add("rate of a device",
      absl::StrFormat(
          "%.4g TFLOP/s, %.1f %% of peak: products of the model, without recomputation; "
          "%.4g TFLOP/s with it",
          best.tflops_per_device(), best.percent_of_peak(), best.tflops_with_recomputation()));
  add("rate of all devices", absl::StrFormat("%.4g PFLOP/s", best.petaflops()));
  add("memory of a device",
      absl::StrFormat("%.1f to %.1f of %.1f GiB: %s", best.least_memory_mib() / 1024,
                      best.memory_mib() / 1024, report.memory_limit_mib() / 1024, best.fit()));
  if (!best.change_first().empty())
    add("change first", best.change_first());
  if (report.training().tokens() > 0)
    add(absl::StrFormat("%.4g tokens", report.training().tokens()),
        absl::StrFormat("%.4g days, %.4g device-hours", report.training().days(),
                        report.training().device_hours()));
  return absl::StrCat("<div id=\"summary\">", htmlTable(rows), "</div>\n");
}

std::string front(const proto::PlanReport &report) {
  if (report.candidates().empty())
    return "";
  Rows rows = {{textCell("ms a step"), textCell("TFLOP/s"), textCell("GiB"), textCell("layout")}};
  for (const proto::PlanStep &step : report.front())
    rows.push_back({msCell(step.predicted_ms()),
                    textCell(absl::StrFormat("%.1f", step.tflops_per_device())),
                    gibCell(step.memory_mib()), textCell(step.layout().text())});
  std::string out = absl::StrCat(
      "<p class=\"legend\">", key("c1", "on the front"), key("slower", "fits"),
      key("full", "does not fit"), "</p>\n", frontChart(report),
      htmlNote(absl::StrFormat(
          "Time of a step against memory of its fullest device. The dashed line is the memory of a "
          "device. %d layouts, %d composed; no layout is faster than %.4g ms (gap %.1f %%).",
          report.layouts(), report.composed(), report.bound_ms(), report.gap() * 100)));
  if (const int hidden = hiddenLayouts(report))
    absl::StrAppend(
        &out, htmlNote(absl::StrCat(
                  hidden, " composed layouts take more time or memory than the chart shows.")));
  return htmlSection("front", "Time against memory", out + htmlTable(rows));
}

std::string timeLegend() {
  std::string out = "<p class=\"legend\">";
  for (size_t c = 0; c < kTimeClasses; ++c)
    if (static_cast<TimeClass>(c) != TimeClass::Launch)
      out += key(absl::StrCat("c", c), timeClassName(static_cast<TimeClass>(c)));
  return out + "</p>\n";
}

std::string time(const proto::PlanReport &report, const StepFigures &figures) {
  Rows rows = {{textCell("timer (ms)"), textCell("min"), textCell("median"), textCell("max"),
                textCell("last rank")}};
  for (const proto::PlanTimer &timer : report.best().timers())
    if (timer.most_ms() > 0)
      rows.push_back({textCell(timer.name()), msCell(timer.least_ms()), msCell(timer.median_ms()),
                      msCell(timer.most_ms()), msCell(timer.last_rank_ms())});
  return absl::StrCat(
      htmlSection(
          "timeline", "Timeline",
          absl::StrCat(
              timeLegend(), timelineChart(figures),
              htmlNote(
                  "One device of each group of the pipeline. After the last micro-batch come the "
                  "reductions over replicas and between stages, and the update."))),
      htmlSection(
          "time", "Where the time goes",
          absl::StrCat(timeLegend(), classChart(figures), htmlTable(rows),
                       htmlNote("Megatron-LM's timers, over the ranks of the pipeline. They add "
                                "up to the step, without optimizer-*, which are parts of "
                                "optimizer. A wait counts in the timer that runs during it."))));
}

std::string memory(const proto::PlanReport &report) {
  const proto::PlanStep &best = report.best();
  Rows rows = {{textCell("MiB of a device")}};
  for (const proto::PlanMemory &memory : best.memory())
    rows[0].push_back(textCell(memory.name()));
  rows[0].push_back(textCell("sum"));
  for (int g = 0; g < best.timeline_size(); ++g) {
    std::vector<HtmlCell> cells = {textCell(absl::StrCat("group ", g))};
    double sum = 0;
    for (const proto::PlanMemory &memory : best.timeline(g).memory()) {
      cells.push_back(textCell(printFigure(memory.mib(), 0)));
      sum += memory.mib();
    }
    cells.push_back(textCell(printFigure(sum, 0)));
    rows.push_back(std::move(cells));
  }
  return htmlSection("memory", "Memory",
                     absl::StrCat(memoryLegend(best), memoryBars(best, report.memory_limit_mib()),
                                  htmlNote("The dashed line is the memory of a device."),
                                  htmlTable(rows)));
}

/// A table of the layouts for each outcome, the nearest to the best first.
std::string layouts(const proto::PlanReport &report) {
  if (report.candidates().empty())
    return "";
  struct Fate {
    const char *name, *title;
  };
  constexpr Fate fates[] = {{"best", "The best"},
                            {"on the front", "On the front: slower, with less memory"},
                            {"slower", "Slower than one with as little memory"},
                            {"bounded", "Not composed: their lower bounds are worse than the best"},
                            {"does not fit", "Do not fit"},
                            {"cannot run", "Cannot run"}};
  std::string out;
  for (const Fate &fate : fates) {
    std::vector<const proto::PlanCandidate *> found;
    for (const proto::PlanCandidate &candidate : report.candidates())
      if (candidate.fate() == fate.name)
        found.push_back(&candidate);
    if (found.empty())
      continue;
    std::stable_sort(found.begin(), found.end(), [](const auto *a, const auto *b) {
      return a->predicted_ms() < b->predicted_ms();
    });
    Rows rows = {{textCell("layout"), textCell("ms"), textCell("GiB"), textCell("why")}};
    for (size_t i = 0; i < found.size() && i < kMaxLayouts; ++i) {
      const bool isComposed = found[i]->predicted_ms() > 0;
      rows.push_back({textCell(found[i]->layout().text()),
                      isComposed ? msCell(found[i]->predicted_ms()) : textCell(""),
                      isComposed ? gibCell(found[i]->memory_mib()) : textCell(""),
                      textCell(found[i]->reason())});
    }
    const bool isOpen =
        std::string(fate.name) == "best" || std::string(fate.name) == "on the front";
    absl::StrAppend(&out, "<details", isOpen ? " open=\"open\"" : "", "><summary>", fate.title,
                    " (", found.size(),
                    found.size() > kMaxLayouts ? absl::StrCat(", the first ", kMaxLayouts) : "",
                    ")</summary>\n", htmlTable(rows), "</details>\n");
  }
  return htmlSection("layouts", "Layouts and why they lost", out);
}

/// JSON that cannot end the surrounding script element.
std::string planJson(const proto::PlanStep &best) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(best, &text, options).ok())
    return "{}";
  return absl::StrReplaceAll(text, {{"<", "\\u003c"}, {"&", "\\u0026"}});
}

} // namespace

std::string printPlanPage(const proto::PlanReport &report) {
  const std::string title = absl::StrCat("A plan of ", report.model());
  const StepFigures figures = figuresOfPlan(report.best());
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
      escapeHtml(title), "</title>\n<style>\n", kPageStyle,
      "</style>\n</head>\n<body>\n<main>\n<h1>", escapeHtml(title), "</h1>\n<p>",
      escapeHtml(absl::StrFormat("%s, sequence %d, on %s as %s runs it", report.precision(),
                                 report.sequence(), report.cluster(), report.profile())),
      ". All times are predicted.</p>\n", summary(report), front(report), time(report, figures),
      memory(report), layouts(report), "</main>\n<script type=\"application/json\" id=\"plan\">\n",
      planJson(report.best()), "\n</script>\n</body>\n</html>\n");
}

} // namespace st
