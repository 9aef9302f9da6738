#include "lib/Report/Page.h"

#include "lib/Report/Advice.h"
#include "lib/Report/Charts.h"
#include "lib/Report/Html.h"
#include "lib/Report/Style.h"
#include "lib/Runtime/Report.h"
#include "lib/Support/Text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <map>

namespace st {
namespace {

using Rows = std::vector<std::vector<HtmlCell>>;

constexpr size_t kMaxLinks = 50, kMaxPieces = 40, kMaxAdvice = 6;

double ofStep(const StepFigures &figures, int64_t picoseconds) {
  return static_cast<double>(picoseconds) / static_cast<double>(figures.total);
}

std::string timeLegend() {
  std::string out = "<p class=\"legend\">";
  for (size_t c = 0; c < kTimeClasses; ++c)
    absl::StrAppend(&out, "<span class=\"key c", c, "\"></span>",
                    timeClassName(static_cast<TimeClass>(c)), " ");
  return out + "</p>\n";
}

int64_t pathTime(const StepFigures &figures, TimeClass timeClass) {
  int64_t sum = 0;
  for (const StepFigures::Piece &piece : figures.path)
    sum += piece.times[static_cast<size_t>(timeClass)];
  return sum;
}

std::string summary(const StepFigures &figures) {
  Rows rows = {{textCell("the step"), textCell("")}};
  auto add = [&](const std::string &name, const std::string &html) {
    rows.push_back({textCell(name), {html}});
  };
  add("time", absl::StrCat("<strong>", printMilliseconds(figures.total), " ms</strong>"));
  add("roofline lower bound",
      absl::StrCat(printMilliseconds(figures.lowerBound), " ms, ",
                   printShare(ofStep(figures, figures.lowerBound)), " of the step"));
  add("sum of all instructions",
      absl::StrCat(printMilliseconds(figures.serialSum), " ms, ",
                   printFigure(ofStep(figures, figures.serialSum), 1), " times the step"));
  double work = 0;
  for (TimeClass c : {TimeClass::Forward, TimeClass::Backward, TimeClass::Update, TimeClass::Other})
    work += shareOf(figures, c);
  add("engines of a device work (mean)", printShare(work));
  add("wait for collectives", printShare(shareOf(figures, TimeClass::Collective)));
  add("wait for transfers between stages", printShare(shareOf(figures, TimeClass::Transfer)));
  add("wait for other stages", printShare(shareOf(figures, TimeClass::Wait)));
  add("wait for launches of tasks", printShare(shareOf(figures, TimeClass::Launch)));
  add("fullest device", absl::StrCat(escapeHtml(figures.memory.name), ": ",
                                     printMiB(figures.memory.reserved * figures.memory.ranks),
                                     " of ", printMiB(figures.memoryBytes), " MiB"));
  if (!figures.links.empty())
    add("busiest link", absl::StrCat(escapeHtml(figures.links[0].name), ": busy ",
                                     printShare(ofStep(figures, figures.links[0].busy)), ", ",
                                     printMiB(figures.links[0].bytes), " MiB"));
  return absl::StrCat("<div id=\"summary\">", htmlTable(rows), "</div>\n");
}

std::string advice(const StepFigures &figures) {
  const std::vector<Advice> list = adviseOn(figures);
  std::string out = "<ol>\n";
  for (size_t i = 0; i < list.size() && i < kMaxAdvice; ++i) {
    const Advice &one = list[i];
    absl::StrAppend(&out, "<li><strong>",
                    one.gain > 0 ? absl::StrCat(one.isSimulated ? "" : "up to ",
                                                printShare(one.gain), " of the step")
                                 : "no figure",
                    "</strong> <span class=\"how\">",
                    one.isSimulated ? "simulated" : "by count or formula, not simulated",
                    "</span><br/>", escapeHtml(one.finding), " ", escapeHtml(one.change),
                    "</li>\n");
  }
  out += "</ol>\n";
  if (list.empty())
    out = "<p>No single part of a device, link or stage costs half a percent of the step or more."
          "</p>\n";
  Rows rows = {
      {textCell("if"), textCell("busy"), textCell("the step takes, ms"), textCell("less")}};
  for (const StepFigures::WhatIf &whatIf : figures.whatIfs)
    rows.push_back({textCell(whatIf.what), shareCell(whatIf.share),
                    whatIf.picoseconds ? timeCell(whatIf.picoseconds) : textCell("not tried"),
                    whatIf.picoseconds
                        ? textCell(printShare(1 - ofStep(figures, whatIf.picoseconds)))
                        : textCell("")});
  if (rows.size() > 1)
    absl::StrAppend(
        &out, "<h3>What if</h3>\n", htmlTable(rows),
        htmlNote("Each row times the same program on a machine with one improvement. "
                 "Busy: the fraction of the step in which the improved part works, on the "
                 "device that uses it most (for launches: on the critical path). Not "
                 "tried: the number of timings of large plans is limited. Below 0: the "
                 "earlier work delays other work."));
  return htmlSection("advice", "What to change first", out);
}

/// A row for each group, expandable to one for each device if these are known.
template <typename Fill>
std::string groupTables(const StepFigures &figures, const std::vector<HtmlCell> &header,
                        const Fill &fill) {
  auto table = [&](const std::vector<StepFigures::Row> &of) {
    Rows rows = {header};
    for (const StepFigures::Row &row : of)
      rows.push_back(fill(row));
    return htmlTable(rows);
  };
  return figures.devices.empty()
             ? table(figures.groups)
             : absl::StrCat(table(figures.groups), "<details><summary>Each device</summary>\n",
                            table(figures.devices), "</details>\n");
}

std::string stages(const StepFigures &figures) {
  std::vector<HtmlCell> header = {textCell("ms a device"), textCell("stages"), textCell("devices")};
  for (size_t c = 0; c < kTimeClasses; ++c)
    header.push_back(textCell(timeClassName(static_cast<TimeClass>(c))));
  auto fill = [&](const StepFigures::Row &row) {
    std::vector<HtmlCell> cells = {textCell(row.name), textCell(absl::StrJoin(row.stages, ", ")),
                                   textCell(absl::StrCat(row.ranks))};
    for (int64_t time : row.times)
      cells.push_back(timeCell(time / row.ranks));
    return cells;
  };
  std::string out =
      absl::StrCat(timeLegend(), classChart(figures), groupTables(figures, header, fill));
  absl::StrAppend(&out,
                  htmlNote("Every instant of a device has one class. While its cores or DTEs "
                           "work, the class is that of the work: the forward pass, the backward "
                           "pass (with gradients of weights), the update, or work that is done "
                           "once per step. Otherwise the class is what the device waits for: a "
                           "collective of its stage, a message that another stage has sent "
                           "(transfers), a message that is not sent yet or the end of the step "
                           "(waiting), or the launch of its next task. The classes add up to the "
                           "step."));
  return htmlSection("stages", "Where the time goes", out);
}

std::string timeline(const StepFigures &figures) {
  return htmlSection(
      "timeline", "Timeline",
      absl::StrCat(timeLegend(), timelineChart(figures),
                   htmlNote("The first device of each group. The colour of a column is that of "
                            "the class with most time in it. The line below a row shows "
                            "when the critical path is on this device.")));
}

std::string engines(const StepFigures &figures) {
  struct Column {
    const char *name;
    double EngineShares::*share;
  };
  constexpr Column columns[] = {{"matrix engines", &EngineShares::matrix},
                                {"vector engines", &EngineShares::vector},
                                {"DTEs", &EngineShares::dte},
                                {"sending", &EngineShares::send},
                                {"receiving", &EngineShares::receive},
                                {"L2", &EngineShares::l2},
                                {"L3", &EngineShares::l3},
                                {"host link", &EngineShares::host}};
  std::vector<HtmlCell> header = {textCell("busy")};
  for (const Column &column : columns)
    header.push_back(textCell(column.name));
  auto fill = [&](const StepFigures::Row &row) {
    std::vector<HtmlCell> cells = {textCell(row.name)};
    for (const Column &column : columns)
      cells.push_back(shareCell(row.engines.*column.share));
    return cells;
  };
  std::string out = groupTables(figures, header, fill);
  return htmlSection(
      "engines", "Engines",
      out + htmlNote("The fraction of the step in which an engine works. For matrix and vector "
                     "engines it is the mean over the cores of a device, for DTEs the mean "
                     "over its queues; a DTE that waits for memory counts as working. For "
                     "L2 and L3 it is the time that the moved bytes take at the rate of the "
                     "memory. The devices of a chip share its L3 and its link to the host."));
}

std::string memory(const StepFigures &figures) {
  const StepFigures::MemoryChart &chart = figures.memory;
  std::string out;
  if (chart.steps.empty()) {
    out = htmlNote("The memory over time is unknown for a program compiled from code "
                   "(--compile-from=dtu).");
  } else {
    out = absl::StrCat("<h3>", escapeHtml(chart.name),
                       chart.ranks > 1 ? absl::StrCat(", one of its ", chart.ranks, " ranks") : "",
                       "</h3>\n<p class=\"legend\">");
    for (size_t c = 0; c < chart.classes.size(); ++c)
      absl::StrAppend(&out, "<span class=\"key m", c, "\"></span>", escapeHtml(chart.classes[c]),
                      " ");
    absl::StrAppend(
        &out, "</p>\n", memoryChart(figures),
        htmlNote("The bytes of values that are still needed; the maximum during each task. The "
                 "dashed line is the arena, in which each value has a fixed address for "
                 "the whole step."));
  }
  Rows rows = {{textCell("MiB of a device"), textCell("devices")}};
  if (!figures.groups.empty())
    for (const auto &entry : figures.groups[0].memory)
      rows[0].push_back(textCell(entry.first));
  rows[0].push_back(textCell("peak"));
  rows[0].push_back(textCell("of the device's memory"));
  const bool usesHost = std::any_of(figures.groups.begin(), figures.groups.end(),
                                    [](const StepFigures::Row &row) { return row.hostBytes > 0; });
  if (usesHost)
    rows[0].push_back(textCell("on the host"));
  auto fill = [&](const StepFigures::Row &row) {
    std::vector<HtmlCell> cells = {textCell(row.name), textCell(absl::StrCat(row.ranks))};
    for (const auto &entry : row.memory)
      cells.push_back(bytesCell(entry.second));
    cells.push_back(bytesCell(row.arenaBytes));
    cells.push_back(
        shareCell(static_cast<double>(row.arenaBytes) / static_cast<double>(figures.memoryBytes)));
    if (usesHost)
      cells.push_back(bytesCell(row.hostBytes));
    return cells;
  };
  for (const StepFigures::Row &row : figures.groups)
    rows.push_back(fill(row));
  absl::StrAppend(&out, htmlTable(rows));
  if (!figures.devices.empty()) {
    Rows devices = {rows[0]};
    for (const StepFigures::Row &row : figures.devices)
      devices.push_back(fill(row));
    absl::StrAppend(&out, "<details><summary>Each device</summary>\n", htmlTable(devices),
                    "</details>\n");
  }
  return htmlSection("memory", "Memory", out);
}

std::string links(const StepFigures &figures) {
  if (figures.links.empty())
    return htmlSection("links", "Links", "<p>The step sends no messages.</p>\n");
  struct Kind {
    int64_t count = 0, bytes = 0, busiest = 0;
  };
  std::map<std::string, Kind> kinds;
  for (const StepFigures::Link &link : figures.links) {
    Kind &kind = kinds[link.kind];
    ++kind.count;
    kind.bytes += link.bytes;
    kind.busiest = std::max(kind.busiest, link.busy);
  }
  Rows rows = {{textCell("kind"), textCell("links"), textCell("MiB"), textCell("the busiest")}};
  for (const auto &[name, kind] : kinds)
    rows.push_back({textCell(name), textCell(absl::StrCat(kind.count)), bytesCell(kind.bytes),
                    shareCell(ofStep(figures, kind.busiest))});
  std::string out = htmlTable(rows);
  Rows each = {{textCell("link"), textCell("MiB"), textCell("busy, ms"), textCell("of the step"),
                textCell("mostly")}};
  for (size_t i = 0; i < figures.links.size() && i < kMaxLinks; ++i) {
    const StepFigures::Link &link = figures.links[i];
    each.push_back({textCell(link.name), bytesCell(link.bytes), timeCell(link.busy),
                    shareCell(ofStep(figures, link.busy)),
                    textCell(link.mostly.empty()
                                 ? ""
                                 : absl::StrCat(link.mostly, ": ", printShare(link.mostlyShare)))});
  }
  absl::StrAppend(&out, htmlTable(each));
  if (figures.links.size() > kMaxLinks)
    absl::StrAppend(&out, htmlNote(absl::StrCat("The busiest ", kMaxLinks, " of ",
                                                figures.links.size(), " links.")));
  return htmlSection("links", "Links", out);
}

std::string criticalPath(const StepFigures &figures) {
  Rows sums = {{textCell("on the path"), textCell("ms"), textCell("of the step")}};
  for (size_t c = 0; c < kTimeClasses; ++c)
    if (const int64_t time = pathTime(figures, static_cast<TimeClass>(c)))
      sums.push_back({textCell(timeClassName(static_cast<TimeClass>(c))), timeCell(time),
                      shareCell(ofStep(figures, time))});
  std::vector<const StepFigures::Piece *> longest;
  for (const StepFigures::Piece &piece : figures.path)
    longest.push_back(&piece);
  auto length = [](const StepFigures::Piece &piece) { return piece.end - piece.start; };
  std::stable_sort(longest.begin(), longest.end(),
                   [&](const StepFigures::Piece *a, const StepFigures::Piece *b) {
                     return length(*a) > length(*b);
                   });
  Rows rows = {{textCell("piece"), textCell("group"), textCell("from, ms"), textCell("ms"),
                textCell("of the step"), textCell("composed of")}};
  int64_t rest = 0;
  for (size_t i = 0; i < longest.size(); ++i) {
    const StepFigures::Piece &piece = *longest[i];
    if (i >= kMaxPieces) {
      rest += length(piece);
      continue;
    }
    std::vector<std::pair<int64_t, std::string>> parts;
    for (size_t c = 0; c < kTimeClasses; ++c)
      if (piece.times[c] > 0)
        parts.emplace_back(-piece.times[c], absl::StrCat(timeClassName(static_cast<TimeClass>(c)),
                                                         " ", printShortMs(piece.times[c])));
    std::sort(parts.begin(), parts.end());
    rows.push_back({textCell(piece.task), textCell(piece.group), timeCell(piece.start),
                    timeCell(length(piece)), shareCell(ofStep(figures, length(piece))),
                    textCell(absl::StrJoin(parts, ", ", [](std::string *text, const auto &part) {
                      text->append(part.second);
                    }))});
  }
  if (rest > 0)
    rows.push_back({textCell(absl::StrCat(longest.size() - kMaxPieces, " shorter pieces")),
                    textCell(""), textCell(""), timeCell(rest), shareCell(ofStep(figures, rest)),
                    textCell("")});
  return htmlSection(
      "path", "Critical path",
      absl::StrCat(htmlTable(sums), htmlTable(rows),
                   htmlNote("The path goes from the end of the step back to its start. It "
                            "follows the work of the device that ended last. Where that "
                            "device waited for a late message, the path continues with the "
                            "work of the sender. The pieces have no gaps between them, so "
                            "they add up to the step. Work outside the path can take longer "
                            "without delaying the step.")));
}

/// The share of a step with only its matrix products, at a rate in FLOP/s.
std::string productShare(const StepFigures &figures, double flops, double rate) {
  const double picoseconds = flops / rate * 1e12;
  return absl::StrCat(printShare(picoseconds / static_cast<double>(figures.total)),
                      " of the step at ", absl::StrFormat("%.0f", rate / 1e12), " TFLOP/s");
}

std::string kernels(const StepFigures &figures) {
  struct Sum {
    int64_t launches = 0, picoseconds = 0;
    double flops = 0, bytes = 0;
  };
  std::map<std::string, Sum> kinds;
  Sum all;
  auto add = [](Sum &sum, const StepFigures::Kernel &kernel) {
    sum.launches += kernel.launches;
    sum.picoseconds += kernel.picoseconds;
    sum.flops += kernel.flops;
    sum.bytes += kernel.bytes;
  };
  for (const StepFigures::Kernel &kernel : figures.kernels) {
    add(kinds[kernel.kind], kernel);
    add(all, kernel);
  }
  auto row = [&](const std::string &name, const auto &of) {
    return std::vector<HtmlCell>{textCell(name),
                                 textCell(absl::StrCat(of.launches)),
                                 timeCell(of.picoseconds),
                                 shareCell(ofStep(figures, of.picoseconds)),
                                 textCell(printFigure(of.flops / 1e12, 3)),
                                 textCell(printFigure(of.bytes / 1e6, 1))};
  };
  const std::vector<HtmlCell> head = {textCell("kernels"), textCell("launches"),
                                      textCell("ms"),      textCell("of the step"),
                                      textCell("TFLOP"),   textCell("MB")};
  Rows sums = {head}, rows = {head};
  for (const auto &[name, sum] : kinds)
    sums.push_back(row(name, sum));
  for (const StepFigures::Kernel &kernel : figures.kernels)
    rows.push_back(row(kernel.name, kernel));
  return htmlSection(
      "kernels", "Kernels",
      absl::StrCat(
          "<p>Products take ", productShare(figures, all.flops, figures.peakFlops),
          " (16-bit peak of the data sheet), ",
          productShare(figures, all.flops, figures.reachedFlops),
          " (reachable by a large product).</p>\n", htmlTable(sums),
          "<details><summary>Each kernel</summary>\n", htmlTable(rows), "</details>\n",
          htmlNote("For the device with the most work. MB are the bytes that a kernel reads "
                   "and writes.")));
}

} // namespace

std::string printPage(const StepFigures &figures) {
  const std::string title = absl::StrCat(
      "A training step", figures.name.empty() ? "" : absl::StrCat(" of ", figures.name));
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
      escapeHtml(title), "</title>\n<style>\n", kPageStyle,
      "</style>\n</head>\n<body>\n<main>\n<h1>", escapeHtml(title), "</h1>\n<p>",
      escapeHtml(figures.summary), ", on ", escapeHtml(figures.device),
      figures.basis.empty()
          ? ". All times are simulated.</p>\n"
          : absl::StrCat(". All times are predicted from ", escapeHtml(figures.basis),
                         "; the step did not run.</p>\n"),
      summary(figures), advice(figures), timeline(figures), stages(figures), memory(figures),
      figures.basis.empty() ? absl::StrCat(engines(figures), links(figures), criticalPath(figures))
                            : kernels(figures),
      "</main>\n<script type=\"application/json\" id=\"figures\">\n", printFigures(figures),
      "\n</script>\n</body>\n</html>\n");
}

} // namespace st
