#include "backends/dtu/simulator/replay/TaskTimings.h"

#include "backends/dtu/simulator/replay/TimingForm.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Timing/DtuDescription.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <numeric>

namespace st::dtu {
namespace {

/// Disjoint sets of the numbers below a size (union-find).
class Sets {
public:
  explicit Sets(size_t size) : parents(size) { std::iota(parents.begin(), parents.end(), 0); }

  size_t find(size_t i) {
    while (parents[i] != i)
      i = parents[i] = parents[parents[i]];
    return i;
  }
  /// The lowest member represents its set.
  void join(size_t a, size_t b) {
    std::tie(a, b) = std::minmax(find(a), find(b));
    parents[b] = a;
  }

private:
  std::vector<size_t> parents;
};

/// Numbers values in order of first occurrence.
template <typename T> class Sight {
public:
  size_t operator()(const T &value) { return seen.emplace(value, seen.size()).first->second; }

private:
  std::map<T, size_t> seen;
};

/// The distance of a message: within a chip, within a group of chips, or beyond.
int distance(const DtuPlace &a, const DtuPlace &b) {
  return a.chip == b.chip ? 0 : a.group == b.group ? 1 : 2;
}

} // namespace

TaskTimings::TaskTimings(const proto::DtuDescription &description,
                         const std::vector<RankConfig> &ranks,
                         const std::vector<std::unique_ptr<DecodedProgram>> &programs, bool logs,
                         Picoseconds arrival)
    : description(description), configs(ranks), programs(programs), logs(logs), arrival(arrival),
      forms(programs.size()) {
  for (const RankConfig &rank : ranks)
    places.push_back(*dtuPlace(description, rank.deviceId));
}

absl::StatusOr<TaskTimings::Form> TaskTimings::formOf(ProgramId program) {
  Form &form = forms[static_cast<size_t>(program)];
  if (form.isKnown)
    return form;
  TimingForm created = timingFormOf(*programs[static_cast<size_t>(program)]);
  if (created.readsData)
    return absl::FailedPreconditionError(
        absl::StrCat("the time of program '", programs[static_cast<size_t>(program)]->source.name,
                     "' depends on data; its tasks cannot be timed once for all"));
  form = {formIds.emplace(created.text, formIds.size()).first->second, created.variesByRun,
          /*isKnown=*/true};
  return form;
}

absl::StatusOr<std::shared_ptr<const GroupTask>> TaskTimings::task(size_t first, size_t count,
                                                                   TaskRun run) {
  ST_ASSIGN_OR_RETURN(Form form, formOf(run.program));
  // If the form does not vary by run, all micro-batches take the same time.
  std::array<int64_t, 3> key = {static_cast<int64_t>(first), run.program,
                                form.variesByRun ? run.microBatch : -1};
  auto found = known.find(key);
  if (found == known.end()) {
    ST_ASSIGN_OR_RETURN(std::shared_ptr<const GroupTask> created, splitIntoSets(first, count, run));
    found = known.emplace(key, std::move(created)).first;
  }
  return found->second;
}

absl::StatusOr<std::shared_ptr<const GroupTask>>
TaskTimings::splitIntoSets(size_t first, size_t count, TaskRun run) {
  const DecodedProgram &program = *programs[static_cast<size_t>(run.program)];
  ST_ASSIGN_OR_RETURN(Form form, formOf(run.program));
  auto created = std::make_shared<GroupTask>();
  std::vector<TaskMessages> &rankMessages = created->rankMessages;
  Sets sets(count);
  std::map<int64_t, size_t> onChip;
  for (size_t i = 0; i < count; ++i) {
    sets.join(i, onChip.emplace(places[first + i].chip, i).first->second);
    ST_ASSIGN_OR_RETURN(TaskMessages messages,
                        scripts.messagesOf(program, configs[first + i], run.microBatch));
    for (int64_t peer : messages.peers)
      if (const auto at = static_cast<size_t>(peer); at >= first && at < first + count)
        sets.join(i, at - first);
    rankMessages.push_back(std::move(messages));
  }
  ST_RETURN_IF_ERROR(listOuterMessages(first, program, *created));
  std::map<size_t, RankSet> rankSets;
  for (size_t i = 0; i < count; ++i)
    rankSets[sets.find(i)].ranks.push_back(first + i);
  for (auto &entry : rankSets) {
    RankSet &set = entry.second;
    auto [at, isNew] = measured.emplace(keyOf(set, rankMessages, first, run, form), nullptr);
    if (isNew) {
      ST_ASSIGN_OR_RETURN(at->second, measure(set, rankMessages, first, run, form, at->first));
    }
    set.measured = at->second;
    created->rankSets.push_back(std::move(set));
  }
  return std::shared_ptr<const GroupTask>(std::move(created));
}

absl::Status TaskTimings::listOuterMessages(size_t first, const DecodedProgram &program,
                                            GroupTask &task) const {
  const size_t count = task.rankMessages.size();
  task.sends.resize(count);
  task.receives.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const TaskMessages &ofRank = task.rankMessages[i];
    auto isOuter = [&](int64_t peer) {
      return static_cast<size_t>(peer) < first || static_cast<size_t>(peer) >= first + count;
    };
    for (int64_t peer : ofRank.peers)
      if (peer < 0 || static_cast<size_t>(peer) >= configs.size())
        return absl::InvalidArgumentError(
            absl::StrCat("rank ", first + i, ", program '", program.source.name,
                         "': expected a peer from 0 to ", configs.size() - 1, ", found ", peer));
    if (std::none_of(ofRank.peers.begin(), ofRank.peers.end(), isOuter))
      continue;
    for (const MessageScript::Step &step : ofRank.script->steps)
      if ((step.opcode == Opcode::Send || step.opcode == Opcode::Recv) &&
          isOuter(ofRank.peers[step.peer]))
        (step.opcode == Opcode::Send ? task.sends : task.receives)[i].push_back(
            {ofRank.peers[step.peer], ofRank.channels[step.channel], step.amount});
  }
  return absl::OkStatus();
}

/// Two sets have the same key if they are equal except for their place in the machine: rank by
/// rank, their programs have one form, their messages take the same kinds of routes, and they share
/// chips, groups of chips and devices in the same pattern.
std::string TaskTimings::keyOf(const RankSet &set, const std::vector<TaskMessages> &rankMessages,
                               size_t first, TaskRun run, const Form &form) const {
  std::string key = absl::StrCat(form.id, "\n");
  Sight<int64_t> chip, group, device, channel;
  std::map<size_t, size_t> indexOf;
  for (size_t rank : set.ranks)
    indexOf.emplace(rank, indexOf.size());
  for (size_t rank : set.ranks) {
    const DtuPlace &place = places[rank];
    absl::StrAppend(&key, chip(place.chip), ",", group(place.group), ",",
                    device(configs[rank].deviceId), ":");
    if (form.variesByRun) {
      absl::StrAppend(&key, run.microBatch, ",", configs[rank].rankInGroup, "[");
      for (int64_t entry : configs[rank].table)
        absl::StrAppend(&key, entry, ",");
    }
    const TaskMessages &ofRank = rankMessages[rank - first];
    for (int64_t peer : ofRank.peers) {
      auto inside = indexOf.find(static_cast<size_t>(peer));
      if (inside != indexOf.end())
        absl::StrAppend(&key, "i", inside->second, ",");
      else
        absl::StrAppend(&key, "o", distance(place, places[static_cast<size_t>(peer)]), ",");
    }
    for (int64_t number : ofRank.channels)
      absl::StrAppend(&key, "c", channel(number), ",");
    absl::StrAppend(&key, ofRank.script->id, "\n");
  }
  return key;
}

/// The smallest number of ranks whose work, repeated segment by segment, is the work of the
/// complete set. Each segment occupies separate groups of chips with the same numbering, or is one
/// chip of the only group. Its ranks send the same messages to ranks that are equally many segments
/// away. Messages to ranks outside the set go to groups of chips that no other segment sends to, or
/// end the likeness (Rotation::sharesLink).
TaskTimings::RingSegment TaskTimings::segmentOf(const RankSet &set,
                                                const std::vector<TaskMessages> &rankMessages,
                                                size_t first) const {
  const size_t count = set.ranks.size();
  std::map<size_t, size_t> indexOf;
  for (size_t rank : set.ranks)
    indexOf.emplace(rank, indexOf.size());
  auto place = [&](size_t i) -> const DtuPlace & { return places[set.ranks[i]]; };
  auto sendsEqually = [&](size_t i, size_t segment) {
    const size_t begin = i - i % segment;
    const TaskMessages &mine = rankMessages[set.ranks[i] - first],
                       &theirs = rankMessages[set.ranks[i % segment] - first];
    if (mine.script != theirs.script || mine.channels != theirs.channels)
      return false;
    for (size_t m = 0; m < mine.peers.size(); ++m) {
      auto inside = indexOf.find(static_cast<size_t>(mine.peers[m])),
           insideLike = indexOf.find(static_cast<size_t>(theirs.peers[m]));
      if ((inside == indexOf.end()) != (insideLike == indexOf.end()) ||
          (inside != indexOf.end() && inside->second != (insideLike->second + begin) % count))
        return false;
    }
    return true;
  };
  auto ownsGroups = [&](size_t segment) {
    std::map<int64_t, size_t> segmentOfGroup;
    auto owns = [&](int64_t group, size_t number) {
      return segmentOfGroup.emplace(group, number).first->second == number;
    };
    for (size_t i = 0; i < count; ++i) {
      const int64_t shift = place(i - i % segment).chip - place(0).chip;
      if (shift % description.chips_per_group() != 0 ||
          place(i).chip != place(i % segment).chip + shift ||
          place(i).cluster != place(i % segment).cluster || !owns(place(i).group, i / segment))
        return false;
      const TaskMessages &mine = rankMessages[set.ranks[i] - first],
                         &theirs = rankMessages[set.ranks[i % segment] - first];
      for (size_t m = 0; m < mine.peers.size(); ++m)
        if (const auto to = static_cast<size_t>(mine.peers[m]); !indexOf.count(to))
          if (const auto toLike = static_cast<size_t>(theirs.peers[m]);
              distance(place(i), places[to]) != distance(place(i % segment), places[toLike]) ||
              !owns(places[to].group, i / segment))
            return false;
    }
    return true;
  };
  auto isChip = [&](size_t segment) {
    std::map<int64_t, size_t> segmentOfChip;
    for (size_t i = 0; i < count; ++i)
      if (place(i).group != place(0).group || place(i).cluster != place(i % segment).cluster ||
          place(i).chip != place(i - i % segment).chip ||
          segmentOfChip.emplace(place(i).chip, i / segment).first->second != i / segment)
        return false;
    return true;
  };
  for (size_t segment = 1; segment < count; ++segment) {
    if (count % segment != 0)
      continue;
    bool isEquivalent = true;
    for (size_t i = 0; isEquivalent && i < count; ++i)
      isEquivalent = sendsEqually(i, segment);
    if (isEquivalent && ownsGroups(segment))
      return {segment, /*sharesLink=*/false};
    // A log needs all ranks of the set, by their numbers.
    if (isEquivalent && !logs && isChip(segment))
      return {segment, /*sharesLink=*/true};
  }
  return {count};
}

std::optional<TaskTimings::Representative> TaskTimings::representativeFor(const RankSet &set,
                                                                          size_t first, TaskRun run,
                                                                          const Form &form,
                                                                          const std::string &key) {
  // A log is about the ranks of one set, so its runs are not shared.
  if (logs || form.variesByRun)
    return std::nullopt;
  for (const auto &[firstOther, others] : earlier) {
    if (others.size() != set.ranks.size() || others == set.ranks)
      continue;
    Representative result{{others, nullptr}, firstOther, {}};
    result.rankMessages.resize(others.back() - firstOther + 1);
    bool fits = true;
    for (size_t i = 0; fits && i < others.size(); ++i) {
      const RankConfig &other = configs[others[i]], &own = configs[set.ranks[i]];
      absl::StatusOr<TaskMessages> messages =
          scripts.messagesOf(*programs[static_cast<size_t>(run.program)], other, run.microBatch);
      fits = other.table.size() == own.table.size() && other.rankInGroup == own.rankInGroup &&
             messages.ok() &&
             std::all_of(messages->peers.begin(), messages->peers.end(), [&](int64_t peer) {
               return peer >= 0 && static_cast<size_t>(peer) < configs.size();
             });
      if (fits)
        result.rankMessages[others[i] - firstOther] = *std::move(messages);
    }
    if (fits && keyOf(result.set, result.rankMessages, firstOther, run, form) == key)
      return result;
  }
  return std::nullopt;
}

/// Times the set, by ranks of an earlier set if the task has the same key for them.
absl::StatusOr<std::shared_ptr<const TaskTiming>>
TaskTimings::measure(const RankSet &set, const std::vector<TaskMessages> &rankMessages,
                     size_t first, TaskRun run, const Form &form, const std::string &key) {
  const size_t count = set.ranks.size();
  if (std::optional<Representative> other = representativeFor(set, first, run, form, key)) {
    const RingSegment segment = segmentOf(other->set, other->rankMessages, other->first);
    absl::StatusOr<std::shared_ptr<const TaskTiming>> created =
        measureSegment(other->set, run, segment);
    if (created.ok() && !*created)
      created = measureSegment(other->set, run, {count});
    if (created.ok())
      return created;
    // The error must name the ranks of the set.
  } else {
    earlier.emplace_back(first, set.ranks);
  }
  const RingSegment segment =
      form.variesByRun ? RingSegment{count} : segmentOf(set, rankMessages, first);
  ST_ASSIGN_OR_RETURN(std::shared_ptr<const TaskTiming> created, measureSegment(set, run, segment));
  if (created)
    return created;
  return measureSegment(set, run, {count});
}

/// Times one segment that represents the complete set; null if no segment can represent it.
absl::StatusOr<std::shared_ptr<const TaskTiming>>
TaskTimings::measureSegment(const RankSet &set, TaskRun run, RingSegment segment) {
  std::vector<RankSchedule> schedules(configs.size());
  Boundary boundary;
  boundary.isInside.resize(configs.size());
  boundary.memory = &memory;
  boundary.together =
      &together.try_emplace({set.ranks, segment.ranks}, StretchScope::Run).first->second;
  boundary.arrival = arrival;
  std::map<size_t, size_t> indexOf;
  for (size_t rank : set.ranks) {
    if (indexOf.size() < segment.ranks || segment.sharesLink)
      schedules[rank] = {run};
    boundary.isInside[rank] = true;
    indexOf.emplace(rank, indexOf.size());
  }
  if (segment.ranks < set.ranks.size())
    boundary.rotation = Rotation{set.ranks, segment.ranks, segment.sharesLink};
  StepLog log;
  ST_ASSIGN_OR_RETURN(TimingResult result,
                      simulateTime(description, configs, programs, schedules, {},
                                   /*trace=*/nullptr, &boundary, logs ? &log : nullptr));
  simulated += result.simulatedTasks;
  instructions += result.simulatedInstructions;
  if (boundary.rotation && boundary.rotation->isAmbiguous)
    return std::shared_ptr<const TaskTiming>();
  const size_t ran =
      boundary.rotation && !boundary.rotation->isUnfolded ? segment.ranks : set.ranks.size();
  auto created = std::make_shared<TaskTiming>();
  for (size_t i = 0; i < set.ranks.size(); ++i)
    created->ranks.push_back(result.ranks[set.ranks[i % ran]]);
  for (size_t i = 0; logs && i < set.ranks.size(); ++i)
    created->segments.push_back(log.segments[set.ranks[i % ran]]);
  for (const Boundary::Message &message : boundary.messages)
    for (size_t i = indexOf.at(message.rank); i < set.ranks.size(); i += ran)
      created->events.push_back({message.isSend, i, message.time, message.arrival - message.time});
  // Events of the set at one instant are ordered by rank.
  std::stable_sort(created->events.begin(), created->events.end(),
                   [](const TaskTiming::Event &a, const TaskTiming::Event &b) {
                     return std::tie(a.time, a.index) < std::tie(b.time, b.index);
                   });
  created->instructions = result.instructions * static_cast<int64_t>(set.ranks.size() / ran);
  return std::shared_ptr<const TaskTiming>(std::move(created));
}

} // namespace st::dtu
