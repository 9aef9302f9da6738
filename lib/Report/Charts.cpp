#include "lib/Report/Charts.h"

#include "lib/Report/Html.h"
#include "lib/Report/Svg.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>

namespace st {
namespace {

constexpr size_t kNone = kTimeClasses;

/// The main activity in each of `columns` equal parts of the step.
std::vector<size_t> columnsOf(const StepFigures::Track &track, int64_t total, size_t columns) {
  std::vector<std::array<double, kTimeClasses>> times(columns);
  auto add = [&](const StepFigures::Bar &bar, TimeClass timeClass, double sign) {
    const double scale = static_cast<double>(columns) / static_cast<double>(total);
    const double from = static_cast<double>(bar.start) * scale,
                 to = static_cast<double>(bar.end) * scale;
    for (auto at = static_cast<size_t>(from); at < columns && static_cast<double>(at) < to; ++at)
      times[at][static_cast<size_t>(timeClass)] +=
          sign *
          (std::min(to, static_cast<double>(at + 1)) - std::max(from, static_cast<double>(at)));
  };
  auto run = track.runs.begin();
  for (const StepFigures::Bar &bar : track.runs)
    add(bar, bar.timeClass, 1);
  for (const StepFigures::Bar &pause : track.pauses) {
    while (run != track.runs.end() && run->end <= pause.start)
      ++run;
    add(pause, pause.timeClass, 1);
    // A pause is part of one run, but not work.
    if (run != track.runs.end())
      add(pause, run->timeClass, -1);
  }
  std::vector<size_t> result(columns, kNone);
  constexpr double kMin = 0.05;
  for (size_t i = 0; i < columns; ++i) {
    const auto maximum = std::max_element(times[i].begin(), times[i].end());
    if (*maximum > kMin)
      result[i] = static_cast<size_t>(maximum - times[i].begin());
  }
  return result;
}

std::string trackBars(const StepFigures::Track &track, int64_t total, size_t columns, double y,
                      double height) {
  std::array<std::string, kTimeClasses> data;
  const std::vector<size_t> classes = columnsOf(track, total, columns);
  const double width = kWidth / static_cast<double>(columns);
  for (size_t i = 0; i < columns;) {
    size_t end = i;
    while (end < columns && classes[end] == classes[i])
      ++end;
    if (classes[i] != kNone)
      data[classes[i]] += box(kLeft + width * static_cast<double>(i), y,
                              width * static_cast<double>(end - i), height);
    i = end;
  }
  std::string out;
  for (size_t c = 0; c < kTimeClasses; ++c)
    if (!data[c].empty())
      absl::StrAppend(&out, "<path class=\"c", c, "\" d=\"", data[c], "\"/>");
  return out;
}

} // namespace

std::string timelineChart(const StepFigures &figures) {
  constexpr size_t kFewTracks = 16, kMaxTitles = 2500;
  const size_t tracks = figures.tracks.size();
  const double row = tracks <= kFewTracks ? 30 : 14, bar = row - 8;
  const double bottom = row * static_cast<double>(tracks) + 4;
  std::string out = beginPicture(bottom + kAxis, "Timeline of the step by device group");
  out += timeAxis(figures.total, 0, bottom);
  size_t runs = 0;
  for (const StepFigures::Track &track : figures.tracks)
    runs += track.runs.size();
  for (size_t i = 0; i < tracks; ++i) {
    const StepFigures::Track &track = figures.tracks[i];
    const double y = row * static_cast<double>(i) + 3;
    out += rowName(track.name, y + bar * 0.75);
    out += trackBars(track, figures.total, tracks <= kFewTracks ? 900 : 450, y, bar);
    std::string path;
    for (const auto &[start, end] : track.path)
      path += box(kLeft + scaled(start, figures.total), y + bar + 1,
                  std::max(0.2, scaled(end - start, figures.total)), 2.5);
    if (!path.empty())
      absl::StrAppend(&out, "<path class=\"critical\" d=\"", path, "\"/>");
    if (runs <= kMaxTitles)
      for (const StepFigures::Bar &run : track.runs)
        absl::StrAppend(&out, "<rect class=\"hover\" x=\"",
                        number(kLeft + scaled(run.start, figures.total)), "\" y=\"", number(y),
                        "\" width=\"", number(scaled(run.end - run.start, figures.total)),
                        "\" height=\"", number(bar), "\"><title>", escapeHtml(track.name), ": ",
                        escapeHtml(run.label), ", ", printShortMs(run.start), " to ",
                        printShortMs(run.end), " ms</title></rect>");
    out += '\n';
  }
  return out + "</svg>\n";
}

std::string classChart(const StepFigures &figures) {
  constexpr size_t kFewGroups = 16;
  const double row = figures.groups.size() <= kFewGroups ? 26 : 14, bar = row - 5;
  const double bottom = row * static_cast<double>(figures.groups.size()) + 4;
  std::string out = beginPicture(bottom + kAxis, "Step time of a device of each group by class");
  out += timeAxis(figures.total, 0, bottom);
  for (size_t i = 0; i < figures.groups.size(); ++i) {
    const StepFigures::Row &group = figures.groups[i];
    const double y = row * static_cast<double>(i) + 2;
    out += rowName(group.name, y + bar * 0.75);
    double x = kLeft;
    for (size_t c = 0; c < kTimeClasses; ++c) {
      const int64_t mean = group.times[c] / group.ranks;
      const double width = scaled(mean, figures.total);
      if (width > 0)
        absl::StrAppend(&out, "<rect class=\"c", c, "\" x=\"", number(x), "\" y=\"", number(y),
                        "\" width=\"", number(width), "\" height=\"", number(bar), "\"><title>",
                        escapeHtml(group.name), ": ", timeClassName(static_cast<TimeClass>(c)), " ",
                        printShortMs(mean), " ms</title></rect>");
      x += width;
    }
    out += '\n';
  }
  return out + "</svg>\n";
}

std::string memoryChart(const StepFigures &figures) {
  const StepFigures::MemoryChart &memory = figures.memory;
  if (memory.steps.empty())
    return "";
  constexpr double kHeight = 220;
  std::string out = beginPicture(kHeight + kAxis, "Memory over the step");
  out += timeAxis(figures.total, 0, kHeight);
  const double maximum = static_cast<double>(memory.reserved) * 1.05;
  auto yOf = [&](double bytes) { return kHeight * (1 - bytes / maximum); };
  const double mebibytes = maximum / (1 << 20), step = niceStep(mebibytes);
  for (int i = 1; i * step < mebibytes; ++i) {
    const double y = yOf(i * step * (1 << 20));
    absl::StrAppend(&out, "<line class=\"grid\" x1=\"", number(kLeft), "\" x2=\"",
                    number(kLeft + kWidth), "\" y1=\"", number(y), "\" y2=\"", number(y),
                    "\"/><text x=\"", number(kLeft - 8), "\" y=\"", number(y + 4),
                    "\" text-anchor=\"end\">", absl::StrFormat("%g", i * step), " MiB</text>\n");
  }
  std::vector<double> floor(memory.steps.size());
  for (size_t c = 0; c < memory.classes.size(); ++c) {
    std::string upper;
    std::vector<std::string> lower;
    for (size_t i = 0; i < memory.steps.size(); ++i) {
      const StepFigures::MemoryChart::Step &part = memory.steps[i];
      const std::string x0 = number(kLeft + scaled(part.start, figures.total)),
                        x1 = number(kLeft + scaled(part.end, figures.total));
      const std::string below = number(yOf(floor[i]));
      floor[i] += static_cast<double>(part.bytes[c]);
      const std::string above = number(yOf(floor[i]));
      absl::StrAppend(&upper, upper.empty() ? "M" : "L", x0, " ", above, "H", x1);
      lower.push_back(absl::StrCat("L", x1, " ", below, "H", x0));
    }
    std::reverse(lower.begin(), lower.end());
    absl::StrAppend(&out, "<path class=\"m", c, "\" d=\"", upper, absl::StrJoin(lower, ""),
                    "z\"/>\n");
  }
  for (const StepFigures::MemoryChart::Step &part : memory.steps) {
    std::string classes;
    int64_t sum = 0;
    for (size_t c = 0; c < memory.classes.size(); ++c) {
      absl::StrAppend(&classes, "; ", escapeHtml(memory.classes[c]), " ", printMiB(part.bytes[c]));
      sum += part.bytes[c];
    }
    absl::StrAppend(&out, "<rect class=\"hover\" x=\"",
                    number(kLeft + scaled(part.start, figures.total)), "\" y=\"0\" width=\"",
                    number(scaled(part.end - part.start, figures.total)), "\" height=\"",
                    number(kHeight), "\"><title>", escapeHtml(part.label), ": ", printMiB(sum),
                    " MiB", classes, "</title></rect>\n");
  }
  const std::string y = number(yOf(static_cast<double>(memory.reserved)));
  absl::StrAppend(&out, "<line class=\"limit\" x1=\"", number(kLeft), "\" x2=\"",
                  number(kLeft + kWidth), "\" y1=\"", y, "\" y2=\"", y, "\"/>");
  return out + "</svg>\n";
}

} // namespace st
