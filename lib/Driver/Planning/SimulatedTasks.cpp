#include "lib/Driver/Planning/SimulatedPrograms.h"

#include "lib/Support/StatusMacros.h"
#include "st/Runtime/Client.h"

#include <deque>

using namespace mlir;
using namespace mlir::st;
using ::st::LoneTask;
using ::st::StageKind;
using ::st::StageWork;

/// Moves device groups to other first clusters. Enlarges the memory, because several groups of a
/// reduced layout may be on the same cluster.
static void place(::st::proto::Executable &executable, ArrayRef<int64_t> starts) {
  ::st::proto::DtuDescription &dtu = *executable.mutable_dtu();
  constexpr double kEnough = 64;
  dtu.mutable_l3_bytes_per_chip()->set_value(kEnough * dtu.l3_bytes_per_chip().value());
  const int64_t period = dtu.clusters_per_chip() * dtu.chips_per_group();
  for (auto [group, start] : llvm::zip_equal(executable.groups(), starts))
    dtu.set_max_chips(std::max<int64_t>(dtu.max_chips(),
                                        llvm::divideCeil(start + group.device_ids_size(), period) *
                                            dtu.chips_per_group()));
  for (auto [group, start] : llvm::zip_equal(*executable.mutable_groups(), starts))
    for (int64_t i = 0; i < group.device_ids_size(); ++i) {
      const int64_t cluster = start + i, perChip = dtu.clusters_per_chip();
      group.set_device_ids(static_cast<int>(i),
                           cluster / perChip * dtu.ids_per_chip() + cluster % perChip);
    }
}

double SimulatedPrograms::phaseTime(const ::st::proto::Group &group, ArrayRef<LoneTask> tasks,
                                    StringRef phase) {
  double sum = 0;
  for (auto [task, timed] : llvm::zip_equal(group.tasks(), tasks))
    if (task.phase() == phase)
      sum += static_cast<double>(timed.duration);
  return sum;
}

namespace {
/// A message between tasks of two groups, in picoseconds from the start of each task.
struct MessageTimes {
  double send = 0, underway = 0; ///< when it is sent, and how long until it has arrived
  double need = 0;               ///< when the receiver's task needs it

  /// The lag from the sender's task to the receiver's task with which the receiver does not wait.
  double lag() const { return send + underway - need; }
};
} // namespace

/// Returns the message of a phase that the tasks of group `to` wait for longest. None if no message
/// is sent.
static std::optional<MessageTimes> latestMessage(const ::st::proto::Group &from,
                                                 ArrayRef<LoneTask> fromTasks,
                                                 const ::st::proto::Group &to,
                                                 ArrayRef<LoneTask> toTasks, StringRef phase,
                                                 int64_t shards) {
  using Route = std::tuple<int64_t, int64_t, int64_t>;
  std::map<Route, std::deque<const LoneTask::Message *>> sent;
  for (auto [task, timed] : llvm::zip_equal(from.tasks(), fromTasks))
    if (task.phase() == phase)
      for (const LoneTask::Message &message : timed.messages)
        if (message.isSend)
          sent[{message.rank, message.peer, message.channel}].push_back(&message);
  // Replicas whose messages share a link drift apart until each uses the link alone. So the time is
  // that of the replica whose messages arrive first.
  std::map<int64_t, MessageTimes> latest; // by replica
  for (auto [task, timed] : llvm::zip_equal(to.tasks(), toTasks))
    if (task.phase() == phase)
      for (const LoneTask::Message &message : timed.messages) {
        auto found =
            message.isSend ? sent.end() : sent.find({message.peer, message.rank, message.channel});
        if (found == sent.end() || found->second.empty())
          continue;
        const LoneTask::Message &own = *found->second.front();
        found->second.pop_front();
        const MessageTimes times = {static_cast<double>(own.time),
                                    static_cast<double>(own.underway),
                                    static_cast<double>(timed.need)};
        auto [last, isNew] = latest.try_emplace((message.rank - to.first_rank()) / shards, times);
        if (times.lag() > last->second.lag())
          last->second = times;
      }
  if (latest.empty())
    return std::nullopt;
  auto minimum = llvm::min_element(
      latest, [](const auto &a, const auto &b) { return a.second.lag() < b.second.lag(); });
  return minimum->second;
}

absl::StatusOr<std::unique_ptr<::st::Executable>>
SimulatedPrograms::load(const Program &program, const Placement &placement) const {
  ::st::proto::Executable executable = program.executable;
  place(executable, placement);
  ::st::ClientOptions options;
  options.timingOnly = true;
  return makeClient(options)->load(executable);
}

absl::StatusOr<std::vector<std::vector<LoneTask>>>
SimulatedPrograms::timeGroups(const Program &program, const Placement &placement,
                              const std::vector<size_t> &groups) const {
  ST_ASSIGN_OR_RETURN(std::unique_ptr<::st::Executable> loaded, load(program, placement));
  std::vector<std::vector<LoneTask>> timed(program.executable.groups_size());
  for (size_t group : groups) {
    ST_ASSIGN_OR_RETURN(timed[group], loaded->timeEachTask(static_cast<int64_t>(group)));
  }
  return timed;
}

/// `previous` and `next`: groups of the program that the group receives from and sends to, or -1.
absl::StatusOr<StageWork> SimulatedPrograms::measure(const Program &program, size_t own,
                                                     int64_t previous, int64_t next,
                                                     const Placement &placement,
                                                     const ::st::SimulatedKey &key) const {
  std::vector<size_t> groups = {own};
  for (int64_t other : {previous, next})
    if (other >= 0)
      groups.push_back(static_cast<size_t>(other));
  ST_ASSIGN_OR_RETURN(auto timed, timeGroups(program, placement, groups));
  const ::st::proto::Group &group = program.executable.groups(static_cast<int>(own));
  StageWork work = {};
  for (auto [part, phase] : {std::pair(::st::PrologueTime, "prologue"),
                             {::st::StatisticsTime, "statistics"},
                             {::st::ForwardTime, "forward"},
                             {::st::BackwardTime, "backward"},
                             {::st::WeightTime, "weight"},
                             {::st::TotalsTime, "totals"},
                             {::st::UpdateTime, "update"}})
    work[part] = phaseTime(group, timed[own], phase);
  auto between = [&](int64_t from, int64_t to, StringRef phase) -> std::optional<MessageTimes> {
    if (from < 0 || to < 0)
      return std::nullopt;
    // Replicas that communicate in a phase's tasks are synchronised there: in backward tasks from
    // ZeRO-2 on, which reduce gradients, and in all from ZeRO-3 on, which gather weights.
    // The ranks of a replica are synchronised in all tasks, and so are replicas that share experts.
    const int64_t level = phase == "forward" ? 3 : 2,
                  replicas = key.zero >= level ? key.replicas : key.expert,
                  shards = key.replicaDevices() * replicas;
    return latestMessage(program.executable.groups(static_cast<int>(from)), timed[from],
                         program.executable.groups(static_cast<int>(to)), timed[to], phase, shards);
  };
  const auto number = static_cast<int64_t>(own);
  const MessageTimes ahead = between(number, next, "forward").value_or(MessageTimes()),
                     back = between(number, previous, "backward").value_or(MessageTimes());
  work[::st::ForwardSend] = ahead.send;
  work[::st::ForwardUnderway] = ahead.underway;
  work[::st::BackwardSend] = back.send;
  work[::st::BackwardUnderway] = back.underway;
  work[::st::ForwardNeed] = between(previous, number, "forward").value_or(MessageTimes()).need;
  work[::st::BackwardNeed] = between(next, number, "backward").value_or(MessageTimes()).need;
  // Only the first and the last stage share a table.
  const int64_t sharer = own == kFirst ? previous : next;
  auto lagTo = [&](StringRef phase) {
    const std::optional<MessageTimes> times = between(number, sharer, phase);
    return times ? times->lag() : ::st::kNoLag;
  };
  work[::st::PrologueLag] = own == kFirst ? lagTo("prologue") : ::st::kNoLag;
  work[::st::UpdateLag] = lagTo("update");
  const auto slots = static_cast<double>(program.slots[own]),
             stash = static_cast<double>(program.stashBytes[own]);
  for (const ::st::proto::MemoryClass &entry : group.memory()) {
    const auto bytes = static_cast<double>(entry.bytes());
    if (entry.name() == "parameters")
      work[::st::ParameterBytes] += bytes;
    else if (entry.name() == "gradients")
      work[::st::GradientBytes] += bytes;
    else if (entry.name() == "optimizer")
      work[::st::OptimizerBytes] += bytes;
    else if (entry.name() == "activations")
      work[::st::StepBytes] += bytes - stash * slots;
    else if (entry.name() == "workspace")
      work[::st::WorkspaceBytes] += bytes;
    else if (entry.name() == "inputs")
      work[::st::InputBytes] += bytes / static_cast<double>(program.executable.micro_batches());
  }
  work[::st::ActivationBytes] = stash;
  return work;
}

absl::StatusOr<StageWork>
SimulatedPrograms::measureModelStage(const Program &program, int64_t stage, int64_t own,
                                     int64_t previous, int64_t next,
                                     const ::st::SimulatedKey &key) const {
  const int64_t stages = key.modelStages, before = (stage + stages - 1) % stages,
                after = (stage + 1) % stages;
  Placement placement(stages, next);
  placement[before] = previous;
  placement[after] = next;
  placement[stage] = own;
  return measure(program, static_cast<size_t>(stage), before, after, placement, key);
}

absl::StatusOr<StageWork> SimulatedPrograms::stage(const ::st::SimulatedKey &key, StageKind kind,
                                                   const ::st::StagePlace &place) {
  ST_ASSIGN_OR_RETURN(const std::vector<Program> *compiled, programsOf(key));
  const ::st::proto::DtuDescription &dtu = compiled->front().executable.dtu();
  // The placement affects tasks only by the position of a group on its chip, and by whether a
  // neighbour is on the same chip, a linked chip or beyond.
  const int64_t perChip = dtu.clusters_per_chip(), period = perChip * dtu.chips_per_group(),
                ranks = key.groupDevices(), start = place.own * ranks % period;
  auto shift = [&](int64_t other) {
    const int64_t away = other * ranks - place.own * ranks, reach = 2 * period;
    return std::abs(away) <= reach ? away : (away < 0 ? -reach : reach) + away % period;
  };
  const int64_t toPrevious = shift(place.previous), toNext = shift(place.next);
  auto [found, isNew] = stages.try_emplace({key, kind, start, toPrevious, toNext, place.stage},
                                           absl::UnknownError(""));
  if (!isNew)
    return found->second;
  const int64_t own = start + 4 * period, previous = own + toPrevious, next = own + toNext;
  const Program &program = compiled->front();
  if (key.modelStages > 1) {
    found->second = measureModelStage(program, place.stage, own, previous, next, key);
    return found->second;
  }
  auto measureStage = [&]() -> absl::StatusOr<StageWork> {
    switch (kind) {
    case StageKind::Single:
      return measure(program, 0, -1, -1, {start}, key);
    case StageKind::First:
      return measure(program, kFirst, kLast, kMiddle, {own, next, next, previous}, key);
    case StageKind::Middle:
      return measure(program, kMiddle, kFirst, kDeeper, {previous, own, next, next}, key);
    case StageKind::Last:
      return measure(program, kLast, kDeeper, kFirst, {next, previous, previous, own}, key);
    }
    llvm_unreachable("unknown kind of stage");
  };
  if (key.modelStages == 1) {
    found->second = measureStage();
    return found->second;
  }
  found->second = withOneLayer(key, measureStage(),
                               key.isPipelined ? key.stageLayers : layersOfPrograms().first);
  return found->second;
}

/// One of the `layers` layers that `more` has beyond `less`.
static StageWork layerOf(StageWork more, const StageWork &less, int64_t layers) {
  for (auto [a, b] : llvm::zip_equal(more, less))
    a = (a - b) / static_cast<double>(layers);
  more[::st::PrologueLag] = more[::st::UpdateLag] = 0;            // only for shared tables
  more[::st::ForwardUnderway] = more[::st::BackwardUnderway] = 0; // only for links
  return more;
}

absl::StatusOr<StageWork> SimulatedPrograms::withOneLayer(const ::st::SimulatedKey &key,
                                                          absl::StatusOr<StageWork> work,
                                                          int64_t layerCount) {
  if (!work.ok() || layerCount == 1)
    return work;
  ST_ASSIGN_OR_RETURN(const StageWork layer, this->layer(key));
  for (auto [part, ofLayer] : llvm::zip_equal(*work, layer))
    part -= ofLayer * static_cast<double>(layerCount - 1);
  return work;
}

absl::StatusOr<StageWork> SimulatedPrograms::layer(const ::st::SimulatedKey &key) {
  auto [found, isNew] = layers.try_emplace(key, absl::UnknownError(""));
  if (!isNew)
    return found->second;
  auto make = [&]() -> absl::StatusOr<StageWork> {
    if (key.modelStages > 0)
      return StageWork{};
    ST_ASSIGN_OR_RETURN(const std::vector<Program> *compiled, programsOf(key));
    if (!key.isPipelined) {
      ST_ASSIGN_OR_RETURN(StageWork few, measure((*compiled)[0], 0, -1, -1, {0}, key));
      ST_ASSIGN_OR_RETURN(StageWork more, measure((*compiled)[1], 0, -1, -1, {0}, key));
      const auto [fewLayers, moreLayers] = layersOfPrograms();
      return layerOf(more, few, moreLayers - fewLayers);
    }
    // With all groups at equal distances, differences are due to layers.
    const ::st::proto::DtuDescription &dtu = compiled->front().executable.dtu();
    const int64_t period = dtu.clusters_per_chip() * dtu.chips_per_group(),
                  apart = llvm::divideCeil(key.groupDevices(), period) * period;
    const Placement placement = {0, apart, 2 * apart, 3 * apart};
    ST_ASSIGN_OR_RETURN(StageWork less,
                        measure(compiled->front(), kMiddle, kFirst, kDeeper, placement, key));
    ST_ASSIGN_OR_RETURN(StageWork more,
                        measure(compiled->front(), kDeeper, kMiddle, kLast, placement, key));
    return layerOf(more, less, kMoreLayers);
  };
  found->second = make();
  return found->second;
}
