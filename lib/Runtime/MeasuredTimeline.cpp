#include "lib/Runtime/MeasuredTimeline.h"

#include "absl/strings/match.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace st {
namespace {

using Kind = StepTimeline::Kind;

// The first kind takes precedence.
constexpr std::array<Kind, 3> kKindsOfSpans = {Kind::Compute, Kind::Collective, Kind::Wait};

Kind kindOf(absl::string_view label) {
  for (const char *start : {"send ", "recv ", "receive "})
    if (absl::StartsWith(label, start))
      return Kind::Wait;
  for (const char *start : {"all_", "reduce_scatter", "collective_"})
    if (absl::StartsWith(label, start))
      return Kind::Collective;
  return Kind::Compute;
}

// The start or the end of a span.
struct Edge {
  int64_t time = 0;
  size_t kind = 0; // index in kKindsOfSpans
  int change = 0;  // 1 or -1
};

// The spans of one rank.
struct RankSpans {
  std::vector<StepTrace::Span> tasks;
  std::vector<Edge> edges;
};

std::vector<RankSpans> spansByRank(const proto::Executable &program, const StepTrace &trace) {
  size_t count = 0;
  for (const proto::Group &group : program.groups())
    count += static_cast<size_t>(group.device_ids_size());
  std::vector<RankSpans> ranks(count);
  for (const StepTrace::Span &span : trace.spans) {
    const StepTrace::Row &row = trace.rows[static_cast<size_t>(span.row)];
    RankSpans &rank = ranks[static_cast<size_t>(row.rank)];
    if (row.engine == "tasks") {
      rank.tasks.push_back(span);
      continue;
    }
    const Kind kind = kindOf(trace.labels[static_cast<size_t>(span.label)]);
    const auto index = static_cast<size_t>(
        std::find(kKindsOfSpans.begin(), kKindsOfSpans.end(), kind) - kKindsOfSpans.begin());
    rank.edges.push_back({span.start, index, 1});
    rank.edges.push_back({span.start + span.duration, index, -1});
  }
  const auto byTime = [](const Edge &a, const Edge &b) { return a.time < b.time; };
  for (RankSpans &rank : ranks)
    std::sort(rank.edges.begin(), rank.edges.end(), byTime);
  return ranks;
}

// Moves over the edges of a rank and adds up the time of each kind.
class Sweep {
public:
  explicit Sweep(const std::vector<Edge> &edges) : edges(edges) {}

  StepTimeline::Sums until(int64_t end) {
    StepTimeline::Sums sums = {};
    while (next < edges.size() && edges[next].time <= end) {
      move(edges[next].time, sums);
      active[edges[next].kind] += edges[next].change;
      ++next;
    }
    move(end, sums);
    return sums;
  }

private:
  void move(int64_t time, StepTimeline::Sums &sums) {
    Kind kind = Kind::Launch;
    for (size_t i = kKindsOfSpans.size(); i-- > 0;)
      if (active[i] > 0)
        kind = kKindsOfSpans[i];
    sums[static_cast<size_t>(kind)] += std::max<int64_t>(time - now, 0);
    now = std::max(now, time);
  }

  const std::vector<Edge> &edges;
  size_t next = 0;
  int64_t now = 0;
  std::array<int, kKindsOfSpans.size()> active = {};
};

} // namespace

bool isMessageLabel(absl::string_view label) { return kindOf(label) != Kind::Compute; }

StepTimeline measuredTimeline(const proto::Executable &program, const StepTrace &trace) {
  std::vector<RankSpans> spans = spansByRank(program, trace);
  StepTimeline timeline;
  timeline.ranks.resize(spans.size());
  for (const proto::Group &group : program.groups())
    for (int64_t i = 0; i < group.device_ids_size(); ++i) {
      const auto rank = static_cast<size_t>(group.first_rank() + i);
      if (static_cast<int>(spans[rank].tasks.size()) != group.schedule_size())
        continue;
      Sweep sweep(spans[rank].edges);
      int64_t start = 0;
      for (const StepTrace::Span &task : spans[rank].tasks) {
        const int64_t end = task.start + task.duration;
        timeline.ranks[rank].runs.push_back({start, end, sweep.until(end)});
        start = end;
      }
    }
  return timeline;
}

} // namespace st
