#include "lib/Report/Page.h"

#include "lib/Support/Text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace st {
namespace {

/// Pages of large plans list what matters most.
constexpr size_t kMaxLinks = 200, kMaxPieces = 2000;

std::string printTimes(const ClassTimes &times) {
  std::vector<std::string> entries;
  for (size_t c = 0; c < kTimeClasses; ++c)
    entries.push_back(
        absl::StrCat("\"", timeClassName(static_cast<TimeClass>(c)), "\": ", times[c]));
  return absl::StrCat("{", absl::StrJoin(entries, ", "), "}");
}

std::string printRow(const StepFigures::Row &row) {
  std::vector<std::string> memory;
  for (const auto &[name, bytes] : row.memory)
    memory.push_back(absl::StrCat(quoteJson(name), ": ", bytes));
  return absl::StrCat("{\"name\": ", quoteJson(row.name), ", \"ranks\": ", row.ranks,
                      ", \"times\": ", printTimes(row.times), ", \"arena_bytes\": ", row.arenaBytes,
                      ", \"memory\": {", absl::StrJoin(memory, ", "), "}}");
}

template <typename T, typename Print>
std::string printList(const std::vector<T> &list, size_t maximum, Print &&print) {
  std::vector<std::string> entries;
  for (size_t i = 0; i < list.size() && i < maximum; ++i)
    entries.push_back(print(list[i]));
  return absl::StrCat("[", absl::StrJoin(entries, ",\n "), "]");
}

std::string printMemorySteps(const StepFigures::MemoryChart &memory) {
  return absl::StrCat(
      "{\"reserved\": ", memory.reserved, ", \"classes\": ",
      printList(memory.classes, memory.classes.size(),
                [](const std::string &name) { return quoteJson(name); }),
      ", \"peak\": ",
      [&] {
        int64_t peak = 0;
        for (const StepFigures::MemoryChart::Step &step : memory.steps) {
          int64_t sum = 0;
          for (int64_t bytes : step.bytes)
            sum += bytes;
          peak = std::max(peak, sum);
        }
        return peak;
      }(),
      "}");
}

} // namespace

std::string printFigures(const StepFigures &figures) {
  constexpr size_t kAll = SIZE_MAX;
  std::string out = absl::StrCat(
      "{\"picoseconds\": ", figures.total, ", \"lower_bound\": ", figures.lowerBound,
      ", \"serial_sum\": ", figures.serialSum,
      ",\n\"groups\": ", printList(figures.groups, kAll, printRow),
      ",\n\"devices\": ", printList(figures.devices, kAll, printRow),
      ",\n\"num_links\": ", figures.links.size(), ", \"links\": ",
      printList(figures.links, kMaxLinks,
                [](const StepFigures::Link &link) {
                  return absl::StrCat("{\"name\": ", quoteJson(link.name),
                                      ", \"bytes\": ", link.bytes, ", \"busy\": ", link.busy, "}");
                }),
      ",\n\"num_pieces\": ", figures.path.size(), ", \"path\": ",
      printList(figures.path, kMaxPieces,
                [](const StepFigures::Piece &piece) {
                  return absl::StrCat("{\"group\": ", quoteJson(piece.group),
                                      ", \"task\": ", quoteJson(piece.task),
                                      ", \"start\": ", piece.start, ", \"end\": ", piece.end,
                                      ", \"times\": ", printTimes(piece.times), "}");
                }),
      ",\n\"peak_flops\": ", figures.peakFlops, ", \"reached_flops\": ", figures.reachedFlops,
      ", \"kernels\": ",
      printList(figures.kernels, kAll,
                [](const StepFigures::Kernel &kernel) {
                  return absl::StrCat(
                      "{\"name\": ", quoteJson(kernel.name), ", \"kind\": ", quoteJson(kernel.kind),
                      ", \"launches\": ", kernel.launches,
                      ", \"picoseconds\": ", kernel.picoseconds, ", \"flops\": ", kernel.flops,
                      ", \"bytes\": ", kernel.bytes, "}");
                }),
      ",\n\"memory\": ", printMemorySteps(figures.memory), ",\n\"what_if\": ",
      printList(figures.whatIfs, kAll,
                [](const StepFigures::WhatIf &whatIf) {
                  return absl::StrCat("{\"what\": ", quoteJson(whatIf.what),
                                      ", \"picoseconds\": ", whatIf.picoseconds, "}");
                }),
      "}");
  // Within a page no text may end the element.
  return absl::StrReplaceAll(out, {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}});
}

} // namespace st
