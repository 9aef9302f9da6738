#include "passes/Pipeline/Schedule.h"
#include "llvm/ADT/StringMap.h"
#include <deque>
#include <map>

using namespace mlir;
using namespace mlir::st;

namespace {
struct Message {
  int64_t microBatch = 0;
  SendOp send;
  double time = 0; ///< arrival
};

/// The position of one group in its schedule.
struct Walker {
  const GroupSchedule *schedule = nullptr;
  size_t entry = 0; ///< in the schedule
  size_t op = 0;    ///< among the messages of that entry's task
  double start = 0; ///< of that entry, given the messages so far
  GroupTimes times; ///< of earlier entries

  bool isDone() const { return entry == schedule->entries.size(); }
  const ScheduleEntry &current() const { return schedule->entries[entry]; }
};

class MessageRun {
public:
  MessageRun(ArrayRef<GroupSchedule> schedules, function_ref<double(TaskOp)> duration);
  LogicalResult run();
  SmallVector<GroupTimes> takeTimes();

private:
  using Channel = std::tuple<size_t, size_t, int64_t>; ///< source, destination, channel

  /// Runs one group until it waits or ends; returns whether it advanced.
  FailureOr<bool> advance(size_t group);
  FailureOr<bool> step(size_t group, Operation *op);
  LogicalResult checkMessage(const Message &message, RecvOp recv, int64_t microBatch);
  LogicalResult reportBlocked();
  LogicalResult reportUnread();
  FailureOr<size_t> findGroup(Operation *op, StringRef name);

  function_ref<double(TaskOp)> duration;
  SmallVector<Walker> walkers;
  llvm::StringMap<size_t> groups;
  DenseMap<Operation *, SmallVector<Operation *>> messages; ///< sends and receives of a task
  std::map<Channel, std::deque<Message>> queues;
};
} // namespace

MessageRun::MessageRun(ArrayRef<GroupSchedule> schedules, function_ref<double(TaskOp)> duration)
    : duration(duration) {
  for (const GroupSchedule &schedule : schedules) {
    ProgramOp program = schedule.program;
    groups[program.getSymName()] = walkers.size();
    walkers.push_back({&schedule});
    for (auto task : program.getOps<TaskOp>())
      for (Operation &op : task.getBody().front())
        if (isa<SendOp, RecvOp>(op))
          messages[task].push_back(&op);
  }
}

FailureOr<size_t> MessageRun::findGroup(Operation *op, StringRef name) {
  auto found = groups.find(name);
  if (found == groups.end())
    return op->emitOpError("names program @") << name << ", which does not exist";
  return found->second;
}

LogicalResult MessageRun::checkMessage(const Message &message, RecvOp recv, int64_t microBatch) {
  SendOp send = message.send;
  if (message.microBatch == microBatch && send.getOperand().getType() == recv.getType())
    return success();
  InFlightDiagnostic diagnostic = recv.emitOpError("expects ")
                                  << recv.getType() << " of micro-batch " << microBatch << ", gets "
                                  << send.getOperand().getType() << " of micro-batch "
                                  << message.microBatch;
  diagnostic.attachNote(send.getLoc()) << "sent here";
  return diagnostic;
}

FailureOr<bool> MessageRun::step(size_t group, Operation *op) {
  Walker &walker = walkers[group];
  int64_t microBatch = walker.current().microBatch;
  if (auto send = dyn_cast<SendOp>(op)) {
    auto to = findGroup(op, send.getGroup());
    if (failed(to))
      return failure();
    queues[{group, *to, send.getChannel()}].push_back(
        {microBatch, send, walker.start + duration(walker.current().task)});
    return true;
  }
  auto recv = cast<RecvOp>(op);
  auto from = findGroup(op, recv.getGroup());
  if (failed(from))
    return failure();
  std::deque<Message> &queue = queues[{*from, group, recv.getChannel()}];
  if (queue.empty())
    return false;
  if (failed(checkMessage(queue.front(), recv, microBatch)))
    return failure();
  walker.start = std::max(walker.start, queue.front().time);
  queue.pop_front();
  return true;
}

FailureOr<bool> MessageRun::advance(size_t group) {
  Walker &walker = walkers[group];
  bool moved = false;
  while (!walker.isDone()) {
    ArrayRef<Operation *> ops = messages[walker.current().task];
    for (; walker.op < ops.size(); ++walker.op) {
      FailureOr<bool> done = step(group, ops[walker.op]);
      if (failed(done))
        return failure();
      if (!*done)
        return moved;
      moved = true;
    }
    walker.times.push_back({walker.start, walker.start + duration(walker.current().task)});
    walker.start = walker.times.back().end;
    walker.op = 0;
    ++walker.entry;
    moved = true;
  }
  return moved;
}

LogicalResult MessageRun::reportBlocked() {
  std::optional<InFlightDiagnostic> diagnostic;
  for (Walker &walker : walkers) {
    if (walker.isDone())
      continue;
    TaskOp task = walker.current().task;
    auto recv = cast<RecvOp>(messages[task][walker.op]);
    std::string where;
    llvm::raw_string_ostream(where)
        << "@" << ProgramOp(walker.schedule->program).getSymName() << " waits in @"
        << task.getSymName() << ", micro-batch " << walker.current().microBatch << ", for @"
        << recv.getGroup() << " on channel " << recv.getChannel();
    if (!diagnostic)
      diagnostic.emplace(recv.emitOpError("waits forever: ") << where);
    else
      diagnostic->attachNote(recv.getLoc()) << where;
  }
  return failure();
}

LogicalResult MessageRun::reportUnread() {
  for (auto &[channel, queue] : queues)
    if (!queue.empty()) {
      SendOp send = queue.front().send;
      return send.emitOpError("to @")
             << send.getGroup() << " on channel " << send.getChannel() << " of micro-batch "
             << queue.front().microBatch << " is never received";
    }
  return success();
}

LogicalResult MessageRun::run() {
  bool moved = true;
  while (moved) {
    moved = false;
    for (size_t group = 0; group < walkers.size(); ++group) {
      FailureOr<bool> advanced = advance(group);
      if (failed(advanced))
        return failure();
      moved |= *advanced;
    }
  }
  if (!llvm::all_of(walkers, [](const Walker &walker) { return walker.isDone(); }))
    return reportBlocked();
  return reportUnread();
}

SmallVector<GroupTimes> MessageRun::takeTimes() {
  return llvm::map_to_vector(walkers, [](Walker &walker) { return std::move(walker.times); });
}

FailureOr<SmallVector<GroupTimes>> mlir::st::runMessages(ArrayRef<GroupSchedule> schedules,
                                                         function_ref<double(TaskOp)> duration) {
  MessageRun run(schedules, duration);
  if (failed(run.run()))
    return failure();
  return run.takeTimes();
}
