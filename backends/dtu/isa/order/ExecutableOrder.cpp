#include "backends/dtu/isa/order/ExecutableOrder.h"

#include "backends/dtu/isa/Binary.h"
#include "backends/dtu/isa/order/ProgramOrder.h"
#include "backends/dtu/isa/order/RunDependence.h"
#include "backends/dtu/isa/order/Stretches.h"
#include "backends/dtu/isa/order/messages/StepMessages.h"
#include "lib/Support/StatusMacros.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>

namespace st::dtu {
namespace {

/// Skeleton instructions followed per instruction of the budget.
constexpr int64_t kSkeletonInstructions = 10;
/// Runs followed at a time, independent of the number of host cores.
constexpr size_t kWave = 4;

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

struct TaskProgram {
  Program program;
  StretchCode code;
  RunDependence dependence;
  /// Return messages that the followed runs need, by the values on which these runs depend.
  std::map<std::string, std::vector<ReturnNeeded>> returns;
};

class StepProof {
public:
  StepProof(const proto::Executable &executable, int64_t work)
      : executable(executable), work(work) {}

  absl::StatusOr<ExecutableOrder> run();

private:
  /// A run of a program that differs from earlier ones.
  struct Run {
    const proto::Group *group;
    int64_t rank;
    const proto::ScheduleEntry *entry;
    TaskProgram *task;
    std::string key; ///< the values that the run depends on
  };
  using Route = std::tuple<int64_t, int64_t, int64_t>; ///< source, destination, channel

  absl::Status decodePrograms();
  absl::Status provePrograms();
  void findRuns();
  absl::Status proveWave(absl::Span<const Run> wave, int64_t limit);
  absl::Status proveReturns(const proto::Group &group, const proto::ScheduleEntry &entry);

  TaskProgram &programOf(const proto::Group &group, int64_t task) {
    return *programs[&group.tasks(static_cast<int>(task))];
  }

  const proto::Executable &executable;
  const int64_t work;
  ExecutableOrder result;
  std::map<const proto::Task *, std::shared_ptr<TaskProgram>> programs;
  std::unique_ptr<StepMessages> messages;
  StretchMemory stretches;
  std::vector<Run> runs; ///< one run of each program comes first
};

/// The binary form without names.
std::string codeOf(Program &program) {
  std::string name = std::exchange(program.name, {});
  std::vector<decltype(Stream::labels)> labels;
  std::vector<decltype(Stream::labelStarts)> starts;
  for (Stream &stream : program.streams) {
    labels.push_back(std::exchange(stream.labels, {}));
    starts.push_back(std::exchange(stream.labelStarts, {}));
  }
  std::string code = encode(program);
  program.name = std::move(name);
  for (size_t i = 0; i < labels.size(); ++i) {
    program.streams[i].labels = std::move(labels[i]);
    program.streams[i].labelStarts = std::move(starts[i]);
  }
  return code;
}

absl::Status StepProof::decodePrograms() {
  // Programs with the same code may have several names.
  std::map<std::string, std::shared_ptr<TaskProgram>> known;
  CodeForms forms;
  for (const proto::Group &group : executable.groups())
    for (const proto::Task &task : group.tasks()) {
      ST_ASSIGN_OR_RETURN(Program decoded, decode(task.program()));
      std::shared_ptr<TaskProgram> &created = known[codeOf(decoded)];
      if (!created) {
        created = std::make_shared<TaskProgram>();
        created->program = std::move(decoded);
        created->dependence = dependenceOf(created->program, /*peers=*/false);
        created->code = forms.codeOf(created->program);
      }
      programs[&task] = created;
    }
  return absl::OkStatus();
}

void StepProof::findRuns() {
  std::set<std::pair<const TaskProgram *, std::string>> seen;
  std::set<const TaskProgram *> met;
  std::vector<Run> others;
  for (const proto::Group &group : executable.groups())
    for (const proto::ScheduleEntry &entry : group.schedule())
      for (int64_t rank = 0; rank < group.device_ids_size(); ++rank) {
        TaskProgram &task = programOf(group, entry.task());
        std::string key = task.dependence.keyOf(runViewOf(group, rank, entry.micro_batch()));
        if (!seen.insert({&task, key}).second)
          continue;
        Run run{&group, rank, &entry, &task, std::move(key)};
        (met.insert(&task).second ? runs : others).push_back(std::move(run));
      }
  std::move(others.begin(), others.end(), std::back_inserter(runs));
  result.runs = static_cast<int64_t>(runs.size());
}

/// Follows at most `limit` instructions of each run.
absl::Status StepProof::proveWave(absl::Span<const Run> wave, int64_t limit) {
  std::vector<absl::StatusOr<ProgramOrder>> orders(wave.size(), absl::UnknownError(""));
  std::vector<StretchMemory> found(wave.size(), StretchMemory(&stretches));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < wave.size(); ++i)
    threads.emplace_back([&, i] {
      const Run &run = wave[i];
      const RunView view = runViewOf(*run.group, run.rank, run.entry->micro_batch());
      orders[i] = proveOrder(run.task->code, view, limit, found[i]);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (StretchMemory &one : found)
    stretches.take(std::move(one));
  for (size_t i = 0; i < wave.size(); ++i) {
    const Run &run = wave[i];
    absl::StatusOr<ProgramOrder> &order = orders[i];
    result.executed += order.ok() ? order->executed : limit;
    if (absl::IsResourceExhausted(order.status()))
      continue;
    if (!order.ok())
      return absl::InvalidArgumentError(
          absl::StrCat("group \"", run.group->name(), "\", rank ", run.rank, ", micro-batch ",
                       run.entry->micro_batch(), ": ", order.status().message()));
    ++result.proven;
    if (!order->returns.empty())
      run.task->returns[run.key] = std::move(order->returns);
  }
  return absl::OkStatus();
}

/// Each message carries the sends that happened before it, as vector clocks over the ranks of the
/// group; these show which messages have returned. Messages from other groups have arrived and
/// imply no order. Each rank has its own needs, unless its run was not followed.
absl::Status StepProof::proveReturns(const proto::Group &group, const proto::ScheduleEntry &entry) {
  using Knowledge = std::vector<uint32_t>; ///< by rank, the sends that are complete
  const TaskProgram &task = programOf(group, entry.task());
  const auto count = static_cast<size_t>(group.device_ids_size());
  std::vector<std::shared_ptr<const std::vector<LinkEvent>>> events(count);
  for (size_t rank = 0; rank < count; ++rank) {
    ST_ASSIGN_OR_RETURN(events[rank], messages->eventsOf(group, static_cast<int64_t>(rank), entry));
  }
  struct Walk {
    size_t event = 0, sends = 0, receives = 0;
    Knowledge known;
    const std::vector<ReturnNeeded> *needs = nullptr;
  };
  std::vector<Walk> walks(count);
  for (size_t rank = 0; rank < count; ++rank) {
    walks[rank].known.resize(count);
    const RunView view = runViewOf(group, static_cast<int64_t>(rank), entry.micro_batch());
    if (auto needs = task.returns.find(task.dependence.keyOf(view)); needs != task.returns.end())
      walks[rank].needs = &needs->second;
  }
  absl::flat_hash_map<Route, std::deque<Knowledge>> inner;
  const int64_t first = group.first_rank(), end = first + static_cast<int64_t>(count);
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t rank = 0; rank < count; ++rank) {
      Walk &walk = walks[rank];
      const int64_t self = first + static_cast<int64_t>(rank);
      for (; walk.event < events[rank]->size(); ++walk.event, moved = true) {
        const LinkEvent &event = (*events[rank])[walk.event];
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
        if (!walk.needs)
          continue;
        auto needed = std::lower_bound(
            walk.needs->begin(), walk.needs->end(), walk.receives,
            [](const ReturnNeeded &entry, size_t receives) { return entry.receives < receives; });
        if (needed != walk.needs->end() && needed->receives == walk.receives &&
            walk.known[rank] < needed->sends)
          return absl::InvalidArgumentError(
              absl::StrCat("group \"", group.name(), "\", rank ", rank, ": ", needed->what));
      }
    }
  }
  for (size_t rank = 0; rank < count; ++rank)
    if (walks[rank].event < events[rank]->size())
      return absl::InvalidArgumentError(absl::StrCat(
          "group \"", group.name(), "\", rank ", rank, ", program '", task.program.name,
          "' waits forever for its message ", walks[rank].receives));
  return absl::OkStatus();
}

absl::Status StepProof::provePrograms() {
  findRuns();
  for (size_t first = 0; first < runs.size() && result.executed < work; first += kWave) {
    // One large program must not use up the budget of the others.
    const auto limit = (work - result.executed + kWave - 1) / static_cast<int64_t>(kWave);
    ST_RETURN_IF_ERROR(proveWave(absl::MakeConstSpan(runs).subspan(first, kWave), limit));
  }
  // Ranks are followed together, whichever of them have known results.
  std::set<std::tuple<const TaskProgram *, const proto::Group *, int64_t>> followed;
  for (const Run &run : runs) {
    const int64_t microBatch = run.task->dependence.onMicroBatch ? run.entry->micro_batch() : -1;
    if (!run.task->returns.count(run.key) ||
        !followed.insert({run.task, run.group, microBatch}).second)
      continue;
    absl::Status status = proveReturns(*run.group, *run.entry);
    if (absl::IsResourceExhausted(status))
      --result.proven;
    else if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<ExecutableOrder> StepProof::run() {
  ST_RETURN_IF_ERROR(decodePrograms());
  std::map<const proto::Task *, const Program *> decoded;
  for (const auto &entry : programs)
    decoded[entry.first] = &entry.second->program;
  messages = std::make_unique<StepMessages>(executable, decoded,
                                            std::min(work, INT64_MAX / kSkeletonInstructions) *
                                                kSkeletonInstructions);
  absl::StatusOr<int64_t> arrived = messages->prove();
  result.isStepProven = arrived.ok();
  if (arrived.ok())
    result.messages = *arrived;
  else if (!absl::IsResourceExhausted(arrived.status()))
    return arrived.status();
  ST_RETURN_IF_ERROR(provePrograms());
  return result;
}

} // namespace

absl::StatusOr<ExecutableOrder> proveOrder(const proto::Executable &executable, int64_t work) {
  return StepProof(executable, work).run();
}

} // namespace st::dtu
