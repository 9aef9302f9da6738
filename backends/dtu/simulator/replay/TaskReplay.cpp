#include "backends/dtu/simulator/replay/TaskReplay.h"

#include "backends/dtu/simulator/replay/ReplayLog.h"
#include "backends/dtu/simulator/replay/TimedTask.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <queue>
#include <set>

namespace st::dtu {
namespace {

struct ReplayGroup {
  size_t first = 0, count = 0;
  const RankSchedule *schedule = nullptr;

  size_t entry = 0, next = 0; ///< indices in the schedule and in the task's events
  const TimedTask *task = nullptr;
  std::set<size_t> sentAhead; ///< events after `next` that are already processed
  /// Time 0 of the task. Late messages delay it.
  Picoseconds start = 0;
};

/// A source rank, a destination rank and a channel.
struct Route {
  size_t source, destination;
  int64_t channel;
  bool operator<(const Route &other) const {
    return std::tie(source, destination, channel) <
           std::tie(other.source, other.destination, other.channel);
  }
};
struct PendingMessage {
  Picoseconds arrival;
  int64_t bytes;
  Picoseconds sent; ///< when its send began
};

class TaskReplay {
public:
  TaskReplay(TimeMachine machine, const proto::DtuDescription &description,
             const std::vector<RankConfig> &ranks,
             const std::vector<std::unique_ptr<DecodedProgram>> &programs,
             const std::vector<RankSchedule> &schedules, StepLog *log)
      : machine(std::move(machine)), timings(description, ranks, programs, log != nullptr),
        configs(ranks), schedules(schedules) {
    if (log)
      logger.emplace(ranks, *log);
  }

  absl::StatusOr<TimingResult> run();

private:
  absl::Status findGroups();
  absl::StatusOr<const TimedTask *> taskOf(const ReplayGroup &group, TaskRun run);
  void count(const ReplayGroup &group, const TimedTask &task);
  absl::Status begin(ReplayGroup &group);
  void end(ReplayGroup &group);
  /// Advances the group through tasks without messages, to its next message or to its end.
  absl::Status resume(size_t group);
  absl::Status meet(size_t group, Picoseconds now);
  void send(const ReplayGroup &group, const TaskEvent &event, Picoseconds now);
  bool sendAhead(ReplayGroup &group);
  absl::Status deadlock() const;

  TimeMachine machine;
  TaskTimings timings;
  const std::vector<RankConfig> &configs;
  const std::vector<RankSchedule> &schedules;
  std::vector<ReplayGroup> groups;
  std::map<const GroupTask *, TimedTask> tasks;
  std::map<Route, std::deque<PendingMessage>> pending;
  std::map<Route, size_t> waiting; ///< the group that waits on each route
  /// The time at which a group reaches its next message. Groups that are due at the same time run
  /// in the order of their numbers.
  using Due = std::pair<Picoseconds, size_t>;
  std::priority_queue<Due, std::vector<Due>, std::greater<Due>> due;
  int64_t instructions = 0;
  std::optional<ReplayLog> logger;
};

/// The ranks of a group are consecutive and numbered from 0.
absl::Status TaskReplay::findGroups() {
  for (size_t rank = 0; rank < configs.size(); ++rank) {
    if (configs[rank].rankInGroup == 0)
      groups.push_back({rank, 0, &schedules[rank]});
    if (groups.empty() || configs[rank].rankInGroup != static_cast<int64_t>(groups.back().count))
      return absl::InvalidArgumentError(
          absl::StrCat("rank ", rank, " is number ", configs[rank].rankInGroup,
                       " of its group, which does not follow the number of the previous rank"));
    ++groups.back().count;
    const RankSchedule &first = *groups.back().schedule, &own = schedules[rank];
    if (!std::equal(own.begin(), own.end(), first.begin(), first.end(),
                    [](const TaskRun &a, const TaskRun &b) {
                      return a.program == b.program && a.microBatch == b.microBatch;
                    }))
      return absl::InvalidArgumentError(
          absl::StrCat("rank ", rank, " has a different schedule than its group"));
  }
  return absl::OkStatus();
}

absl::StatusOr<const TimedTask *> TaskReplay::taskOf(const ReplayGroup &group, TaskRun run) {
  ST_ASSIGN_OR_RETURN(std::shared_ptr<const GroupTask> of,
                      timings.task(group.first, group.count, run));
  auto [it, isNew] = tasks.try_emplace(of.get());
  TimedTask &task = it->second;
  if (!isNew)
    return &task;
  task = sumUpRanks(std::move(of), group.first);
  return &task;
}

/// Counts the work of a task each time it runs.
void TaskReplay::count(const ReplayGroup &group, const TimedTask &task) {
  instructions += task.instructions;
  const ProgramId program = (*group.schedule)[group.entry].program;
  for (const RankSet &set : task.of->rankSets)
    for (size_t i = 0; i < set.ranks.size(); ++i) {
      machine.count(set.ranks[i], set.measured->ranks[i]);
      const TaskMessages &ofRank = task.of->rankMessages[set.ranks[i] - group.first];
      for (const MessageScript::Sent &sent : ofRank.script->sent) {
        const auto peer = static_cast<size_t>(ofRank.peers[sent.peer]);
        if (peer < group.first || peer >= group.first + group.count)
          continue;
        const LinkPath path = machine.path(set.ranks[i], peer);
        machine.countMessage(path, sent.bytes, sent.count);
        if (logger)
          logger->addTraffic(path, set.ranks[i], program, sent.bytes * sent.count);
      }
    }
}

absl::Status TaskReplay::begin(ReplayGroup &group) {
  ST_ASSIGN_OR_RETURN(group.task, taskOf(group, (*group.schedule)[group.entry]));
  group.next = 0;
  count(group, *group.task);
  if (logger)
    logger->begin(group.first, group.task->of, group.start, group.task->duration);
  for (size_t rank = group.first; rank < group.first + group.count; ++rank)
    machine.timings()[rank].taskStart.push_back(group.start);
  return absl::OkStatus();
}

void TaskReplay::end(ReplayGroup &group) {
  group.start += group.task->duration;
  group.task = nullptr;
  group.sentAhead.clear();
  ++group.entry;
  for (size_t rank = group.first; rank < group.first + group.count; ++rank) {
    machine.timings()[rank].taskEnd.push_back(group.start);
    machine.endTask(rank);
    machine.timings()[rank].finish = group.start;
  }
}

absl::Status TaskReplay::resume(size_t index) {
  ReplayGroup &group = groups[index];
  while (true) {
    while (group.sentAhead.count(group.next))
      ++group.next;
    if (group.task && group.next < group.task->events.size()) {
      due.push({group.start + group.task->events[group.next].time, index});
      return absl::OkStatus();
    }
    if (group.task)
      end(group);
    if (group.entry == group.schedule->size())
      return absl::OkStatus();
    ST_RETURN_IF_ERROR(begin(group));
  }
}

void TaskReplay::send(const ReplayGroup &group, const TaskEvent &event, Picoseconds now) {
  const auto destination = static_cast<size_t>(event.message.peer);
  const LinkPath path = machine.path(event.rank, destination);
  // On shared links the message may take longer than when it was measured alone.
  const Picoseconds left = machine.occupyLinks(path, now, event.message.bytes);
  const Route route = {event.rank, destination, event.message.channel};
  const Picoseconds arrival = std::max(now + event.underway, left + path.latency);
  pending[route].push_back({arrival, event.message.bytes, now});
  if (logger)
    logger->addTraffic(path, event.rank, (*group.schedule)[group.entry].program,
                       event.message.bytes);
  auto found = waiting.find(route);
  if (found == waiting.end())
    return;
  due.push({now, found->second});
  waiting.erase(found);
}

absl::Status TaskReplay::meet(size_t index, Picoseconds now) {
  ReplayGroup &group = groups[index];
  const TaskEvent &event = group.task->events[group.next];
  if (event.isSend) {
    send(group, event, now);
  } else {
    const Route route = {static_cast<size_t>(event.message.peer), event.rank,
                         event.message.channel};
    std::deque<PendingMessage> &arrived = pending[route];
    if (arrived.empty()) {
      waiting.emplace(route, index);
      return absl::OkStatus();
    }
    const PendingMessage got = arrived.front();
    arrived.pop_front();
    if (got.bytes != event.message.bytes)
      return absl::InvalidArgumentError(
          absl::StrCat("rank ", event.rank, ": message of ", got.bytes, " bytes from rank ",
                       route.source, ", but the receive expects ", event.message.bytes));
    const Picoseconds late = std::max<Picoseconds>(0, got.arrival - (group.start + event.time));
    if (logger)
      logger->wait(event.rank, event.time, late, route.source, got.sent);
    group.start += late;
  }
  ++group.next;
  return resume(index);
}

/// A group stops at the first event for which one of its ranks waits. If another group waits for a
/// later send of a different rank of this group, that send must not be blocked: it is the first
/// message of a rank that receives nothing before it.
bool TaskReplay::sendAhead(ReplayGroup &group) {
  if (!group.task)
    return false;
  std::set<size_t> waits;
  for (size_t i = group.next; i < group.task->events.size(); ++i) {
    const TaskEvent &event = group.task->events[i];
    if (!event.isSend) {
      waits.insert(event.rank);
    } else if (!waits.count(event.rank) && group.sentAhead.insert(i).second) {
      send(group, event, group.start + event.time);
      return true;
    }
  }
  return false;
}

absl::Status TaskReplay::deadlock() const {
  std::string waits;
  for (const auto &[route, group] : waiting)
    if (waits.size() < 400)
      absl::StrAppend(&waits, waits.empty() ? " " : ", ", "rank ", route.destination,
                      " waits for a message from rank ", route.source);
  return absl::FailedPreconditionError(absl::StrCat("deadlock in replayed time:", waits));
}

absl::StatusOr<TimingResult> TaskReplay::run() {
  ST_RETURN_IF_ERROR(findGroups());
  for (size_t group = 0; group < groups.size(); ++group)
    ST_RETURN_IF_ERROR(resume(group));
  while (true) {
    if (due.empty() && std::none_of(groups.begin(), groups.end(),
                                    [&](ReplayGroup &group) { return sendAhead(group); }))
      break;
    while (!due.empty()) {
      auto [now, group] = due.top();
      due.pop();
      ST_RETURN_IF_ERROR(meet(group, now));
    }
  }
  if (!waiting.empty())
    return deadlock();
  TimingResult result = machine.summarize(instructions, timings.simulatedInstructions());
  result.simulatedTasks = timings.simulatedTasks();
  if (logger)
    logger->finish([&](int32_t link) { return machine.linkName(link); });
  return result;
}

} // namespace

absl::StatusOr<std::vector<TimedTask>>
timeTasks(const proto::DtuDescription &description, const std::vector<RankConfig> &ranks,
          const std::vector<std::unique_ptr<DecodedProgram>> &programs, size_t first, size_t count,
          const std::vector<TaskRun> &runs) {
  ST_RETURN_IF_ERROR(TimeMachine::create(description, ranks).status());
  TaskTimings timings(description, ranks, programs);
  std::vector<TimedTask> tasks;
  Picoseconds longest = 0;
  for (const TaskRun &run : runs) {
    ST_ASSIGN_OR_RETURN(std::shared_ptr<const GroupTask> task, timings.task(first, count, run));
    tasks.push_back(sumUpRanks(std::move(task), first));
    longest = std::max(longest, tasks.back().duration);
  }
  // A receive starts before the message is needed. With messages that arrive after the end of any
  // task, the remaining time of the task is the part that needs them.
  TaskTimings late(description, ranks, programs, /*logs=*/false, /*arrival=*/longest);
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (std::all_of(tasks[i].events.begin(), tasks[i].events.end(),
                    [](const TaskEvent &event) { return event.isSend; }))
      continue;
    ST_ASSIGN_OR_RETURN(std::shared_ptr<const GroupTask> task, late.task(first, count, runs[i]));
    const Picoseconds rest = sumUpRanks(std::move(task), first).duration - longest;
    tasks[i].need = std::clamp<Picoseconds>(tasks[i].duration - rest, 0, tasks[i].duration);
  }
  return tasks;
}

absl::StatusOr<TimingResult>
replayTime(const proto::DtuDescription &description, const std::vector<RankConfig> &ranks,
           const std::vector<std::unique_ptr<DecodedProgram>> &programs,
           const std::vector<RankSchedule> &schedules, StepLog *log) {
  ST_ASSIGN_OR_RETURN(TimeMachine machine, TimeMachine::create(description, ranks));
  return TaskReplay(std::move(machine), description, ranks, programs, schedules, log).run();
}

} // namespace st::dtu
