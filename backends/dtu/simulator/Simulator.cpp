#include "backends/dtu/simulator/Simulator.h"

#include "backends/dtu/isa/Validator.h"
#include "backends/dtu/simulator/data/DataEngine.h"
#include "backends/dtu/simulator/replay/TaskReplay.h"
#include "backends/dtu/simulator/time/TimeEngine.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Threads.h"
#include "lib/Timing/DtuDescription.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <utility>

namespace st::dtu {

absl::StatusOr<HostIsa> parseHostIsa(const std::string &name) {
  if (name == hostIsaName(HostIsa::Auto))
    return HostIsa::Auto;
  for (HostIsa isa : kHostIsas)
    if (hostIsaName(isa) == name)
      return isa;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown host instruction set '", name,
                   "'; there are auto, baseline, avx2, avx512, avx512-bf16 and amx"));
}

std::string hostIsaName(HostIsa isa) {
  constexpr const char *names[] = {"auto", "baseline", "avx2", "avx512", "avx512-bf16", "amx"};
  return names[static_cast<unsigned>(isa)];
}

std::vector<RankConfig> ranksOf(const proto::Group &group) {
  std::vector<RankConfig> ranks;
  for (int64_t rank = 0; rank < group.device_ids_size(); ++rank) {
    RankConfig &config = ranks.emplace_back();
    config.deviceId = group.device_ids(static_cast<int>(rank));
    config.rankInGroup = rank;
    config.arenaBytes = group.arena_bytes();
    config.hostBytes = group.host_arena_bytes();
    auto table = group.rank_tables().begin() + rank * group.table_size();
    config.table.assign(table, table + group.table_size());
  }
  return ranks;
}

std::vector<RankConfig> ranksOf(const proto::Executable &executable) {
  std::vector<RankConfig> ranks;
  for (const proto::Group &group : executable.groups())
    for (RankConfig &config : ranksOf(group))
      ranks.push_back(std::move(config));
  return ranks;
}

struct Simulator::Impl {
  proto::DtuDescription description;
  std::vector<RankConfig> ranks;
  SimulatorOptions options;
  const HostKernels *kernels = nullptr;
  std::unique_ptr<HostMatmul> matmul;
  std::vector<std::unique_ptr<DecodedProgram>> programs;
  std::vector<LazyMemory> arenas, hostArenas; ///< per rank
  std::unique_ptr<DataEngine> data;

  absl::Status checkHost(size_t rank, int64_t &used) const;
  absl::Status checkRanks() const;
  absl::Status checkSchedules(const std::vector<RankSchedule> &schedules) const;
  absl::Status makeDataEngine();
};

/// `used`: host memory that other ranks on the same device occupy.
absl::Status Simulator::Impl::checkHost(size_t rank, int64_t &used) const {
  const int64_t bytes = ranks[rank].hostBytes, available = dtuSizes(description).hostBytes;
  if (bytes < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", rank, " has a negative arena in the host's memory"));
  if (bytes > 0 && available == 0)
    return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " needs ", bytes,
                                                   " bytes of the host's memory, to which ",
                                                   description.name(), " has no link"));
  if (bytes > available - used)
    return absl::ResourceExhaustedError(
        absl::StrCat("rank ", rank, " needs ", bytes,
                     " bytes of the host's memory, but a cluster of ", description.name(), " has ",
                     available, used ? absl::StrCat(" and ", used, " are taken") : ""));
  used += bytes;
  return absl::OkStatus();
}

absl::Status Simulator::Impl::checkRanks() const {
  int64_t available = dtuSizes(description).l3Bytes;
  std::map<int64_t, int64_t> used, hostUsed;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankConfig &config = ranks[rank];
    ST_RETURN_IF_ERROR(dtuPlace(description, config.deviceId).status());
    if (config.arenaBytes < 0)
      return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " has a negative arena"));
    ST_RETURN_IF_ERROR(checkHost(rank, hostUsed[config.deviceId]));
    int64_t &sum = used[config.deviceId];
    if (config.arenaBytes > available - sum)
      return absl::ResourceExhaustedError(absl::StrCat(
          "rank ", rank, " needs ", config.arenaBytes, " bytes of device memory on device ",
          config.deviceId, ", but a cluster of ", description.name(), " has ", available,
          sum ? absl::StrCat(" and ", sum, " are taken") : ""));
    sum += config.arenaBytes;
  }
  return absl::OkStatus();
}

absl::Status Simulator::Impl::checkSchedules(const std::vector<RankSchedule> &schedules) const {
  if (schedules.size() != ranks.size())
    return absl::InvalidArgumentError(
        absl::StrCat(schedules.size(), " schedules for ", ranks.size(), " ranks"));
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (const TaskRun &task : schedules[rank]) {
      if (task.program < 0 || task.program >= static_cast<ProgramId>(programs.size()))
        return absl::InvalidArgumentError(absl::StrCat("no program ", task.program, " is loaded"));
      const Program &program = programs[static_cast<size_t>(task.program)]->source;
      if (program.l3Bytes > ranks[rank].arenaBytes)
        return absl::InvalidArgumentError(absl::StrCat("program '", program.name, "' uses ",
                                                       program.l3Bytes, " bytes of L3; rank ", rank,
                                                       " has ", ranks[rank].arenaBytes));
      if (program.hostBytes > ranks[rank].hostBytes)
        return absl::InvalidArgumentError(absl::StrCat(
            "program '", program.name, "' uses ", program.hostBytes,
            " bytes of the host's memory; rank ", rank, " has ", ranks[rank].hostBytes));
      if (program.tableSize > static_cast<int64_t>(ranks[rank].table.size()))
        return absl::InvalidArgumentError(absl::StrCat("program '", program.name, "' uses ",
                                                       program.tableSize, " table entries; rank ",
                                                       rank, " has ", ranks[rank].table.size()));
    }
  return absl::OkStatus();
}

/// Linux merges small adjacent mappings and would back them with large pages together. A program
/// with little data would touch a small part of these pages.
static LazyMemory::Pages pagesFor(int64_t bytes) {
  constexpr int64_t kLargePage = int64_t(2) << 20;
  return bytes < kLargePage ? LazyMemory::Pages::Small : LazyMemory::Pages::Large;
}

/// Reserves memory when data is first needed; timing needs none.
absl::Status Simulator::Impl::makeDataEngine() {
  if (data)
    return absl::OkStatus();
  std::vector<RankMemory> pointers;
  for (const RankConfig &config : ranks) {
    if (options.memoryOf) {
      const auto next = static_cast<int64_t>(pointers.size());
      ST_ASSIGN_OR_RETURN(pointers.emplace_back(), options.memoryOf->shareMemory(next));
      continue;
    }
    const auto rank = static_cast<int64_t>(arenas.size());
    LazyMemory &arena = arenas.emplace_back(), &host = hostArenas.emplace_back();
    if (options.remote && !options.remote->isLocal(rank)) {
      pointers.emplace_back();
      continue;
    }
    if (arena.allocate(config.arenaBytes, pagesFor(config.arenaBytes)) &&
        host.allocate(config.hostBytes, pagesFor(config.hostBytes))) {
      pointers.push_back({arena.data, host.data});
      continue;
    }
    arenas.clear();
    hostArenas.clear();
    return absl::ResourceExhaustedError(absl::StrCat("the host cannot reserve ",
                                                     config.arenaBytes + config.hostBytes,
                                                     " bytes for the memories of a rank"));
  }
  DtuSizes sizes = dtuSizes(description);
  DataMachine machine;
  machine.cores = sizes.cores;
  machine.l1Bytes = sizes.l1Bytes;
  machine.l2Bytes = sizes.l2Bytes;
  machine.kernels = kernels;
  machine.matmul = matmul.get();
  machine.poisonScratch = options.poisonScratch;
  machine.shuffleSeed = options.shuffleSeed;
  machine.dropMessages = options.dropMessages;
  machine.programs = &programs;
  machine.ranks = &ranks;
  machine.remote = options.remote;
  data = std::make_unique<DataEngine>(std::move(machine), pointers);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Simulator>>
Simulator::create(const proto::DtuDescription &description, std::vector<RankConfig> ranks,
                  SimulatorOptions options) {
  ST_RETURN_IF_ERROR(checkDtuDescription(description));
  auto impl = std::make_unique<Impl>();
  impl->description = description;
  impl->ranks = std::move(ranks);
  impl->options = std::move(options);
  ST_RETURN_IF_ERROR(impl->checkRanks());
  HostIsa &isa = impl->options.hostIsa;
  if (isa == HostIsa::Auto)
    isa = fastestHostIsa();
  if (isa > widestHostIsa())
    return absl::InvalidArgumentError(absl::StrCat("this host has no ", hostIsaName(isa),
                                                   "; its widest instruction set is ",
                                                   hostIsaName(widestHostIsa())));
  if (impl->options.hostThreads <= 0)
    impl->options.hostThreads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  impl->kernels = &hostKernels(isa);
  impl->matmul = std::make_unique<HostMatmul>(isa, *impl->kernels);
  return std::unique_ptr<Simulator>(new Simulator(std::move(impl)));
}

Simulator::Simulator(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Simulator::~Simulator() = default;

absl::StatusOr<ProgramId> Simulator::load(const Program &program) {
  ST_RETURN_IF_ERROR(validate(program, machineLimits(impl->description)));
  impl->programs.push_back(decodeProgram(program, *impl->kernels));
  return static_cast<ProgramId>(impl->programs.size()) - 1;
}

int64_t Simulator::numRanks() const { return static_cast<int64_t>(impl->ranks.size()); }

absl::Status Simulator::reserveMemory() { return impl->makeDataEngine(); }

int64_t Simulator::touchMemory(int threads) const {
  constexpr int64_t kChunk = int64_t(64) << 20;
  std::vector<std::pair<uint8_t *, int64_t>> chunks;
  int64_t total = 0;
  for (const std::vector<LazyMemory> *memories : {&impl->arenas, &impl->hostArenas})
    for (const LazyMemory &memory : *memories) {
      if (!memory.data)
        continue; // of another process
      total += memory.bytes;
      for (int64_t at = 0; at < memory.bytes; at += kChunk)
        chunks.emplace_back(memory.data + at, std::min(kChunk, memory.bytes - at));
    }
  std::atomic<size_t> next{0};
  // The first step allocates pages that no thread touches here.
  (void)runOnThreads(std::min<int64_t>(threads, static_cast<int64_t>(chunks.size())), [&] {
    for (size_t i; (i = next.fetch_add(1)) < chunks.size();)
      LazyMemory::touch(chunks[i].first, chunks[i].second);
  });
  return total;
}

absl::StatusOr<RankMemory> Simulator::shareMemory(int64_t rank) {
  ST_RETURN_IF_ERROR(impl->makeDataEngine());
  return RankMemory{impl->arenas[static_cast<size_t>(rank)].data,
                    impl->hostArenas[static_cast<size_t>(rank)].data};
}

uint8_t *Simulator::memory(int64_t rank) {
  if (impl->options.memoryOf)
    return impl->options.memoryOf->memory(rank);
  if (!impl->makeDataEngine().ok() || rank < 0 || rank >= numRanks())
    return nullptr;
  return impl->arenas[static_cast<size_t>(rank)].data;
}

absl::Status Simulator::execute(const std::vector<RankSchedule> &schedules) {
  ST_RETURN_IF_ERROR(impl->checkSchedules(schedules));
  ST_RETURN_IF_ERROR(impl->makeDataEngine());
  return impl->data->execute(schedules, impl->options.hostThreads);
}

void Simulator::callBeforeUpdates(std::function<void(int64_t)> hook) {
  if (impl->makeDataEngine().ok())
    impl->data->beforeUpdate = std::move(hook);
}

absl::StatusOr<TimingResult> Simulator::time(const std::vector<RankSchedule> &schedules,
                                             Trace *trace, StepLog *log) const {
  ST_RETURN_IF_ERROR(impl->checkSchedules(schedules));
  std::vector<const LoadedValues *> loaded;
  if (impl->data)
    loaded = impl->data->loadedValues();
  return simulateTime(impl->description, impl->ranks, impl->programs, schedules, loaded, trace,
                      /*boundary=*/nullptr, log);
}

absl::StatusOr<TimingResult> Simulator::replayTime(const std::vector<RankSchedule> &schedules,
                                                   StepLog *log) const {
  ST_RETURN_IF_ERROR(impl->checkSchedules(schedules));
  return st::dtu::replayTime(impl->description, impl->ranks, impl->programs, schedules, log);
}

absl::StatusOr<std::vector<LoneTask>> Simulator::timeTasks(int64_t first, int64_t count,
                                                           const std::vector<TaskRun> &runs) const {
  std::vector<RankSchedule> schedules(impl->ranks.size());
  for (int64_t rank = first; rank < first + count; ++rank)
    schedules[static_cast<size_t>(rank)] = runs;
  ST_RETURN_IF_ERROR(impl->checkSchedules(schedules));
  ST_ASSIGN_OR_RETURN(std::vector<TimedTask> timed,
                      st::dtu::timeTasks(impl->description, impl->ranks, impl->programs,
                                         static_cast<size_t>(first), static_cast<size_t>(count),
                                         runs));
  std::vector<LoneTask> tasks;
  for (const TimedTask &from : timed) {
    LoneTask &task = tasks.emplace_back();
    task.duration = from.duration;
    task.need = from.need;
    for (const TaskEvent &event : from.events)
      task.messages.push_back({event.isSend, static_cast<int64_t>(event.rank), event.message.peer,
                               event.message.channel, event.message.bytes, event.time,
                               event.underway});
  }
  return tasks;
}

absl::StatusOr<TimingResult>
Simulator::timeSideBySide(const std::vector<RankSchedule> &schedules) const {
  ST_RETURN_IF_ERROR(impl->checkSchedules(schedules));
  Boundary boundary;
  for (const RankConfig &rank : impl->ranks) {
    const bool isFirst = boundary.sideOf.empty() || rank.rankInGroup == 0;
    boundary.sideOf.push_back(isFirst ? static_cast<int64_t>(boundary.sideOf.size())
                                      : boundary.sideOf.back());
    boundary.isInside.push_back(!schedules[boundary.isInside.size()].empty());
  }
  return simulateTime(impl->description, impl->ranks, impl->programs, schedules, /*loaded=*/{},
                      /*trace=*/nullptr, &boundary);
}

std::vector<int64_t> Simulator::executedRecord(int64_t rank) const {
  return impl->data ? impl->data->executedRecord(rank) : std::vector<int64_t>{0, 0, 0};
}

absl::Status Simulator::setExecutedRecord(int64_t rank, absl::Span<const int64_t> record) {
  ST_RETURN_IF_ERROR(impl->makeDataEngine());
  return impl->data->setExecutedRecord(rank, record);
}

std::vector<ExecutedWork> Simulator::executedWork() const {
  return impl->data ? impl->data->executedWork() : std::vector<ExecutedWork>(impl->ranks.size());
}

std::vector<double> Simulator::computeSeconds() const {
  return impl->data ? impl->data->computeSeconds() : std::vector<double>();
}

absl::StatusOr<std::vector<LinkTiming>> Simulator::executedLinks() const {
  ST_ASSIGN_OR_RETURN(TimeMachine machine, TimeMachine::create(impl->description, impl->ranks));
  const std::vector<ExecutedWork> work = executedWork();
  for (size_t rank = 0; rank < work.size(); ++rank) {
    for (const auto &[peer, bytes] : work[rank].sentTo)
      machine.countMessage(machine.path(rank, static_cast<size_t>(peer)), bytes, 1);
    for (const TaskWork &task : work[rank].tasks) {
      machine.timings()[rank].toHostBytes += task.toHostBytes;
      machine.timings()[rank].fromHostBytes += task.fromHostBytes;
    }
  }
  return machine.linkTimings();
}

HostIsa Simulator::hostIsa() const { return impl->options.hostIsa; }

} // namespace st::dtu
