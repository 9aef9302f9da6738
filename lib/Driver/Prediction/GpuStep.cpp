#include "lib/Driver/Prediction/GpuStep.h"

#include "lib/Costs/Profile.h"
#include "lib/Driver/Prediction/GpuCommandCosts.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

using namespace mlir::st;
namespace proto = ::st::proto;

namespace {

/// The progress of a rank.
struct RankState {
  const proto::Group *group = nullptr;
  absl::Span<const int64_t> table;
  int64_t device = 0;
  int entry = 0;                                     ///< index in its schedule
  size_t command = 0;                                ///< index in the entry's task
  double kernels = 0, transfers = 0;                 ///< end times of its streams
  bool hasArrived = false;                           ///< at the current exchange
  std::map<std::vector<int64_t>, int64_t> exchanges; ///< number of past exchanges, by their members
};

/// Members that wait at the same exchange.
struct Rendezvous {
  size_t arrived = 0;
  double start = 0;
  bool isOver = false;
};

class GpuStepSimulator {
public:
  GpuStepSimulator(const proto::Executable &program, const ::st::Costs &costs)
      : program(program), costs(costs), gpusPerNode(program.cuda().gpu().gpus_per_node()) {}

  absl::StatusOr<std::optional<GpuStep>> run();

private:
  absl::Status prepare();
  bool advance(int64_t rank);
  bool runCommand(int64_t rank, const TimedCommand &command);
  bool exchange(int64_t rank, const TimedCommand &command);
  void runKernel(RankState &state, GpuStep::Run &run, const TimedCommand &command);
  bool receive(int64_t rank, const TimedCommand &command);
  void send(int64_t rank, const TimedCommand &command);
  double timeOfExchange(const std::vector<int64_t> &members, const TimedCommand &command) const;
  double timeOfMessage(int64_t from, int64_t to, double bytes) const;
  std::vector<GpuStep::Work> worksOf(const proto::Group &group);
  int64_t nodeOf(int64_t rank) const { return states[rank].device / gpusPerNode; }

  /// The start of a command on its stream, and the wait before it.
  static double startOf(const RankState &state, const TimedCommand &command) {
    if (command.waits)
      return std::max(state.kernels, state.transfers);
    return command.aside ? state.transfers : state.kernels;
  }
  static void end(RankState &state, const TimedCommand &command, double time) {
    (command.aside ? state.transfers : state.kernels) = time;
  }

  using Members = std::vector<int64_t>;
  const proto::Executable &program;
  const ::st::Costs &costs;
  const int64_t gpusPerNode;
  std::map<const proto::Task *, std::vector<TimedCommand>> tasks;
  std::vector<RankState> states;
  /// Arrival times of messages, by sender, receiver and channel.
  std::map<std::tuple<int64_t, int64_t, int64_t>, std::deque<double>> messages;
  /// By members and their number of earlier exchanges.
  std::map<std::pair<Members, int64_t>, Rendezvous> rendezvousByMembers;
  bool dependsOnData = false;
  GpuStep step;
};

} // namespace

absl::Status GpuStepSimulator::prepare() {
  for (const proto::Group &group : program.groups()) {
    for (const proto::Task &task : group.tasks()) {
      ST_ASSIGN_OR_RETURN(std::optional<std::vector<TimedCommand>> commands,
                          timeCommands(task, program.cuda(), costs));
      dependsOnData |= !commands;
      if (commands)
        tasks[&task] = *std::move(commands);
    }
    for (int i = 0; i < group.device_ids_size(); ++i) {
      RankState state;
      state.group = &group;
      state.table = absl::MakeConstSpan(group.rank_tables().data() + i * group.table_size(),
                                        static_cast<size_t>(group.table_size()));
      state.device = group.device_ids(i);
      states.push_back(state);
      step.ranks.emplace_back(static_cast<size_t>(group.schedule_size()));
    }
  }
  return absl::OkStatus();
}

void GpuStepSimulator::runKernel(RankState &state, GpuStep::Run &run, const TimedCommand &command) {
  end(state, command, startOf(state, command) + command.us);
  step.serialSum += command.us;
  if (!command.aside)
    run.kernels += command.us;
}

double GpuStepSimulator::timeOfMessage(int64_t from, int64_t to, double bytes) const {
  if (states[from].device == states[to].device)
    return costs.memoryPass(2 * bytes, 0).total();
  return costs.transfer(bytes, nodeOf(from) != nodeOf(to), /*sharers=*/1);
}

double GpuStepSimulator::timeOfExchange(const Members &members, const TimedCommand &command) const {
  std::map<int64_t, int> inNode;
  std::set<int64_t> devices;
  for (int64_t member : members) {
    ++inNode[nodeOf(member)];
    devices.insert(states[member].device);
  }
  const double allBytes = command.bytes * static_cast<double>(members.size());
  if (devices.size() == 1)
    return costs.memoryPass(2 * allBytes, 0).total();
  ::st::GroupPlacement group;
  group.ranks = static_cast<int>(members.size());
  group.perNode = 1;
  for (auto [node, count] : inNode)
    group.perNode = std::max(group.perNode, count);
  // Groups of other ranks on the nodes are at the same exchange.
  group.sharers = static_cast<int>(std::max<int64_t>(
      1, std::min<int64_t>(gpusPerNode, static_cast<int64_t>(states.size())) / group.perNode));
  group.stride = group.perNode > 1
                     ? static_cast<int>(std::max<int64_t>(
                           1, std::abs(states[members[1]].device - states[members[0]].device)))
                     : 1;
  return costs.collective(command.isSame ? "all_gather" : "all_to_all", allBytes, group).device;
}

/// Returns true if all members have arrived; the last one releases the others.
bool GpuStepSimulator::exchange(int64_t rank, const TimedCommand &command) {
  RankState &state = states[rank];
  auto table =
      state.table.subspan(static_cast<size_t>(command.first), static_cast<size_t>(command.count));
  const Members members(table.begin(), table.end());
  const std::pair<Members, int64_t> key = {members, state.exchanges[members]};
  Rendezvous &rendezvous = rendezvousByMembers[key];
  const double own = startOf(state, command);
  if (!state.hasArrived) {
    state.hasArrived = true;
    ++rendezvous.arrived;
    rendezvous.start = std::max(rendezvous.start, own);
    rendezvous.isOver = rendezvous.arrived == members.size();
  }
  if (!rendezvous.isOver)
    return false;
  const double us = timeOfExchange(members, command);
  end(state, command, rendezvous.start + us);
  state.hasArrived = false;
  ++state.exchanges[members];
  step.serialSum += us;
  if (--rendezvous.arrived == 0)
    rendezvousByMembers.erase(key);
  return true;
}

void GpuStepSimulator::send(int64_t rank, const TimedCommand &command) {
  RankState &state = states[rank];
  const int64_t to = state.table[static_cast<size_t>(command.peer)];
  if (to < 0)
    return;
  runKernel(state, step.ranks[rank][state.entry], command);
  const double left = command.aside ? state.transfers : state.kernels;
  messages[{rank, to, command.channel}].push_back(left + timeOfMessage(rank, to, command.bytes));
}

bool GpuStepSimulator::receive(int64_t rank, const TimedCommand &command) {
  RankState &state = states[rank];
  GpuStep::Run &run = step.ranks[rank][state.entry];
  const int64_t from = state.table[static_cast<size_t>(command.peer)];
  if (from >= 0) {
    std::deque<double> &queue = messages[{from, rank, command.channel}];
    if (queue.empty())
      return false;
    const double own = startOf(state, command), arrival = std::max(own, queue.front());
    queue.pop_front();
    run.waits += arrival - own;
    end(state, command, arrival);
    TimedCommand copy = command;
    copy.waits = false;
    runKernel(state, run, copy);
    return true;
  }
  runKernel(state, run, command);
  return true;
}

/// Returns true if the rank has passed the command.
bool GpuStepSimulator::runCommand(int64_t rank, const TimedCommand &command) {
  RankState &state = states[rank];
  switch (command.kind) {
  case TimedCommand::Kernel:
    runKernel(state, step.ranks[rank][state.entry], command);
    return true;
  case TimedCommand::Exchange:
    return exchange(rank, command);
  case TimedCommand::Send:
    send(rank, command);
    return true;
  case TimedCommand::Receive:
    return receive(rank, command);
  }
  return true;
}

/// Runs a rank until it waits for another one. Returns true if it progressed.
bool GpuStepSimulator::advance(int64_t rank) {
  RankState &state = states[rank];
  bool hasMoved = false;
  while (state.entry < state.group->schedule_size()) {
    const proto::Task &task =
        state.group->tasks(static_cast<int>(state.group->schedule(state.entry).task()));
    const std::vector<TimedCommand> &commands = tasks[&task];
    GpuStep::Run &run = step.ranks[rank][state.entry];
    if (state.command == 0 && !state.hasArrived)
      run.start = state.kernels;
    while (state.command < commands.size()) {
      if (!runCommand(rank, commands[state.command]))
        return hasMoved;
      hasMoved = true;
      ++state.command;
    }
    // A task ends when both of its streams do.
    state.kernels = state.transfers = std::max(state.kernels, state.transfers);
    run.end = state.kernels;
    // Waits that overlap kernels may cost nothing.
    const double still = std::max(0.0, run.end - run.start - run.kernels);
    run.waits = std::min(run.waits, still);
    run.collectives = still - run.waits;
    state.command = 0;
    ++state.entry;
    hasMoved = true;
  }
  return hasMoved;
}

/// Sums the kernels of a rank of the group by name.
std::vector<GpuStep::Work> GpuStepSimulator::worksOf(const proto::Group &group) {
  std::map<std::string, GpuStep::Work> byName;
  for (const proto::ScheduleEntry &entry : group.schedule())
    for (const TimedCommand &command : tasks[&group.tasks(static_cast<int>(entry.task()))]) {
      if (command.kind != TimedCommand::Kernel)
        continue;
      GpuStep::Work &work = byName[command.name];
      work.kind = command.work;
      work.name = command.name;
      work.launches += command.times;
      work.us += command.us;
      const auto times = static_cast<double>(command.times);
      work.flops += command.flops * times;
      work.moved += command.moved * times;
    }
  std::vector<GpuStep::Work> works;
  for (auto &[name, work] : byName)
    works.push_back(std::move(work));
  std::stable_sort(works.begin(), works.end(),
                   [](const GpuStep::Work &a, const GpuStep::Work &b) { return a.us > b.us; });
  return works;
}

absl::StatusOr<std::optional<GpuStep>> GpuStepSimulator::run() {
  ST_RETURN_IF_ERROR(prepare());
  if (dependsOnData)
    return std::nullopt;
  for (bool hasMoved = true; hasMoved;) {
    hasMoved = false;
    for (int64_t rank = 0; rank < static_cast<int64_t>(states.size()); ++rank)
      hasMoved |= advance(rank);
  }
  const proto::Group *busiest = nullptr;
  for (size_t rank = 0; rank < states.size(); ++rank) {
    if (states[rank].entry < states[rank].group->schedule_size())
      return absl::InvalidArgumentError(
          absl::StrCat("rank ", rank, " waits forever for another rank"));
    double kernels = 0;
    for (const GpuStep::Run &run : step.ranks[rank])
      kernels += run.kernels;
    if (!busiest || kernels > step.kernels)
      busiest = states[rank].group;
    step.kernels = std::max(step.kernels, kernels);
    step.total = std::max(step.total, states[rank].kernels);
  }
  if (busiest)
    step.works = worksOf(*busiest);
  return std::move(step);
}

absl::StatusOr<std::optional<GpuStep>> mlir::st::simulateGpuStep(const proto::Executable &program,
                                                                 const ::st::Costs &costs) {
  return GpuStepSimulator(program, costs).run();
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Nodes of this GPU with one network card per GPU.
static proto::ClusterDescription clusterOf(const proto::GpuDescription &gpu) {
  proto::ClusterDescription cluster;
  cluster.set_name(gpu.name());
  cluster.set_device(gpu.name());
  cluster.set_devices_per_node(gpu.gpus_per_node());
  cluster.set_max_nodes(gpu.max_nodes());
  auto set = [](proto::Figure *figure, double value) { figure->set_value(value); };
  set(cluster.mutable_multiprocessors(), gpu.multiprocessors());
  *cluster.mutable_f32_tflops() = gpu.f32_tflops();
  *cluster.mutable_f16_tflops() = gpu.f16_tflops();
  *cluster.mutable_memory_gbytes_per_second() = gpu.memory_gbytes_per_second();
  set(cluster.mutable_fast_domain(), gpu.gpus_per_node());
  *cluster.mutable_node_gbytes_per_second() = gpu.node_gbytes_per_second();
  *cluster.mutable_node_latency_ns() = gpu.node_latency_ns();
  set(cluster.mutable_cards_per_node(), gpu.gpus_per_node());
  constexpr double kBits = 8;
  set(cluster.mutable_card_gbits_per_second(), kBits * gpu.network_gbytes_per_second().value());
  set(cluster.mutable_card_efficiency(), 1);
  *cluster.mutable_network_latency_ns() = gpu.network_latency_ns();
  cluster.set_card_per_device(true);
  return cluster;
}

absl::StatusOr<std::unique_ptr<DescribedGpu>>
mlir::st::describeGpu(const proto::GpuDescription &gpu) {
  const std::string name = "st";
  auto described = std::make_unique<DescribedGpu>();
  ST_ASSIGN_OR_RETURN(described->profile, ::st::findProfile(name));
  ST_ASSIGN_OR_RETURN(proto::FittedConstants fitted,
                      ::st::findConstants(gpu.name(), described->profile));
  ST_ASSIGN_OR_RETURN(::st::GpuConstants constants, ::st::readConstants(fitted));
  described->constants = absl::StrCat(fitted.cluster(), ", ", fitted.profile());
  described->costs =
      std::make_unique<::st::GpuCosts>(clusterOf(gpu), described->profile, constants);
  return described;
}
