#include "lib/Report/PlanCharts.h"

#include "lib/Report/Html.h"
#include "lib/Report/Svg.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>

namespace st {
namespace {

/// Range of the picture: multiples of the best step's time and of a device's memory.
constexpr double kMaxTimes = 4, kMaxMemories = 1.3;
constexpr double kHeight = 320, kDot = 2.2;

double maxMs(const proto::PlanReport &report) { return kMaxTimes * report.best().predicted_ms(); }

double maxMib(const proto::PlanReport &report) { return kMaxMemories * report.memory_limit_mib(); }

bool isComposed(const proto::PlanCandidate &candidate) { return candidate.predicted_ms() > 0; }

/// Lines across the drawing with GiB at their left.
std::string memoryAxis(double mib, double height) {
  std::string out;
  const double maximum = mib / 1024, step = niceStep(maximum);
  for (int i = 0; i * step < maximum; ++i) {
    const double y = height * (1 - i * step / maximum);
    absl::StrAppend(&out, "<line class=\"grid\" x1=\"", number(kLeft), "\" x2=\"",
                    number(kLeft + kWidth), "\" y1=\"", number(y), "\" y2=\"", number(y),
                    "\"/><text x=\"", number(kLeft - 8), "\" y=\"", number(y + 4),
                    "\" text-anchor=\"end\">", absl::StrFormat("%g GiB", i * step), "</text>\n");
  }
  return out;
}

} // namespace

int hiddenLayouts(const proto::PlanReport &report) {
  const double ms = maxMs(report), mib = maxMib(report);
  return static_cast<int>(std::count_if(report.candidates().begin(), report.candidates().end(),
                                        [&](const proto::PlanCandidate &candidate) {
                                          return isComposed(candidate) &&
                                                 (candidate.predicted_ms() > ms ||
                                                  candidate.memory_mib() > mib);
                                        }));
}

std::string frontChart(const proto::PlanReport &report) {
  const double ms = maxMs(report), mib = maxMib(report);
  auto xOf = [&](double time) { return kLeft + kWidth * time / ms; };
  auto yOf = [&](double memory) { return kHeight * (1 - memory / mib); };
  std::string out = beginPicture(kHeight + kAxis, "Time of a step against memory of a device");
  absl::StrAppend(&out, timeAxis(static_cast<int64_t>(ms * 1e9), 0, kHeight),
                  memoryAxis(mib, kHeight));
  std::string fits, full;
  for (const proto::PlanCandidate &candidate : report.candidates())
    if (isComposed(candidate) && candidate.predicted_ms() <= ms && candidate.memory_mib() <= mib)
      (candidate.fate() == "does not fit" ? full : fits) +=
          box(xOf(candidate.predicted_ms()) - kDot, yOf(candidate.memory_mib()) - kDot, 2 * kDot,
              2 * kDot);
  absl::StrAppend(&out, "<path class=\"slower\" d=\"", fits, "\"/><path class=\"full\" d=\"", full,
                  "\"/>\n");
  std::string line, dots;
  for (const proto::PlanStep &step : report.front()) {
    if (step.predicted_ms() > ms)
      break;
    const std::string x = number(xOf(step.predicted_ms())), y = number(yOf(step.memory_mib()));
    absl::StrAppend(&line, line.empty() ? "M" : "L", x, " ", y);
    absl::StrAppend(
        &dots, "<circle class=\"c1\" cx=\"", x, "\" cy=\"", y, "\" r=\"4\"><title>",
        escapeHtml(step.layout().text()),
        absl::StrFormat(": %.4g ms, %.1f GiB", step.predicted_ms(), step.memory_mib() / 1024),
        "</title></circle>\n");
  }
  absl::StrAppend(&out, "<path class=\"front\" d=\"", line, "\"/>\n", dots);
  const std::string limit = number(yOf(report.memory_limit_mib()));
  absl::StrAppend(&out, "<line class=\"limit\" x1=\"", number(kLeft), "\" x2=\"",
                  number(kLeft + kWidth), "\" y1=\"", limit, "\" y2=\"", limit, "\"/>");
  return out + "</svg>\n";
}

std::string memoryLegend(const proto::PlanStep &step) {
  std::string out = "<p class=\"legend\">";
  for (int i = 0; i < step.memory_size(); ++i)
    absl::StrAppend(&out, "<span class=\"key m", i, "\"></span>", escapeHtml(step.memory(i).name()),
                    " ");
  return out + "</p>\n";
}

std::string memoryBars(const proto::PlanStep &step, double limitMib) {
  constexpr int kFewGroups = 16;
  const double row = step.timeline_size() <= kFewGroups ? 26 : 14, bar = row - 5;
  const double bottom = row * step.timeline_size() + 4;
  const double maximum = 1.05 * std::max(limitMib, step.memory_mib());
  std::string out = beginPicture(bottom + kAxis, "Memory of a device of each group by class");
  const double tick = niceStep(maximum / 1024);
  for (int i = 0; i * tick <= maximum / 1024; ++i) {
    const std::string x = number(kLeft + kWidth * i * tick * 1024 / maximum);
    absl::StrAppend(&out, "<line class=\"grid\" x1=\"", x, "\" x2=\"", x, "\" y1=\"0\" y2=\"",
                    number(bottom), "\"/><text x=\"", x, "\" y=\"", number(bottom + 15),
                    "\" text-anchor=\"middle\">", absl::StrFormat("%g", i * tick),
                    i == 0 ? " GiB" : "", "</text>\n");
  }
  for (int g = 0; g < step.timeline_size(); ++g) {
    const double y = row * g + 2;
    const std::string name = absl::StrCat("group ", g);
    out += rowName(name, y + bar * 0.75);
    double x = kLeft;
    for (int c = 0; c < step.timeline(g).memory_size(); ++c) {
      const proto::PlanMemory &memory = step.timeline(g).memory(c);
      const double width = kWidth * memory.mib() / maximum;
      if (width > 0)
        absl::StrAppend(&out, "<rect class=\"m", c, "\" x=\"", number(x), "\" y=\"", number(y),
                        "\" width=\"", number(width), "\" height=\"", number(bar), "\"><title>",
                        name, ": ", escapeHtml(memory.name()),
                        absl::StrFormat(" %.0f MiB", memory.mib()), "</title></rect>");
      x += width;
    }
    out += '\n';
  }
  const std::string limit = number(kLeft + kWidth * limitMib / maximum);
  absl::StrAppend(&out, "<line class=\"limit\" x1=\"", limit, "\" x2=\"", limit,
                  "\" y1=\"0\" y2=\"", number(bottom), "\"/>");
  return out + "</svg>\n";
}

} // namespace st
