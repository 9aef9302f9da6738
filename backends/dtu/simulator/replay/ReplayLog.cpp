#include "backends/dtu/simulator/replay/ReplayLog.h"

#include <algorithm>

namespace st::dtu {

using Kind = StepLog::Kind;

Picoseconds ReplayLog::Run::end() const {
  Picoseconds end = start + duration;
  for (const Stop &stop : stops)
    end += stop.late;
  return end;
}

ReplayLog::ReplayLog(const std::vector<RankConfig> &ranks, StepLog &log)
    : log(log), groupOf(groupsOf(ranks)) {
  log = {};
  log.segments.resize(ranks.size());
  log.sums.resize(ranks.size());
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (groupOf[rank] == groups.size())
      groups.emplace_back().first = rank;
    ++groups.back().count;
  }
}

void ReplayLog::begin(size_t first, std::shared_ptr<const GroupTask> task, Picoseconds start,
                      Picoseconds duration) {
  groups[groupOf[first]].runs.push_back({std::move(task), start, duration, {}});
}

void ReplayLog::wait(size_t rank, Picoseconds local, Picoseconds late, size_t sender,
                     Picoseconds sent) {
  if (late > 0)
    groups[groupOf[rank]].runs.back().stops.push_back({local, late, sent, rank, sender});
}

void ReplayLog::addTraffic(const LinkPath &path, size_t rank, ProgramId program, int64_t bytes) {
  for (int32_t i = 0; i < path.count; ++i)
    traffic[{path.links[static_cast<size_t>(i)], rank, program}] += bytes;
}

const std::vector<StepLog::Segment> &ReplayLog::measured(const Group &group, const Run &run,
                                                         size_t rank) const {
  for (const RankSet &set : run.task->rankSets) {
    auto at = std::lower_bound(set.ranks.begin(), set.ranks.end(), group.first + rank);
    if (at != set.ranks.end() && *at == group.first + rank)
      return set.measured->segments[static_cast<size_t>(at - set.ranks.begin())];
  }
  static const std::vector<StepLog::Segment> none;
  return none;
}

std::vector<StepLog::Segment> ReplayLog::segmentsOf(const Group &group, const Run &run,
                                                    size_t rank) const {
  std::vector<StepLog::Segment> result;
  Picoseconds shift = run.start;
  auto stop = run.stops.begin();
  // All stops up to a local time of the task have been processed.
  auto stopBefore = [&](Picoseconds local) {
    for (; stop != run.stops.end() && stop->local <= local; ++stop) {
      const Picoseconds from = stop->local + shift, to = from + stop->late,
                        underway = std::clamp(stop->sent, from, to);
      appendSegment(result, {from, underway, Kind::Wait});
      appendSegment(result, {underway, to, Kind::Transfer});
      shift += stop->late;
    }
  };
  Picoseconds done = 0;
  auto append = [&](StepLog::Segment segment) {
    while (stop != run.stops.end() && stop->local < segment.end) {
      const Picoseconds local = std::max(stop->local, segment.start);
      appendSegment(result, {segment.start + shift, local + shift, segment.kind});
      segment.start = local;
      stopBefore(local);
    }
    appendSegment(result, {segment.start + shift, segment.end + shift, segment.kind});
    done = segment.end;
  };
  for (const StepLog::Segment &segment : measured(group, run, rank))
    append(segment);
  // Other ranks of its group take longer.
  append({done, run.duration, Kind::Wait});
  stopBefore(run.duration);
  return result;
}

void ReplayLog::finishTimes() {
  for (const Group &group : groups)
    for (const Run &run : group.runs)
      for (size_t rank = 0; rank < group.count; ++rank) {
        const std::vector<StepLog::Segment> segments = segmentsOf(group, run, rank);
        addBetween(segments, run.start, run.end(), log.sums[group.first + rank].emplace_back());
        if (rank == 0)
          for (const StepLog::Segment &segment : segments)
            appendSegment(log.segments[group.first], segment);
      }
  followPath();
}

void ReplayLog::addVisit(const Group &group, size_t run, size_t rank, Picoseconds start,
                         Picoseconds end) {
  StepLog::Visit visit = {static_cast<int64_t>(rank), static_cast<int64_t>(run), start, end, {}};
  addBetween(segmentsOf(group, group.runs[run], rank - group.first), start, end, visit.sums);
  prependVisit(log.path, visit, groupOf);
}

void ReplayLog::followPath() {
  size_t at = 0;
  Picoseconds time = 0;
  for (size_t i = 0; i < groups.size(); ++i)
    if (!groups[i].runs.empty() && groups[i].runs.back().end() > time) {
      at = i;
      time = groups[i].runs.back().end();
    }
  size_t rank = groups[at].first;
  while (time > 0) {
    const Group &group = groups[at];
    const auto run = static_cast<size_t>(
        std::partition_point(group.runs.begin(), group.runs.end(),
                             [&](const Run &other) { return other.start < time; }) -
        group.runs.begin() - 1);
    // The last stop before that time.
    const Stop *last = nullptr;
    Picoseconds shift = group.runs[run].start, lastEnd = 0;
    for (const Stop &stop : group.runs[run].stops) {
      shift += stop.late;
      if (stop.local + shift > time)
        break;
      last = &stop;
      lastEnd = stop.local + shift;
    }
    if (!last || last->sent >= lastEnd) {
      addVisit(group, run, rank, group.runs[run].start, time);
      time = group.runs[run].start;
      continue;
    }
    addVisit(group, run, rank, lastEnd, time);
    StepLog::Visit way = {
        static_cast<int64_t>(last->rank), static_cast<int64_t>(run), last->sent, lastEnd, {}};
    way.sums[static_cast<size_t>(Kind::Transfer)] = lastEnd - last->sent;
    prependVisit(log.path, way, groupOf);
    time = last->sent;
    rank = last->sender;
    at = groupOf[rank];
  }
  std::reverse(log.path.begin(), log.path.end());
}

} // namespace st::dtu
