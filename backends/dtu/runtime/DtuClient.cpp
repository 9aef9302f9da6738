#include "st/Runtime/Client.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "backends/dtu/isa/Binary.h"
#include "backends/dtu/runtime/ProcessLinks.h"
#include "backends/dtu/simulator/Simulator.h"
#include "lib/Proto/executable.pb.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Timing/DtuDescription.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

namespace st {
namespace {

/// The arena of a rank: host memory that the simulator owns. If another process simulates the rank,
/// only that process has the arena.
class DtuBuffer : public Buffer {
public:
  /// `base` is null if another process simulates the rank. `communicator` is null if there is one
  /// process.
  DtuBuffer(uint8_t *base, int64_t bytes, Communicator *communicator, int64_t owner)
      : base(base), bytes(bytes), communicator(communicator), owner(owner) {}

  int64_t size() const override { return bytes; }
  bool isLocal() const override { return base != nullptr; }
  const uint8_t *hostMemory() const override { return base; }

private:
  absl::Status writeWithin(int64_t offset, absl::Span<const uint8_t> from) override {
    if (base)
      std::copy(from.begin(), from.end(), base + offset);
    return absl::OkStatus();
  }

  absl::Status readWithin(int64_t offset, absl::Span<uint8_t> to) const override {
    if (base)
      std::copy_n(base + offset, to.size(), to.begin());
    return communicator ? communicator->broadcast(to, owner) : absl::OkStatus();
  }

  absl::Status readHereWithin(int64_t offset, absl::Span<uint8_t> to) const override {
    std::copy_n(base + offset, to.size(), to.begin());
    return absl::OkStatus();
  }

  uint8_t *base;
  int64_t bytes;
  Communicator *communicator;
  int64_t owner;
};

std::string engineName(const dtu::TraceTrack &track) {
  const char *name = track.engine == dtu::Engine::Core  ? "core"
                     : track.engine == dtu::Engine::Dte ? "dte"
                     : track.engine == dtu::Engine::Tx  ? "tx"
                                                        : "rx";
  return absl::StrCat(name, " ", track.index);
}

std::string deviceName(int64_t id) { return absl::StrCat("/device:XLA_DTU:", id); }

class DtuExecutable : public Executable {
public:
  /// The simulator allocates memory for data on first access, not here. `communicator` connects the
  /// processes that simulate the ranks together; null if this process simulates all of them.
  static absl::StatusOr<std::unique_ptr<DtuExecutable>>
  create(const proto::Executable &program, const proto::DtuDescription &description,
         dtu::SimulatorOptions options, const std::string &timeTasks, Communicator *communicator);

  absl::Status fillArenas(const proto::Executable &program);
  /// Adds a program that uses the same arenas. `options` are those of this program.
  absl::Status addOther(const proto::Executable &program, const proto::DtuDescription &description,
                        dtu::SimulatorOptions options);
  /// Declares that other programs will share the arenas, and records the part that this program
  /// uses.
  void startSharing(const proto::Executable &program) {
    shareArenas(std::make_shared<SharedArenas>(SharedArenas{this}), program);
  }

  int64_t numRanks() const override { return simulator->numRanks(); }
  Buffer *arena(int64_t rank) override { return arenas.empty() ? nullptr : &arenas[rank]; }
  int64_t touchMemory(int threads) override { return simulator->touchMemory(threads); }
  Event launchStep() override { return Event::completed(runStep()); }
  bool callBeforeUpdates(std::function<void(int64_t)> hook) override {
    for (const auto &[name, other] : others)
      other->callBeforeUpdates(hook);
    simulator->callBeforeUpdates(std::move(hook));
    return true;
  }
  Executable *other(absl::string_view name) override {
    auto it = others.find(name);
    return it == others.end() ? nullptr : it->second.get();
  }
  absl::StatusOr<StepTime> timeStep(StepTrace *trace, StepTimeline *timeline) override;
  absl::StatusOr<std::vector<LoneTask>> timeEachTask(int64_t group) const override;
  absl::StatusOr<std::vector<std::vector<int64_t>>>
  timeSideBySide(const std::vector<std::vector<int64_t>> &wanted) const override;
  absl::StatusOr<StepWork> lastStepWork() const override;
  std::vector<double> computeSeconds() const override { return simulator->computeSeconds(); }
  bool timeDependsOnData() const override { return loads; }

private:
  /// The arenas that several programs share.
  struct SharedArenas {
    const DtuExecutable *last = nullptr; ///< the program whose constants are in the arenas
  };
  struct Constant {
    size_t rank;
    int64_t offset;
    std::string data;
  };

  absl::Status runStep();
  absl::Status loadTasks(const proto::Executable &program);
  void shareArenas(std::shared_ptr<SharedArenas> arenas, const proto::Executable &program);
  StepTrace convert(const dtu::Trace &from) const;
  StepTimeline convert(const dtu::StepLog &from, const dtu::TimingResult &result) const;
  std::vector<TaskWork> sumTasks(size_t rank, const std::vector<dtu::TaskWork> &entries) const;

  /// Returns true if timeStep times each kind of task once.
  absl::StatusOr<bool> replays(bool traces) const;

  Communicator *communicator = nullptr;
  std::unique_ptr<dtu::ProcessLinks> links; // outlives the simulator
  std::unique_ptr<dtu::Simulator> simulator;
  std::string timeTasks;
  bool loads = false; ///< a program branches on values that it reads from memory
  std::vector<dtu::RankSchedule> schedules;
  std::vector<DtuBuffer> arenas;
  std::vector<int64_t> devices;            // of each rank
  std::vector<std::vector<int64_t>> tasks; // of each rank, by entry of its schedule
  std::vector<size_t> taskCounts;          // of each rank
  std::vector<size_t> firstRanks;          // first rank of each group, then the number of all ranks
  bool derated = false;
  // Set if several programs share the arenas.
  std::shared_ptr<SharedArenas> shared;
  std::vector<Constant> constants;
  std::map<std::string, std::unique_ptr<DtuExecutable>, std::less<>> others;
};

absl::StatusOr<std::unique_ptr<DtuExecutable>>
DtuExecutable::create(const proto::Executable &program, const proto::DtuDescription &description,
                      dtu::SimulatorOptions options, const std::string &timeTasks,
                      Communicator *communicator) {
  std::vector<dtu::RankConfig> ranks = dtu::ranksOf(program);
  auto executable = std::make_unique<DtuExecutable>();
  if (communicator) {
    executable->communicator = communicator;
    executable->links = std::make_unique<dtu::ProcessLinks>(*communicator);
    options.remote = executable->links.get();
  }
  executable->timeTasks = timeTasks;
  executable->derated = description.derates_size() > 0;
  for (const dtu::RankConfig &rank : ranks)
    executable->devices.push_back(rank.deviceId);
  ST_ASSIGN_OR_RETURN(executable->simulator,
                      dtu::Simulator::create(description, std::move(ranks), std::move(options)));
  ST_RETURN_IF_ERROR(executable->loadTasks(program));
  return executable;
}

// Groups that run the same code share one decoded program.
absl::Status DtuExecutable::loadTasks(const proto::Executable &program) {
  std::map<absl::string_view, dtu::ProgramId> loaded;
  for (const proto::Group &group : program.groups()) {
    std::vector<dtu::ProgramId> ids;
    for (const proto::Task &task : group.tasks()) {
      auto [it, isNew] = loaded.emplace(task.program(), -1);
      if (isNew) {
        ST_ASSIGN_OR_RETURN(dtu::Program decoded, dtu::decode(task.program()));
        for (const dtu::Stream &stream : decoded.streams)
          for (const dtu::Instruction &instruction : stream.instructions)
            loads |= std::holds_alternative<dtu::Load>(instruction);
        ST_ASSIGN_OR_RETURN(it->second, simulator->load(decoded));
      }
      ids.push_back(it->second);
    }
    firstRanks.push_back(schedules.size());
    dtu::RankSchedule schedule;
    std::vector<int64_t> entries;
    for (const proto::ScheduleEntry &entry : group.schedule()) {
      schedule.push_back({ids[entry.task()], entry.micro_batch(),
                          group.tasks(static_cast<int>(entry.task())).phase() == "update"});
      entries.push_back(entry.task());
    }
    schedules.insert(schedules.end(), group.device_ids_size(), schedule);
    tasks.insert(tasks.end(), group.device_ids_size(), entries);
    taskCounts.insert(taskCounts.end(), group.device_ids_size(), group.tasks_size());
  }
  firstRanks.push_back(schedules.size());
  return absl::OkStatus();
}

absl::Status DtuExecutable::fillArenas(const proto::Executable &program) {
  ST_RETURN_IF_ERROR(simulator->reserveMemory());
  for (const proto::Group &group : program.groups())
    for (int64_t i = 0; i < group.device_ids_size(); ++i) {
      const int64_t rank = static_cast<int64_t>(arenas.size());
      arenas.emplace_back(simulator->memory(rank), group.arena_bytes(), communicator,
                          communicator ? communicator->processOf(rank) : 0);
      for (auto &[name, other] : others)
        other->arenas.push_back(arenas.back());
      if (links && !links->isLocal(rank))
        continue;
      for (const proto::ConstantData &constant : group.constants()) {
        absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>(constant.data().data()),
                                        constant.data().size());
        ST_RETURN_IF_ERROR(arenas.back().write(constant.offset(), bytes));
      }
    }
  return absl::OkStatus();
}

void DtuExecutable::shareArenas(std::shared_ptr<SharedArenas> arenas,
                                const proto::Executable &program) {
  shared = std::move(arenas);
  for (const proto::Group &group : program.groups())
    for (int64_t i = 0; i < group.device_ids_size(); ++i)
      for (const proto::ConstantData &constant : group.constants())
        constants.push_back(
            {static_cast<size_t>(group.first_rank() + i), constant.offset(), constant.data()});
}

absl::Status DtuExecutable::addOther(const proto::Executable &program,
                                     const proto::DtuDescription &description,
                                     dtu::SimulatorOptions options) {
  options.memoryOf = simulator.get();
  options.dropMessages.clear();
  ST_ASSIGN_OR_RETURN(std::unique_ptr<DtuExecutable> other,
                      create(program, description, options, timeTasks, communicator));
  other->shareArenas(shared, program);
  others[program.name()] = std::move(other);
  return absl::OkStatus();
}

/// Restores this program's constants first if another program ran last, because that program has
/// overwritten them.
absl::Status DtuExecutable::runStep() {
  if (shared && shared->last != this) {
    for (const Constant &constant : constants)
      if (uint8_t *memory = simulator->memory(static_cast<int64_t>(constant.rank)))
        std::copy(constant.data.begin(), constant.data.end(), memory + constant.offset);
    shared->last = this;
  }
  return simulator->execute(schedules);
}

absl::StatusOr<bool> DtuExecutable::replays(bool traces) const {
  constexpr int64_t kMaxTimedRanks = 64;
  if (derated && timeTasks == "once")
    return absl::InvalidArgumentError("--derate makes links differ, but --time-tasks=once times "
                                      "each kind of task once for all devices");
  if (timeTasks != "once")
    return timeTasks == "auto" && !derated && numRanks() > kMaxTimedRanks && !traces && !loads;
  if (traces)
    return absl::InvalidArgumentError(
        "--trace shows every task and has no effect with --time-tasks=once");
  return true;
}

absl::StatusOr<StepTime> DtuExecutable::timeStep(StepTrace *trace, StepTimeline *timeline) {
  dtu::Trace rows;
  dtu::StepLog log;
  dtu::StepLog *const wanted = timeline ? &log : nullptr;
  StepTime time;
  if (communicator && loads)
    ST_RETURN_IF_ERROR(dtu::shareExecuted(*simulator, *communicator));
  ST_ASSIGN_OR_RETURN(bool isReplayed, replays(trace));
  ST_ASSIGN_OR_RETURN(dtu::TimingResult result,
                      isReplayed ? simulator->replayTime(schedules, wanted)
                                 : simulator->time(schedules, trace ? &rows : nullptr, wanted));
  if (trace)
    *trace = convert(rows);
  if (timeline)
    *timeline = convert(log, result);
  time.total = result.total;
  time.tasks = result.tasks;
  time.simulatedTasks = result.simulatedTasks;
  time.simulatedInstructions = result.simulatedInstructions;
  time.lowerBound = result.rooflineBound;
  time.serialSum = result.serialSum;
  for (const dtu::RankTiming &rank : result.ranks)
    time.ranks.push_back({rank.macsF32 + rank.macs16, rank.messages, rank.sentBytes,
                          rank.toHostBytes, rank.fromHostBytes, rank.matrixBusy, rank.vectorBusy,
                          rank.dteBusy, rank.txBusy, rank.rxBusy, rank.l3BurstBytes});
  for (size_t rank = 0; rank < result.ranks.size(); ++rank) {
    const dtu::RankTiming &timing = result.ranks[rank];
    time.work.ranks.push_back(sumTasks(rank, timing.tasks));
    for (size_t i = 0; i < tasks[rank].size(); ++i)
      time.work.ranks.back()[tasks[rank][i]].picoseconds += timing.taskEnd[i] - timing.taskStart[i];
  }
  for (const dtu::LinkTiming &link : result.links)
    time.work.links.push_back({link.name, link.bytes, link.busy});
  return time;
}

/// Sums the work of the entries of a rank's schedule by task.
std::vector<TaskWork> DtuExecutable::sumTasks(size_t rank,
                                              const std::vector<dtu::TaskWork> &entries) const {
  std::vector<TaskWork> sums(taskCounts[rank]);
  for (size_t i = 0; i < entries.size(); ++i) {
    TaskWork &sum = sums[tasks[rank][i]];
    const dtu::TaskWork &entry = entries[i];
    sum.macs += entry.macs;
    sum.l1Bytes += entry.l1Bytes;
    sum.l2Bytes += entry.l2Bytes;
    sum.l3Bytes += entry.l3Bytes;
    sum.toHostBytes += entry.toHostBytes;
    sum.fromHostBytes += entry.fromHostBytes;
    sum.sentBytes += entry.sentBytes;
    sum.receivedBytes += entry.receivedBytes;
    sum.messages += entry.messages;
    sum.instructions += entry.instructions;
  }
  return sums;
}

/// Times each task as it first occurs in the schedule.
absl::StatusOr<std::vector<LoneTask>> DtuExecutable::timeEachTask(int64_t group) const {
  if (group < 0 || group + 1 >= static_cast<int64_t>(firstRanks.size()))
    return absl::InvalidArgumentError(absl::StrCat("there is no device group ", group));
  const size_t first = firstRanks[group];
  const auto count = static_cast<int64_t>(firstRanks[group + 1] - first);
  std::vector<dtu::TaskRun> runs;
  std::vector<int64_t> ran; // the task of each run
  for (size_t i = 0; i < schedules[first].size(); ++i)
    if (std::find(ran.begin(), ran.end(), tasks[first][i]) == ran.end()) {
      runs.push_back(schedules[first][i]);
      ran.push_back(tasks[first][i]);
    }
  ST_ASSIGN_OR_RETURN(std::vector<dtu::LoneTask> timed,
                      simulator->timeTasks(static_cast<int64_t>(first), count, runs));
  std::vector<LoneTask> result(taskCounts[first]);
  for (size_t i = 0; i < timed.size(); ++i) {
    LoneTask &task = result[ran[i]];
    task.duration = timed[i].duration;
    task.need = timed[i].need;
    for (const dtu::LoneTask::Message &message : timed[i].messages)
      task.messages.push_back({message.isSend, message.rank, message.peer, message.channel,
                               message.bytes, message.time, message.underway});
  }
  return result;
}

absl::StatusOr<std::vector<std::vector<int64_t>>>
DtuExecutable::timeSideBySide(const std::vector<std::vector<int64_t>> &wanted) const {
  std::vector<dtu::RankSchedule> runs(schedules.size());
  for (size_t group = 0; group < wanted.size(); ++group) {
    const size_t first = firstRanks[group];
    dtu::RankSchedule schedule;
    for (int64_t task : wanted[group]) {
      const auto at = std::find(tasks[first].begin(), tasks[first].end(), task);
      if (at == tasks[first].end())
        return absl::InvalidArgumentError(
            absl::StrCat("device group ", group, " never runs task ", task));
      schedule.push_back(schedules[first][static_cast<size_t>(at - tasks[first].begin())]);
    }
    std::fill(runs.begin() + static_cast<int64_t>(first),
              runs.begin() + static_cast<int64_t>(firstRanks[group + 1]), schedule);
  }
  ST_ASSIGN_OR_RETURN(dtu::TimingResult result, simulator->timeSideBySide(runs));
  std::vector<std::vector<int64_t>> durations(wanted.size());
  for (size_t group = 0; group < wanted.size(); ++group)
    for (size_t entry = 0; entry < wanted[group].size(); ++entry) {
      int64_t sum = 0;
      for (size_t rank = firstRanks[group]; rank < firstRanks[group + 1]; ++rank)
        sum += result.ranks[rank].taskEnd[entry] - result.ranks[rank].taskStart[entry];
      durations[group].push_back(sum /
                                 static_cast<int64_t>(firstRanks[group + 1] - firstRanks[group]));
    }
  return durations;
}

absl::StatusOr<StepWork> DtuExecutable::lastStepWork() const {
  StepWork work;
  if (communicator)
    ST_RETURN_IF_ERROR(dtu::shareExecuted(*simulator, *communicator));
  const std::vector<dtu::ExecutedWork> executed = simulator->executedWork();
  for (size_t rank = 0; rank < executed.size(); ++rank)
    work.ranks.push_back(sumTasks(rank, executed[rank].tasks));
  ST_ASSIGN_OR_RETURN(std::vector<dtu::LinkTiming> links, simulator->executedLinks());
  for (const dtu::LinkTiming &link : links)
    work.links.push_back({link.name, link.bytes});
  return work;
}

StepTrace DtuExecutable::convert(const dtu::Trace &from) const {
  StepTrace to;
  for (const dtu::TraceTrack &track : from.tracks)
    to.rows.push_back({track.rank, deviceName(devices[track.rank]), engineName(track)});
  to.labels = from.labels;
  to.spans.reserve(from.spans.size());
  for (const dtu::TraceSpan &span : from.spans)
    to.spans.push_back({span.track, span.label, span.start, span.duration});
  return to;
}

StepTimeline DtuExecutable::convert(const dtu::StepLog &from,
                                    const dtu::TimingResult &result) const {
  auto kindOf = [](dtu::StepLog::Kind kind) { return static_cast<StepTimeline::Kind>(kind); };
  static_assert(dtu::StepLog::kKinds == StepTimeline::kKinds &&
                static_cast<int>(dtu::StepLog::Kind::Wait) ==
                    static_cast<int>(StepTimeline::Kind::Wait));
  StepTimeline to;
  for (size_t rank = 0; rank < from.sums.size(); ++rank) {
    StepTimeline::Rank &created = to.ranks.emplace_back();
    const dtu::RankTiming &timing = result.ranks[rank];
    for (size_t i = 0; i < from.sums[rank].size(); ++i)
      created.runs.push_back({timing.taskStart[i], timing.taskEnd[i], from.sums[rank][i]});
    for (const dtu::StepLog::Segment &segment : from.segments[rank])
      created.segments.push_back({segment.start, segment.end, kindOf(segment.kind)});
  }
  for (const dtu::StepLog::Visit &visit : from.path)
    to.path.push_back({visit.rank, visit.entry, visit.start, visit.end, visit.sums});
  for (const dtu::StepLog::Traffic &traffic : from.traffic) {
    const dtu::RankSchedule &schedule = schedules[traffic.rank];
    const auto entry = std::find_if(schedule.begin(), schedule.end(), [&](const dtu::TaskRun &run) {
      return run.program == traffic.program;
    });
    to.traffic.push_back({traffic.link, traffic.rank,
                          tasks[traffic.rank][static_cast<size_t>(entry - schedule.begin())],
                          traffic.what, traffic.bytes});
  }
  return to;
}

class DtuClient : public Client {
public:
  DtuClient(ClientOptions options, Communicator *communicator)
      : options(std::move(options)), communicator(communicator) {}

  absl::string_view target() const override { return "dtu"; }

  absl::StatusOr<std::unique_ptr<Executable>> load(const proto::Executable &program) override;

  absl::Span<const Device> devices() const override { return known; }

private:
  void addDevice(Device device) {
    auto it = std::lower_bound(known.begin(), known.end(), device.id,
                               [](const Device &d, int64_t id) { return d.id < id; });
    if (it == known.end() || it->id != device.id)
      known.insert(it, std::move(device));
  }

  ClientOptions options;
  Communicator *communicator; ///< null if this process simulates all ranks
  std::vector<Device> known;
};

// Returns the rank that sends message number `message` of a step, and the index among that rank's
// messages.
absl::StatusOr<dtu::SimulatorOptions::DroppedMessage> findMessage(int64_t message,
                                                                  const StepTime &time) {
  int64_t before = 0;
  for (size_t rank = 0; rank < time.ranks.size(); ++rank) {
    if (message < before + time.ranks[rank].messages)
      return dtu::SimulatorOptions::DroppedMessage{static_cast<int64_t>(rank), message - before};
    before += time.ranks[rank].messages;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no message ", message, " to drop: a step sends ", before));
}

/// Returns the links that a name in ClientOptions::derates matches.
std::vector<std::string> linksOf(const std::string &name) {
  if (const std::vector<std::string> ends = absl::StrSplit(name, '-'); ends.size() == 2) {
    std::vector<std::string> chips;
    for (absl::string_view end : ends)
      if (absl::ConsumePrefix(&end, "chip"))
        chips.push_back(absl::StrCat("chip ", end));
    if (chips.size() == 2)
      return {absl::StrCat(chips[0], " -> ", chips[1]), absl::StrCat(chips[1], " -> ", chips[0])};
  }
  absl::string_view rest = name;
  if (absl::ConsumePrefix(&rest, "cluster"))
    return {absl::StrCat("cluster ", rest, " tx"), absl::StrCat("cluster ", rest, " rx")};
  if (absl::ConsumePrefix(&rest, "group"))
    return {absl::StrCat("group ", rest, " out"), absl::StrCat("group ", rest, " in")};
  return {name};
}

absl::Status scaleFigure(proto::DtuDescription &description, const std::string &name,
                         double factor) {
  const google::protobuf::FieldDescriptor *field =
      description.GetDescriptor()->FindFieldByName(name);
  if (!field || field->is_repeated() || field->message_type() != proto::Figure::descriptor() ||
      !(factor > 0))
    return absl::InvalidArgumentError(
        absl::StrCat("a device description has no figure \"", name, "\" to multiply by ", factor));
  auto *figure = static_cast<proto::Figure *>(
      description.GetReflection()->MutableMessage(&description, field));
  figure->set_value(figure->value() * factor);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Executable>> DtuClient::load(const proto::Executable &program) {
  ST_RETURN_IF_ERROR(checkDtuDescription(program.dtu()));
  if (options.timeTasks != "auto" && options.timeTasks != "each" && options.timeTasks != "once")
    return absl::InvalidArgumentError(
        absl::StrCat("--time-tasks=", options.timeTasks, ": expected auto, each or once"));
  dtu::SimulatorOptions simulatorOptions;
  simulatorOptions.hostThreads = options.hostThreads;
  ST_ASSIGN_OR_RETURN(simulatorOptions.hostIsa, dtu::parseHostIsa(options.hostIsa));
  proto::DtuDescription description = program.dtu();
  for (const auto &[name, factor] : options.scales)
    ST_RETURN_IF_ERROR(scaleFigure(description, name, factor));
  for (const auto &[name, factor] : options.derates)
    for (const std::string &link : linksOf(name)) {
      proto::LinkDerate &derate = *description.add_derates();
      derate.set_link(link);
      derate.set_factor(factor);
    }
  ST_ASSIGN_OR_RETURN(std::unique_ptr<DtuExecutable> executable,
                      DtuExecutable::create(program, description, simulatorOptions,
                                            options.timeTasks, communicator));
  if (options.dropMessage >= 0) {
    // Only the timing of a full step counts the messages of each rank.
    ST_ASSIGN_OR_RETURN(StepTime time, executable->timeStep(nullptr, nullptr));
    ST_ASSIGN_OR_RETURN(dtu::SimulatorOptions::DroppedMessage dropped,
                        findMessage(options.dropMessage, time));
    simulatorOptions.dropMessages.push_back(dropped);
    ST_ASSIGN_OR_RETURN(executable, DtuExecutable::create(program, description, simulatorOptions,
                                                          options.timeTasks, communicator));
  }
  if (!program.others().empty())
    executable->startSharing(program);
  for (const proto::Executable &other : program.others())
    ST_RETURN_IF_ERROR(executable->addOther(other, description, simulatorOptions));
  if (!options.timingOnly)
    ST_RETURN_IF_ERROR(executable->fillArenas(program));
  const int64_t memory = dtuSizes(program.dtu()).l3Bytes;
  for (const proto::Group &group : program.groups())
    for (int64_t id : group.device_ids())
      addDevice({id, deviceName(id), memory});
  return executable;
}

} // namespace

std::unique_ptr<Client> createDtuClient(const ClientOptions &options) {
  return std::make_unique<DtuClient>(options, nullptr);
}

std::unique_ptr<Client> createSharedDtuClient(const ClientOptions &options,
                                              Communicator &communicator) {
  return std::make_unique<DtuClient>(options,
                                     communicator.numProcesses() > 1 ? &communicator : nullptr);
}

} // namespace st
