#include "backends/dtu/simulator/time/StepLogger.h"

#include <algorithm>

namespace st::dtu {

using Kind = StepLog::Kind;

void appendSegment(std::vector<StepLog::Segment> &segments, StepLog::Segment segment) {
  if (segment.end <= segment.start)
    return;
  if (!segments.empty() && segments.back().kind == segment.kind &&
      segments.back().end == segment.start && segment.kind != Kind::Launch)
    segments.back().end = segment.end;
  else
    segments.push_back(segment);
}

void addBetween(const std::vector<StepLog::Segment> &segments, int64_t start, int64_t end,
                StepLog::Sums &sums) {
  auto at =
      std::partition_point(segments.begin(), segments.end(),
                           [&](const StepLog::Segment &segment) { return segment.end <= start; });
  for (; at != segments.end() && at->start < end; ++at)
    sums[static_cast<size_t>(at->kind)] += std::min(end, at->end) - std::max(start, at->start);
}

void prependVisit(std::vector<StepLog::Visit> &reversed, StepLog::Visit visit,
                  const std::vector<size_t> &groupOf) {
  if (visit.end <= visit.start)
    return;
  if (!reversed.empty()) {
    StepLog::Visit &next = reversed.back();
    if (groupOf[static_cast<size_t>(next.rank)] == groupOf[static_cast<size_t>(visit.rank)] &&
        next.entry == visit.entry) {
      next.start = visit.start;
      for (size_t i = 0; i < visit.sums.size(); ++i)
        next.sums[i] += visit.sums[i];
      return;
    }
  }
  reversed.push_back(visit);
}

std::vector<size_t> groupsOf(const std::vector<RankConfig> &ranks) {
  std::vector<size_t> groups;
  size_t count = 0;
  for (const RankConfig &rank : ranks) {
    count += rank.rankInGroup == 0 || groups.empty();
    groups.push_back(count - 1);
  }
  return groups;
}

StepLogger::StepLogger(const std::vector<RankConfig> &ranks, StepLog &log)
    : log(log), groupOf(groupsOf(ranks)), ranks(ranks.size()) {
  log = {};
  log.segments.resize(ranks.size());
  log.sums.resize(ranks.size());
}

/// If a receive waits, its message is the cause. Otherwise a send may block the work that
/// overwrites its source. Time after a message belongs to that message. Returns std::nullopt if no
/// message has occurred in this idle time.
std::optional<Kind> StepLogger::idleKind(size_t rank, const Rank &state) const {
  if (state.waits)
    return kindOfMessage(rank, state.receivesFrom) == Kind::Transfer ? Kind::Wait
                                                                     : Kind::Collective;
  if (state.receivesUntil > state.since)
    return kindOfMessage(rank, state.receivesFrom);
  if (state.sendsUntil > state.since)
    return kindOfMessage(rank, state.sendsTo);
  return state.idle == Kind::Wait ? Kind::Transfer : state.idle;
}

/// Names idle time that ended with the first message, or that belongs to the previous message.
void StepLogger::nameIdle(size_t rank, Kind kind) {
  Rank &state = ranks[rank];
  if (state.unnamed)
    appendSegment(log.segments[rank], {*state.unnamed, state.since, kind});
  state.unnamed.reset();
}

void StepLogger::advance(size_t rank, int64_t now) {
  Rank &state = ranks[rank];
  if (now > state.since && state.launches) {
    appendSegment(log.segments[rank], {state.since, now, Kind::Launch});
  } else if (now > state.since && state.runs && state.workers > 0) {
    nameIdle(rank, state.lastMessage);
    state.idle.reset();
    appendSegment(log.segments[rank], {state.since, now, Kind::Compute});
  } else if (now > state.since && state.runs) {
    if (std::optional<Kind> kind = idleKind(rank, state)) {
      nameIdle(rank, *kind);
      state.idle = kind;
      appendSegment(log.segments[rank], {state.since, now, *kind});
    } else if (!state.unnamed) {
      state.unnamed = state.since;
    }
  }
  state.since = now;
}

void StepLogger::launchTask(size_t rank, int64_t now) {
  Rank &state = ranks[rank];
  state.launches = true;
  state.since = now;
  state.starts.push_back(now);
}

void StepLogger::beginTask(size_t rank, int64_t now) {
  advance(rank, now);
  Rank &state = ranks[rank];
  state.launches = false;
  state.runs = true;
  state.idle.reset();
  state.lastMessage = Kind::Collective;
}

void StepLogger::endTask(size_t rank, int64_t now) {
  advance(rank, now);
  nameIdle(rank, ranks[rank].lastMessage);
  ranks[rank].runs = false;
  ranks[rank].ends.push_back(now);
}

void StepLogger::addWorker(size_t rank, int64_t now, int change) {
  advance(rank, now);
  ranks[rank].workers += change;
}

void StepLogger::send(size_t rank, size_t peer, int64_t now, int64_t end) {
  advance(rank, now);
  ranks[rank].sendsUntil = end;
  ranks[rank].sendsTo = peer;
  ranks[rank].lastMessage = kindOfMessage(rank, peer);
}

void StepLogger::waitForMessage(size_t rank, size_t peer, int64_t now) {
  advance(rank, now);
  Rank &state = ranks[rank];
  state.waits = true;
  state.waitStart = now;
  state.receivesFrom = peer;
}

void StepLogger::arrive(size_t rank, size_t sender, int64_t sent, int64_t now) {
  advance(rank, now);
  Rank &state = ranks[rank];
  state.waits = false;
  if (state.workers == 0)
    state.late.push_back({state.waitStart, now, sent, sender});
  // Only now is the start of the transfer known.
  const int64_t underway = std::max(sent, state.waitStart);
  std::vector<StepLog::Segment> &segments = log.segments[rank];
  for (size_t i = segments.size(); i-- > 0 && segments[i].end > underway;) {
    StepLog::Segment &segment = segments[i];
    if (segment.kind != Kind::Wait)
      continue;
    if (segment.start >= underway) {
      segment.kind = Kind::Transfer;
      continue;
    }
    const StepLog::Segment rest = {underway, segment.end, Kind::Transfer};
    segment.end = underway;
    segments.insert(segments.begin() + static_cast<std::ptrdiff_t>(i) + 1, rest);
    break;
  }
}

void StepLogger::receive(size_t rank, size_t peer, int64_t now, int64_t end) {
  advance(rank, now);
  ranks[rank].receivesUntil = end;
  ranks[rank].receivesFrom = peer;
  ranks[rank].lastMessage = kindOfMessage(rank, peer);
}

void StepLogger::finishTimes() {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const Rank &state = ranks[rank];
    for (size_t entry = 0; entry < state.ends.size(); ++entry) {
      log.sums[rank].emplace_back();
      addBetween(log.segments[rank], state.starts[entry], state.ends[entry], log.sums[rank].back());
    }
  }
  followPath();
}

StepLog::Visit StepLogger::stayBefore(size_t &rank, int64_t &time) const {
  const Rank &state = ranks[rank];
  const std::vector<StepLog::Segment> &segments = log.segments[rank];
  const size_t entry = static_cast<size_t>(
      std::lower_bound(state.starts.begin(), state.starts.end(), time) - state.starts.begin() - 1);
  const auto segment =
      std::partition_point(segments.begin(), segments.end(),
                           [&](const StepLog::Segment &other) { return other.end < time; });
  auto isIdle = [](const StepLog::Segment &other) {
    return other.kind != Kind::Compute && other.kind != Kind::Launch;
  };
  auto first = segment;
  while (isIdle(*first) && first != segments.begin() && isIdle(*std::prev(first)))
    --first;
  StepLog::Visit visit = {static_cast<int64_t>(rank),
                          static_cast<int64_t>(entry),
                          std::max(first->start, state.starts[entry]),
                          time,
                          {}};
  // A rank that waited was delayed by the last message it waited for, if the sender of that message
  // was late.
  auto late = std::partition_point(state.late.begin(), state.late.end(),
                                   [&](const Late &message) { return message.arrival <= time; });
  if (isIdle(*segment) && late != state.late.begin() && (--late)->arrival > visit.start &&
      late->sent < time) {
    const bool wasLate = late->sent > std::max(late->waitStart, visit.start);
    visit.start = std::max(wasLate ? late->sent : late->waitStart, visit.start);
    if (wasLate)
      rank = late->sender;
  }
  addBetween(segments, visit.start, visit.end, visit.sums);
  time = visit.start;
  return visit;
}

void StepLogger::followPath() {
  size_t rank = 0;
  int64_t time = 0;
  for (size_t i = 0; i < ranks.size(); ++i)
    if (!ranks[i].ends.empty() && ranks[i].ends.back() > time) {
      rank = i;
      time = ranks[i].ends.back();
    }
  while (time > 0)
    prependVisit(log.path, stayBefore(rank, time), groupOf);
  std::reverse(log.path.begin(), log.path.end());
}

} // namespace st::dtu
