#include "backends/cuda/runtime/commands/StepRecorder.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace st::cuda {

absl::Status StepRecorder::begin(GpuStream &stream) {
  // The stream's mark is between two readings of the clock.
  constexpr int kTries = 8;
  using Clock = std::chrono::steady_clock;
  recorded.clear();
  for (int i = 0; i < kTries; ++i) {
    const Clock::time_point before = Clock::now();
    ST_ASSIGN_OR_RETURN(Mark mark, stream.markTime());
    ST_RETURN_IF_ERROR(stream.wait());
    const Clock::duration bound = (Clock::now() - before + Clock::duration(1)) / 2;
    if (i > 0 && bound >= baseBound)
      continue;
    base = std::move(mark);
    baseTime = before + bound;
    baseBound = bound;
  }
  return absl::OkStatus();
}

std::chrono::nanoseconds StepRecorder::bound() const {
  // The driver reports the time between two events with half a microsecond of resolution, as a
  // float in milliseconds (cuEventElapsedTime); in a step of a few seconds, rounding adds the same
  // error again.
  return baseBound + std::chrono::microseconds(1);
}

absl::Status StepRecorder::end(GpuStream &stream, Row row, std::string label, Mark start) {
  ST_ASSIGN_OR_RETURN(Mark mark, stream.markTime());
  recorded.push_back({row, std::move(label), std::move(start), std::move(mark)});
  return absl::OkStatus();
}

absl::Status StepRecorder::read(const GpuDevice &device, int64_t rank,
                                std::chrono::steady_clock::time_point origin,
                                std::vector<Span> &spans) const {
  const double begin = std::chrono::duration<double>(baseTime - origin).count();
  auto picoseconds = [](double seconds) { return std::llround(seconds * 1e12); };
  std::array<int64_t, std::size(kRowNames)> ends;
  ends.fill(std::numeric_limits<int64_t>::min());
  for (const Recorded &each : recorded) {
    ST_ASSIGN_OR_RETURN(double start, device.secondsBetween(*base, *each.start));
    ST_ASSIGN_OR_RETURN(double duration, device.secondsBetween(*each.start, *each.end));
    // Work in a row is sequential, but each time since the base is rounded.
    int64_t &last = ends[static_cast<size_t>(each.row)];
    const int64_t from = std::max<int64_t>(picoseconds(begin + start), last);
    last = std::max<int64_t>(picoseconds(begin + start + duration), from);
    spans.push_back({rank, each.row, from, last - from, each.label});
  }
  return absl::OkStatus();
}

// A line for each span.
static std::string print(const std::vector<StepRecorder::Span> &spans) {
  std::string text;
  for (const StepRecorder::Span &span : spans)
    absl::StrAppend(&text, span.rank, " ", static_cast<int>(span.row), " ", span.start, " ",
                    span.duration, " ", span.label, "\n");
  return text;
}

static absl::Status parse(absl::string_view text, std::vector<StepRecorder::Span> &spans) {
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(' ', 4));
    StepRecorder::Span span;
    int row = 0;
    if (parts.size() != 5 || !absl::SimpleAtoi(parts[0], &span.rank) ||
        !absl::SimpleAtoi(parts[1], &row) || !absl::SimpleAtoi(parts[2], &span.start) ||
        !absl::SimpleAtoi(parts[3], &span.duration))
      return absl::InternalError(
          absl::StrCat("received from another process instead of a trace: ", line));
    span.row = static_cast<StepRecorder::Row>(row);
    span.label = parts[4];
    spans.push_back(std::move(span));
  }
  return absl::OkStatus();
}

absl::Status broadcastNumber(int64_t &number, int64_t root, Communicator &communicator) {
  return communicator.broadcast(
      absl::MakeSpan(reinterpret_cast<uint8_t *>(&number), sizeof(number)), root);
}

absl::StatusOr<StepTrace> gatherTrace(std::vector<StepRecorder::Span> own,
                                      std::chrono::nanoseconds bound,
                                      const std::vector<std::string> &devices,
                                      Communicator &communicator) {
  StepTrace trace;
  std::vector<StepRecorder::Span> spans;
  int64_t maximum = 0;
  for (int64_t process = 0; process < communicator.numProcesses(); ++process) {
    std::string text = process == communicator.process() ? print(own) : std::string();
    int64_t bytes = static_cast<int64_t>(text.size());
    ST_RETURN_IF_ERROR(broadcastNumber(bytes, process, communicator));
    text.resize(static_cast<size_t>(bytes));
    ST_RETURN_IF_ERROR(communicator.broadcast(
        absl::MakeSpan(reinterpret_cast<uint8_t *>(text.data()), text.size()), process));
    ST_RETURN_IF_ERROR(parse(text, spans));
    int64_t number = bound.count();
    ST_RETURN_IF_ERROR(broadcastNumber(number, process, communicator));
    maximum = std::max(maximum, number);
  }
  // Both of two ranks may be off; nanoseconds.
  trace.clockBound = devices.size() > 1 ? 2 * 1000 * maximum : 0;
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const StepRecorder::Span &span : spans)
    first = std::min(first, span.start);
  for (StepRecorder::Span &span : spans)
    span.start -= first;
  auto placeOf = [](const StepRecorder::Span &span) {
    return std::tuple(span.rank, span.row, span.start);
  };
  std::stable_sort(spans.begin(), spans.end(),
                   [&](const auto &a, const auto &b) { return placeOf(a) < placeOf(b); });
  std::map<std::pair<int64_t, StepRecorder::Row>, int32_t> rows;
  std::map<std::string, int32_t> labels;
  for (const StepRecorder::Span &span : spans) {
    auto [row, isNewRow] = rows.try_emplace({span.rank, span.row}, trace.rows.size());
    if (isNewRow)
      trace.rows.push_back({span.rank, devices[static_cast<size_t>(span.rank)],
                            StepRecorder::kRowNames[static_cast<int>(span.row)]});
    auto [label, isNewLabel] = labels.try_emplace(span.label, trace.labels.size());
    if (isNewLabel)
      trace.labels.push_back(span.label);
    trace.spans.push_back({row->second, label->second, span.start, span.duration});
  }
  return trace;
}

} // namespace st::cuda
