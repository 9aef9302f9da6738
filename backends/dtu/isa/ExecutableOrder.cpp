#include "backends/dtu/isa/ExecutableOrder.h"

#include "backends/dtu/isa/Binary.h"
#include "backends/dtu/isa/Fields.h"
#include "backends/dtu/isa/ProgramOrder.h"
#include "lib/Support/StatusMacros.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>

namespace st::dtu {
namespace {

//===----------------------------------------------------------------------===//
// What the runs of a program differ in
//===----------------------------------------------------------------------===//

/// Registers that an instruction reads for anything but the name of a peer.
class Reads {
public:
  explicit Reads(std::set<uint8_t> &registers) : registers(registers) {}

  template <typename I> void operator()(const I &instruction) {
    isLink = std::is_same_v<I, Send> || std::is_same_v<I, Recv>;
    Fields<I>::visit(*this, instruction);
  }

  void reg(const char *name, uint8_t value) {
    if (!isLink || absl::string_view(name) != "peer")
      registers.insert(value);
  }
  void affine(const char *, const Affine &value) {
    for (const Affine::Term &term : value.terms)
      registers.insert(term.reg);
  }
  void address(const char *name, const Address &value) {
    affine(name, value.offset);
    affine(name, value.core);
  }
  void view(const char *name, const View &value) { address(name, value.address); }
  void extent(const char *, const Extent &value) { registers.insert(value.reg); }
  void sizes(const char *name, const std::vector<Extent> &values) {
    for (const Extent &value : values)
      extent(name, value);
  }
  void operand(const char *name, const TileOperand &value) { address(name, value.address); }
  void operands(const std::array<TileOperand, 3> &values) {
    for (const TileOperand &value : values)
      operand("", value);
  }
  template <typename... Rest> void integer(const char *, Rest &&...) {}
  template <typename... Rest> void bits(const char *, Rest &&...) {}
  template <typename... Rest> void flag(const char *, Rest &&...) {}
  template <typename... Rest> void enumeration(const char *, Rest &&...) {}

private:
  std::set<uint8_t> &registers;
  bool isLink = false;
};

/// What of a run its proof, or its messages, depend on.
struct Dependence {
  bool onRank = false, onMicroBatch = false, onWholeTable = false;
  std::set<int64_t> entries; ///< of the table
};

Dependence dependenceOf(const Program &program) {
  Dependence found;
  for (const Stream &stream : program.streams) {
    std::set<uint8_t> read;
    for (const Instruction &instruction : stream.instructions)
      // A table's and an index's own result is no read of theirs.
      if (auto *table = std::get_if<Table>(&instruction))
        Reads(read).affine("", table->index);
      else if (auto *index = std::get_if<Index>(&instruction))
        Reads(read).affine("", index->value);
      else
        std::visit(Reads(read), instruction);
    found.onRank |= read.count(kRank) != 0;
    found.onMicroBatch |= read.count(kMicroBatch) != 0;
    for (const Instruction &instruction : stream.instructions) {
      auto *table = std::get_if<Table>(&instruction);
      if (!table || !read.count(table->dst))
        continue;
      if (table->index.terms.empty())
        found.entries.insert(table->index.constant);
      else
        found.onWholeTable = true;
    }
  }
  return found;
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

struct TaskProgram {
  Program program;
  Dependence dependence;
  /// Whether each message of a run is sent, by the order of its events.
  std::vector<bool> isSend;
  std::vector<ReturnNeeded> returns;
  bool isFollowed = false; ///< so that isSend is known
};

/// A rank on its way through its schedule's messages.
struct RankWalk {
  const proto::Group *group = nullptr;
  int64_t rank = 0;
  int entry = 0;
  size_t event = 0, sends = 0, receives = 0; ///< of the task at hand
  std::shared_ptr<const std::vector<LinkEvent>> sent, received;
};

class StepProof {
public:
  StepProof(const proto::Executable &executable, int64_t work)
      : executable(executable), work(work) {}

  absl::StatusOr<ExecutableOrder> run();

private:
  using Route = std::tuple<int64_t, int64_t, int64_t>; ///< source, destination, channel

  absl::Status decodePrograms();
  absl::Status provePrograms();
  absl::Status proveRun(const proto::Group &group, int64_t rank, const proto::ScheduleEntry &entry,
                        bool isFirst);
  absl::Status proveReturns(const proto::Group &group, const proto::ScheduleEntry &entry);
  RunView viewOf(const proto::Group &group, int64_t rank, int64_t microBatch) const;
  absl::Status begin(RankWalk &walk);
  /// Goes on with a rank until it waits or has ended.
  absl::Status advance(size_t index);
  absl::Status exchange();
  absl::Status reportWaits() const;

  TaskProgram &programOf(const proto::Group &group, int64_t task) {
    return *programs[&group.tasks(static_cast<int>(task))];
  }

  const proto::Executable &executable;
  const int64_t work;
  ExecutableOrder result;
  std::map<const proto::Task *, std::shared_ptr<TaskProgram>> programs;
  std::set<std::string> seen; ///< runs
  std::vector<RankWalk> ranks;
  absl::flat_hash_map<Route, std::deque<int64_t>> mail; ///< bytes of messages on the way
  absl::flat_hash_map<Route, size_t> waiting;
  std::deque<size_t> ready;
};

absl::Status StepProof::decodePrograms() {
  // Programs of one code may have several names.
  std::map<std::string, std::shared_ptr<TaskProgram>> known;
  for (const proto::Group &group : executable.groups())
    for (const proto::Task &task : group.tasks()) {
      ST_ASSIGN_OR_RETURN(Program decoded, decode(task.program()));
      Program code = decoded;
      code.name.clear();
      for (Stream &stream : code.streams) {
        stream.labels.clear();
        stream.labelStarts.clear();
      }
      std::shared_ptr<TaskProgram> &made = known[encode(code)];
      if (!made) {
        made = std::make_shared<TaskProgram>();
        made->program = std::move(decoded);
        made->dependence = dependenceOf(made->program);
      }
      programs[&task] = made;
    }
  return absl::OkStatus();
}

RunView StepProof::viewOf(const proto::Group &group, int64_t rank, int64_t microBatch) const {
  RunView view{rank, microBatch, {}};
  auto first = group.rank_tables().begin() + static_cast<ptrdiff_t>(rank * group.table_size());
  view.table.assign(first, first + static_cast<ptrdiff_t>(group.table_size()));
  return view;
}

/// Whether what one run needs to come back another one needs as well.
bool areIn(const std::vector<ReturnNeeded> &some, const std::vector<ReturnNeeded> &all) {
  return std::all_of(some.begin(), some.end(), [&](const ReturnNeeded &one) {
    return std::any_of(all.begin(), all.end(), [&](const ReturnNeeded &other) {
      return other.receives <= one.receives && other.sends >= one.sends;
    });
  });
}

absl::Status StepProof::proveRun(const proto::Group &group, int64_t rank,
                                 const proto::ScheduleEntry &entry, bool isFirst) {
  TaskProgram &task = programOf(group, entry.task());
  const Dependence &dependence = task.dependence;
  RunView view = viewOf(group, rank, entry.micro_batch());
  std::string key =
      absl::StrCat(reinterpret_cast<uintptr_t>(&task), "/", dependence.onRank ? rank : -1, "/",
                   dependence.onMicroBatch ? entry.micro_batch() : -1);
  for (size_t i = 0; i < view.table.size(); ++i)
    if (dependence.onWholeTable || dependence.entries.count(static_cast<int64_t>(i)))
      absl::StrAppend(&key, "/", view.table[i]);
  if (!seen.insert(key).second)
    return absl::OkStatus();
  ++result.runs;
  if (result.executed >= work)
    return absl::OkStatus();
  // One large program does not keep the others from their first run.
  const int64_t left = work - result.executed, limit = isFirst ? (left + 3) / 4 : left;
  absl::StatusOr<ProgramOrder> order = proveOrder(task.program, view, limit);
  if (absl::IsResourceExhausted(order.status())) {
    result.executed += limit;
    return absl::OkStatus();
  }
  if (!order.ok())
    return absl::InvalidArgumentError(absl::StrCat("group \"", group.name(), "\", rank ", rank,
                                                   ", micro-batch ", entry.micro_batch(), ": ",
                                                   order.status().message()));
  ++result.proven;
  result.executed += order->executed;
  if (task.isFollowed) {
    // Ranks of a ring need the same of it; others are followed by themselves.
    if (areIn(order->returns, task.returns))
      return absl::OkStatus();
    task.returns = std::move(order->returns);
    return proveReturns(group, entry);
  }
  task.isFollowed = true;
  for (const LinkEvent &event : order->events)
    task.isSend.push_back(event.isSend);
  task.returns = std::move(order->returns);
  if (task.returns.empty())
    return absl::OkStatus();
  return proveReturns(group, entry);
}

/// What comes back is known by what each message says of all sends that it was made from: vector
/// clocks over the ranks of the group. What other groups send is there, and says nothing.
absl::Status StepProof::proveReturns(const proto::Group &group, const proto::ScheduleEntry &entry) {
  using Knowledge = std::vector<uint32_t>; ///< by rank, the sends that are over
  const TaskProgram &task = programOf(group, entry.task());
  const auto count = static_cast<size_t>(group.device_ids_size());
  std::vector<std::vector<LinkEvent>> events(count);
  for (size_t rank = 0; rank < count; ++rank) {
    ST_ASSIGN_OR_RETURN(
        std::vector<LinkEvent> links,
        followLinks(task.program, viewOf(group, static_cast<int64_t>(rank), entry.micro_batch())));
    if (links.size() != task.isSend.size())
      return absl::InvalidArgumentError(absl::StrCat(
          "group \"", group.name(), "\", rank ", rank, ", program '", task.program.name, "' has ",
          links.size(), " messages, another run of it ", task.isSend.size(), "; expected as many"));
    // Sends and receives each keep their order.
    size_t sent = 0,
           received = static_cast<size_t>(std::count(task.isSend.begin(), task.isSend.end(), true));
    for (bool isSend : task.isSend)
      events[rank].push_back(links[isSend ? sent++ : received++]);
  }
  struct Walk {
    size_t event = 0, sends = 0, receives = 0;
    Knowledge known;
  };
  std::vector<Walk> walks(count);
  for (Walk &walk : walks)
    walk.known.resize(count);
  absl::flat_hash_map<Route, std::deque<Knowledge>> inner;
  const int64_t first = group.first_rank(), end = first + static_cast<int64_t>(count);
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t rank = 0; rank < count; ++rank) {
      Walk &walk = walks[rank];
      const int64_t self = first + static_cast<int64_t>(rank);
      for (; walk.event < events[rank].size(); ++walk.event, moved = true) {
        const LinkEvent &event = events[rank][walk.event];
        const bool isInner = event.peer >= first && event.peer < end;
        if (event.isSend) {
          ++walk.sends;
          if (!isInner)
            continue;
          Knowledge said = walk.known;
          said[rank] = static_cast<uint32_t>(walk.sends);
          inner[Route{self, event.peer, event.channel}].push_back(std::move(said));
          continue;
        }
        if (isInner) {
          std::deque<Knowledge> &queue = inner[Route{event.peer, self, event.channel}];
          if (queue.empty())
            break;
          for (size_t i = 0; i < count; ++i)
            walk.known[i] = std::max(walk.known[i], queue.front()[i]);
          queue.pop_front();
        }
        ++walk.receives;
        auto needed = std::lower_bound(
            task.returns.begin(), task.returns.end(), walk.receives,
            [](const ReturnNeeded &entry, size_t receives) { return entry.receives < receives; });
        if (needed != task.returns.end() && needed->receives == walk.receives &&
            walk.known[rank] < needed->sends)
          return absl::InvalidArgumentError(
              absl::StrCat("group \"", group.name(), "\", rank ", rank, ": ", needed->what));
      }
    }
  }
  for (size_t rank = 0; rank < count; ++rank)
    if (walks[rank].event < events[rank].size())
      return absl::InvalidArgumentError(absl::StrCat(
          "group \"", group.name(), "\", rank ", rank, ", program '", task.program.name,
          "' waits for ever for message ", walks[rank].receives, " of those that it receives"));
  return absl::OkStatus();
}

/// First one run of each program, then the others.
absl::Status StepProof::provePrograms() {
  std::set<const TaskProgram *> proven;
  for (bool isFirst : {true, false})
    for (const proto::Group &group : executable.groups())
      for (const proto::ScheduleEntry &entry : group.schedule()) {
        const bool isNew = proven.insert(&programOf(group, entry.task())).second;
        if (isFirst && !isNew)
          continue;
        int64_t count = isFirst ? 1 : group.device_ids_size();
        for (int64_t rank = 0; rank < count; ++rank)
          if (absl::Status status = proveRun(group, rank, entry, isFirst); !status.ok())
            return status;
      }
  return absl::OkStatus();
}

absl::Status StepProof::begin(RankWalk &walk) {
  const proto::ScheduleEntry &entry = walk.group->schedule(walk.entry);
  TaskProgram &task = programOf(*walk.group, entry.task());
  absl::StatusOr<std::vector<LinkEvent>> events =
      followLinks(task.program, viewOf(*walk.group, walk.rank, entry.micro_batch()));
  if (!events.ok())
    return events.status();
  if (events->size() != task.isSend.size())
    return absl::InvalidArgumentError(
        absl::StrCat("group \"", walk.group->name(), "\", rank ", walk.rank, ", program '",
                     task.program.name, "' has ", events->size(), " messages, another run of it ",
                     task.isSend.size(), "; expected as many"));
  auto sent = std::make_shared<std::vector<LinkEvent>>();
  auto received = std::make_shared<std::vector<LinkEvent>>();
  for (const LinkEvent &event : *events)
    (event.isSend ? sent : received)->push_back(event);
  walk.sent = std::move(sent);
  walk.received = std::move(received);
  walk.event = walk.sends = walk.receives = 0;
  return absl::OkStatus();
}

absl::Status StepProof::advance(size_t index) {
  RankWalk &walk = ranks[index];
  const auto self = static_cast<int64_t>(index);
  while (walk.entry < walk.group->schedule_size()) {
    const std::vector<bool> &isSend =
        programOf(*walk.group, walk.group->schedule(walk.entry).task()).isSend;
    if (isSend.empty()) {
      ++walk.entry;
      continue;
    }
    if (!walk.sent)
      if (absl::Status status = begin(walk); !status.ok())
        return status;
    for (; walk.event < isSend.size(); ++walk.event) {
      if (isSend[walk.event]) {
        const LinkEvent &event = (*walk.sent)[walk.sends++];
        if (event.peer < 0 || event.peer >= static_cast<int64_t>(ranks.size()))
          return absl::InvalidArgumentError(
              absl::StrCat("rank ", index, " sends to rank ", event.peer, " of ", ranks.size()));
        Route route{self, event.peer, event.channel};
        mail[route].push_back(event.bytes);
        ++result.messages;
        if (auto waits = waiting.find(route); waits != waiting.end()) {
          ready.push_back(waits->second);
          waiting.erase(waits);
        }
        continue;
      }
      const LinkEvent &event = (*walk.received)[walk.receives];
      Route route{event.peer, self, event.channel};
      std::deque<int64_t> &queue = mail[route];
      if (queue.empty()) {
        waiting[route] = index;
        return absl::OkStatus();
      }
      if (queue.front() != event.bytes)
        return absl::InvalidArgumentError(
            absl::StrCat("rank ", index, ", entry ", walk.entry, " of its schedule: message of ",
                         queue.front(), " bytes from rank ", event.peer, " on channel ",
                         event.channel, " where the receive takes ", event.bytes));
      queue.pop_front();
      ++walk.receives;
    }
    walk.sent = walk.received = nullptr;
    ++walk.entry;
  }
  return absl::OkStatus();
}

absl::Status StepProof::reportWaits() const {
  std::string text;
  for (const auto &[route, index] : waiting) {
    auto [source, destination, channel] = route;
    const RankWalk &walk = ranks[index];
    const proto::ScheduleEntry &entry = walk.group->schedule(walk.entry);
    absl::StrAppend(&text, text.empty() ? "" : ", ", "rank ", index, " in task '",
                    walk.group->tasks(static_cast<int>(entry.task())).name(), "', micro-batch ",
                    entry.micro_batch(), ", for receive ", walk.receives, " from rank ", source,
                    " on channel ", channel);
    if (text.size() > 300)
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat("waits for ever: ", text));
}

absl::Status StepProof::exchange() {
  for (const proto::Group &group : executable.groups())
    for (int64_t rank = 0; rank < group.device_ids_size(); ++rank) {
      ready.push_back(ranks.size());
      ranks.push_back({&group, rank});
    }
  while (!ready.empty()) {
    size_t index = ready.front();
    ready.pop_front();
    if (absl::Status status = advance(index); !status.ok())
      return status;
  }
  if (!waiting.empty())
    return reportWaits();
  for (const auto &[route, queue] : mail)
    if (!queue.empty())
      return absl::InvalidArgumentError(absl::StrCat(
          "rank ", std::get<0>(route), " sends ", queue.size(), " messages to rank ",
          std::get<1>(route), " on channel ", std::get<2>(route), " that nobody receives"));
  return absl::OkStatus();
}

absl::StatusOr<ExecutableOrder> StepProof::run() {
  ST_RETURN_IF_ERROR(decodePrograms());
  ST_RETURN_IF_ERROR(provePrograms());
  result.isStepProven = true;
  for (const auto &entry : programs)
    result.isStepProven &= entry.second->isFollowed;
  if (result.isStepProven)
    ST_RETURN_IF_ERROR(exchange());
  return result;
}

} // namespace

absl::StatusOr<ExecutableOrder> proveOrder(const proto::Executable &executable, int64_t work) {
  return StepProof(executable, work).run();
}

} // namespace st::dtu
