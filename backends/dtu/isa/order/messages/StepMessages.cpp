#include "backends/dtu/isa/order/messages/StepMessages.h"

#include "backends/dtu/isa/Binary.h"
#include "backends/dtu/isa/order/RunDependence.h"
#include "backends/dtu/isa/order/messages/GroupMessages.h"
#include "backends/dtu/isa/order/messages/SyncSkeleton.h"
#include "lib/Support/StatusMacros.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <deque>
#include <tuple>

namespace st::dtu {
namespace {

/// The maximum number of instructions of a full program that are followed to locate a deadlock.
constexpr int64_t kFullWork = 100'000'000;

using Route = std::tuple<int64_t, int64_t, int64_t>; ///< source, destination, channel

/// Walks the schedules of all groups with task summaries. Reaching the end proves that all messages
/// arrive. Stopping earlier is not a proof of a deadlock.
class GroupWalk {
public:
  /// For each schedule entry of a group, its summary.
  using Tasks = std::vector<std::shared_ptr<const GroupMessages>>;

  explicit GroupWalk(const std::vector<Tasks> &groups) : groups(groups), walks(groups.size()) {}

  /// Returns true if all messages arrive; counts them.
  bool run(int64_t &messages);

private:
  struct Walk {
    size_t entry = 0, phase = 0;
  };
  /// Advances a group until it waits or ends; returns false if a message has the wrong size.
  bool advance(size_t group);
  bool receive(size_t group, const GroupMessages::Phase &phase, bool &waits);

  const std::vector<Tasks> &groups;
  std::vector<Walk> walks;
  std::deque<size_t> ready;
  absl::flat_hash_map<Route, std::deque<int64_t>> mail;
  absl::flat_hash_map<Route, size_t> waiting;
  int64_t count = 0;
};

bool GroupWalk::receive(size_t group, const GroupMessages::Phase &phase, bool &waits) {
  for (const GroupMessages::Outer &outer : phase.receives) {
    Route route{outer.peer, outer.rank, outer.channel};
    waits = mail[route].empty();
    if (!waits)
      continue;
    waiting[route] = group;
    return true;
  }
  for (const GroupMessages::Outer &outer : phase.receives) {
    std::deque<int64_t> &queue = mail[Route{outer.peer, outer.rank, outer.channel}];
    if (queue.front() != outer.bytes)
      return false;
    queue.pop_front();
  }
  return true;
}

bool GroupWalk::advance(size_t group) {
  for (Walk &walk = walks[group]; walk.entry < groups[group].size(); ++walk.entry, walk.phase = 0) {
    const GroupMessages &task = *groups[group][walk.entry];
    for (; walk.phase < task.phases.size(); ++walk.phase) {
      const GroupMessages::Phase &phase = task.phases[walk.phase];
      bool waits = false;
      if (!receive(group, phase, waits))
        return false;
      if (waits)
        return true;
      for (const GroupMessages::Outer &outer : phase.sends) {
        Route route{outer.rank, outer.peer, outer.channel};
        mail[route].push_back(outer.bytes);
        ++count;
        if (auto waits = waiting.find(route); waits != waiting.end()) {
          ready.push_back(waits->second);
          waiting.erase(waits);
        }
      }
    }
    count += task.inner;
  }
  return true;
}

bool GroupWalk::run(int64_t &messages) {
  for (size_t group = 0; group < groups.size(); ++group)
    ready.push_back(group);
  while (!ready.empty()) {
    size_t group = ready.front();
    ready.pop_front();
    if (!advance(group))
      return false;
  }
  messages = count;
  return waiting.empty() &&
         std::all_of(mail.begin(), mail.end(), [](const auto &one) { return one.second.empty(); });
}

/// Walks the schedules of all ranks, message by message.
class RankWalks {
public:
  RankWalks(const proto::Executable &executable, StepMessages &step)
      : executable(executable), step(step) {}

  absl::StatusOr<int64_t> run();

private:
  /// The position of a rank in the messages of its schedule.
  struct Walk {
    const proto::Group *group = nullptr;
    int64_t rank = 0;
    int entry = 0;
    size_t event = 0, receives = 0; ///< in the current task
    RankEvents events;
  };

  /// Advances a rank until it waits or ends.
  absl::Status advance(size_t index);
  absl::Status send(size_t index, const LinkEvent &event);
  absl::Status receive(size_t index, const LinkEvent &event, bool &waits);
  absl::Status reportWaits() const;

  const proto::Executable &executable;
  StepMessages &step;
  std::vector<Walk> ranks;
  absl::flat_hash_map<Route, std::deque<int64_t>> mail; ///< sizes of messages in transit
  absl::flat_hash_map<Route, size_t> waiting;
  std::deque<size_t> ready;
  int64_t messages = 0;
};

absl::Status RankWalks::send(size_t index, const LinkEvent &event) {
  if (event.peer < 0 || event.peer >= static_cast<int64_t>(ranks.size()))
    return absl::InvalidArgumentError(absl::StrCat("rank ", index, " sends to rank ", event.peer,
                                                   ", but there are only ", ranks.size(),
                                                   " ranks"));
  Route route{static_cast<int64_t>(index), event.peer, event.channel};
  mail[route].push_back(event.bytes);
  ++messages;
  if (auto waits = waiting.find(route); waits != waiting.end()) {
    ready.push_back(waits->second);
    waiting.erase(waits);
  }
  return absl::OkStatus();
}

absl::Status RankWalks::receive(size_t index, const LinkEvent &event, bool &waits) {
  Route route{event.peer, static_cast<int64_t>(index), event.channel};
  std::deque<int64_t> &queue = mail[route];
  waits = queue.empty();
  if (waits) {
    waiting[route] = index;
    return absl::OkStatus();
  }
  if (queue.front() != event.bytes)
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", index, ", entry ", ranks[index].entry, " of its schedule: message of ",
        queue.front(), " bytes from rank ", event.peer, " on channel ", event.channel,
        ", but the receive expects ", event.bytes));
  queue.pop_front();
  ++ranks[index].receives;
  return absl::OkStatus();
}

absl::Status RankWalks::advance(size_t index) {
  Walk &walk = ranks[index];
  for (; walk.entry < walk.group->schedule_size(); ++walk.entry) {
    if (!walk.events) {
      ST_ASSIGN_OR_RETURN(walk.events,
                          step.eventsOf(*walk.group, walk.rank, walk.group->schedule(walk.entry)));
      walk.event = walk.receives = 0;
    }
    for (; walk.event < walk.events->size(); ++walk.event) {
      const LinkEvent &event = (*walk.events)[walk.event];
      bool waits = false;
      absl::Status status = event.isSend ? send(index, event) : receive(index, event, waits);
      if (!status.ok() || waits)
        return status;
    }
    walk.events = nullptr;
  }
  return absl::OkStatus();
}

absl::Status RankWalks::reportWaits() const {
  std::string text;
  for (const auto &[route, index] : waiting) {
    auto [source, destination, channel] = route;
    const Walk &walk = ranks[index];
    const proto::ScheduleEntry &entry = walk.group->schedule(walk.entry);
    absl::StrAppend(&text, text.empty() ? "" : ", ", "rank ", index, " in task '",
                    walk.group->tasks(static_cast<int>(entry.task())).name(), "', micro-batch ",
                    entry.micro_batch(), ", for receive ", walk.receives, " from rank ", source,
                    " on channel ", channel);
    if (text.size() > 300)
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat("waits forever: ", text));
}

absl::StatusOr<int64_t> RankWalks::run() {
  for (const proto::Group &group : executable.groups())
    for (int64_t rank = 0; rank < group.device_ids_size(); ++rank) {
      ready.push_back(ranks.size());
      ranks.push_back({&group, rank});
    }
  while (!ready.empty()) {
    size_t index = ready.front();
    ready.pop_front();
    ST_RETURN_IF_ERROR(advance(index));
  }
  if (!waiting.empty())
    return reportWaits();
  for (const auto &[route, queue] : mail)
    if (!queue.empty())
      return absl::InvalidArgumentError(absl::StrCat(
          "rank ", std::get<0>(route), " sends ", queue.size(), " messages to rank ",
          std::get<1>(route), " on channel ", std::get<2>(route), " that no rank receives"));
  return messages;
}

} // namespace

/// Shared by tasks that differ only in memory accesses.
struct StepMessages::Skeleton {
  Program program;
  const Program *example = nullptr; ///< the program of one such task
  RunDependence onRun, onRunAndPeers;
  /// For each message, whether it is a send; keyed by what a run depends on other than peers.
  std::map<std::string, std::vector<bool>> sends;
};

StepMessages::StepMessages(const proto::Executable &executable,
                           const std::map<const proto::Task *, const Program *> &programs,
                           int64_t work)
    : executable(executable), work(work) {
  std::map<std::string, Skeleton *> known;
  std::map<const Program *, Skeleton *> ofProgram;
  for (const auto &[task, program] : programs) {
    Skeleton *&created = ofProgram[program];
    if (!created) {
      Program bare = dtu::skeletonOf(*program);
      bare.name.clear();
      Skeleton *&same = known[encode(bare)];
      if (!same) {
        skeletons.push_back(std::make_unique<Skeleton>());
        same = skeletons.back().get();
        same->onRun = dependenceOf(bare, /*peers=*/false);
        same->onRunAndPeers = dependenceOf(bare, /*peers=*/true);
        same->program = std::move(bare);
        same->example = program;
      }
      created = same;
    }
    skeletonOfTask[task] = created;
  }
}

StepMessages::~StepMessages() = default;

absl::StatusOr<RankEvents> StepMessages::eventsOf(const proto::Group &group, int64_t rank,
                                                  const proto::ScheduleEntry &entry) {
  Skeleton &skeleton = *skeletonOfTask.at(&group.tasks(static_cast<int>(entry.task())));
  const RunView view = runViewOf(group, rank, entry.micro_batch());
  const std::string key = skeleton.onRun.keyOf(view);
  auto known = skeleton.sends.find(key);
  if (known == skeleton.sends.end()) {
    absl::StatusOr<ProgramOrder> order = proveWaits(skeleton.program, view, work);
    if (absl::IsResourceExhausted(order.status())) {
      work = 0;
      return order.status();
    }
    if (!order.ok()) {
      // The full program names the instruction, if it reaches the deadlock within the budget.
      absl::Status fullStatus = proveWaits(*skeleton.example, view, kFullWork).status();
      if (absl::IsResourceExhausted(fullStatus))
        fullStatus = order.status();
      return absl::InvalidArgumentError(absl::StrCat(
          "group \"", group.name(), "\", rank ", rank, ", micro-batch ", entry.micro_batch(), ": ",
          (fullStatus.ok() ? order.status() : fullStatus).message()));
    }
    work -= order->executed;
    known = skeleton.sends.emplace(key, std::vector<bool>()).first;
    for (const LinkEvent &event : order->events)
      known->second.push_back(event.isSend);
  }
  ST_ASSIGN_OR_RETURN(std::vector<LinkEvent> links, followLinks(skeleton.program, view));
  // Sends and receives each keep their order.
  const std::vector<bool> &isSend = known->second;
  auto sent = links.begin(),
       received = links.begin() + std::count(isSend.begin(), isSend.end(), true);
  auto events = std::make_shared<std::vector<LinkEvent>>();
  for (bool sends : isSend)
    events->push_back(*(sends ? sent++ : received++));
  return events;
}

absl::StatusOr<int64_t> StepMessages::prove() {
  using Key = std::tuple<const Skeleton *, const proto::Group *, int64_t>;
  std::map<Key, std::shared_ptr<const GroupMessages>> known;
  std::vector<GroupWalk::Tasks> groups;
  bool areClosed = true;
  for (const proto::Group &group : executable.groups()) {
    groups.emplace_back();
    for (const proto::ScheduleEntry &entry : group.schedule()) {
      const Skeleton *skeleton = skeletonOfTask.at(&group.tasks(static_cast<int>(entry.task())));
      const int64_t microBatch = skeleton->onRunAndPeers.onMicroBatch ? entry.micro_batch() : -1;
      auto [task, isNew] = known.try_emplace(Key{skeleton, &group, microBatch});
      if (isNew) {
        std::vector<RankEvents> events;
        for (int64_t rank = 0; rank < group.device_ids_size(); ++rank) {
          ST_ASSIGN_OR_RETURN(RankEvents one, eventsOf(group, rank, entry));
          events.push_back(std::move(one));
        }
        if (auto closed = closeTask(group.first_rank(), events))
          task->second = std::make_shared<const GroupMessages>(*std::move(closed));
      }
      areClosed &= task->second != nullptr;
      groups.back().push_back(task->second);
    }
  }
  int64_t messages = 0;
  if (areClosed && GroupWalk(groups).run(messages))
    return messages;
  return RankWalks(executable, *this).run();
}

} // namespace st::dtu
