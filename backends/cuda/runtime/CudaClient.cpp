#include "st/Runtime/Client.h"

#include "backends/cuda/runtime/commands/CommandRunner.h"
#include "backends/cuda/runtime/libraries/CudnnLibrary.h"
#include "lib/Proto/executable.pb.h"
#include "lib/Support/StatusMacros.h"
#include "st/Runtime/ClockOffset.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

namespace st {
namespace cuda {
namespace {

/// The arena of a rank. If another process holds the rank, only that process has memory for it.
class CudaBuffer : public Buffer {
public:
  CudaBuffer(Communicator &communicator, int64_t owner, const Rank &rank, int64_t bytes)
      : communicator(communicator), owner(owner), rank(rank), bytes(bytes) {}

  int64_t size() const override { return bytes; }
  bool isLocal() const override { return rank.device != nullptr; }

private:
  absl::Status writeWithin(int64_t offset, absl::Span<const uint8_t> from) override {
    if (rank.left)
      rank.left->invalidateWritten(offset, offset + static_cast<int64_t>(from.size()));
    return rank.device ? rank.device->write(rank.arena + static_cast<Address>(offset), from)
                       : absl::OkStatus();
  }

  absl::Status readWithin(int64_t offset, absl::Span<uint8_t> to) const override {
    if (rank.device)
      ST_RETURN_IF_ERROR(rank.device->read(rank.arena + static_cast<Address>(offset), to));
    return communicator.broadcast(to, owner);
  }

  absl::Status readHereWithin(int64_t offset, absl::Span<uint8_t> to) const override {
    return rank.device->read(rank.arena + static_cast<Address>(offset), to);
  }

  Communicator &communicator;
  int64_t owner;
  const Rank &rank;
  int64_t bytes;
};

std::string deviceName(int64_t id) { return absl::StrCat("GPU:", id); }

class CudaExecutable : public Executable {
public:
  CudaExecutable(Communicator &communicator, const ClientOptions &options)
      : communicator(communicator), options(options), watchdogSeconds(options.watchdogSeconds),
        usesAttentionLibrary(options.attention == "cudnn"),
        timesProducts(options.products == "timed"), usesGraphs(options.graphs),
        isOneByOne(options.sync) {}

  /// `first` is an executable whose arenas this one shares and which must outlive it. Null: this
  /// one allocates its arenas.
  absl::Status load(const proto::Executable &program, CudaExecutable *first = nullptr);

  int64_t numRanks() const override { return static_cast<int64_t>(ranks.size()); }
  Buffer *arena(int64_t rank) override { return &arenas[static_cast<size_t>(rank)]; }
  Event launchStep() override { return Event::completed(runStep()); }
  Executable *other(absl::string_view name) override {
    auto it = others.find(name);
    return it == others.end() ? nullptr : it->second.get();
  }

  bool isSimulated() const override { return false; }
  absl::StatusOr<StepTime> timeStep(StepTrace *, StepTimeline *) override {
    return absl::UnimplementedError("the time of a step on a GPU is not predicted");
  }
  absl::Status traceNextStep() override;
  absl::StatusOr<StepTrace> tracedStep() override;
  absl::StatusOr<StepWork> lastStepWork() const override {
    return absl::UnimplementedError("the work of a GPU in a step is not counted");
  }
  std::vector<double> computeSeconds() const override { return secondsOfRanks; }

private:
  struct DecodedTask {
    std::string name;
    proto::CudaProgram program;
  };
  struct TaskRun {
    const DecodedTask *task;
    int64_t microBatch;
  };
  using Schedule = std::vector<TaskRun>;

  /// The number of devices: GPUs, or for the host target the number that the program names.
  absl::Status countDevices(const proto::Executable &program);
  absl::StatusOr<GpuDevice *> getDevice(const proto::CudaCode &code, int64_t id);
  absl::Status loadGroup(const proto::Executable &program, const proto::Group &group);
  /// Allocates the memory of a rank of this process.
  absl::Status place(Rank &rank, const proto::Executable &program, const proto::Group &group,
                     int64_t device);
  /// Chooses how to compute products and attention.
  absl::Status prepare(Implementations &implementations);
  /// For each product, adopts the choice of the first process that has it, so that all compute the
  /// same bits. Returns true if a choice changed here.
  absl::StatusOr<bool> agreeOnChoices();
  absl::Status writeConstants(const Rank &rank);
  absl::Status runStep();
  absl::Status runRank(size_t rank);
  absl::Status runCommands(size_t rank);

  Communicator &communicator;
  ClientOptions options;
  double watchdogSeconds;
  bool usesAttentionLibrary, timesProducts, usesGraphs, isOneByOne;
  std::optional<RemoteRanks> remote;
  int64_t numDevices = 0;
  std::map<int64_t, std::unique_ptr<GpuDevice>> devices; // by number; ranks on one device share it
  std::vector<std::unique_ptr<DecodedTask>> tasks;
  std::vector<std::vector<int64_t>> tables; // of ranks
  std::deque<Rank> ranks;                   // ranks of other processes have no device
  std::vector<CudaBuffer> arenas;
  std::vector<std::shared_ptr<const Schedule>> schedules;
  std::vector<size_t> here; // the ranks of this process
  std::vector<proto::CudaKernel> kernels;
  std::vector<std::string> names;     // of the devices of ranks
  std::vector<double> secondsOfRanks; // see computeSeconds; empty in a single process
  GraphUse graphs;
  std::map<const GpuDevice *, OneByOne> oneByOne;
  std::chrono::steady_clock::time_point stepBegin;
  std::unique_ptr<Exchange> exchange;
  // For programs that share arenas:
  CudaExecutable *first = nullptr;        ///< owner of the arenas; null: this one
  const CudaExecutable *lastToRun = this; ///< of `first`: the program whose constants are in the
                                          ///< arenas
  std::map<int64_t, google::protobuf::RepeatedPtrField<proto::ConstantData>> constants; // by rank
  std::map<std::string, std::unique_ptr<CudaExecutable>, std::less<>> others;
  GpuGroups groups; // destroyed first: GPU memory must not be freed while a message is in transit
};

absl::Status CudaExecutable::countDevices(const proto::Executable &program) {
  for (const proto::Group &group : program.groups())
    for (int64_t id : group.device_ids())
      numDevices = std::max(numDevices, id + 1);
  if (program.cuda().gpu().chip() == "host")
    return absl::OkStatus();
  ST_ASSIGN_OR_RETURN(int64_t gpus, countGpus());
  if (gpus < numDevices)
    std::fprintf(stderr, "the program's GPUs, up to GPU:%lld, share the %lld of this machine\n",
                 static_cast<long long>(numDevices - 1), static_cast<long long>(gpus));
  numDevices = gpus;
  return absl::OkStatus();
}

// If a machine has fewer GPUs than the program names, they are shared round-robin.
absl::StatusOr<GpuDevice *> CudaExecutable::getDevice(const proto::CudaCode &code, int64_t id) {
  const int64_t number = id % numDevices;
  std::unique_ptr<GpuDevice> &device = devices[number];
  if (!device) {
    ST_ASSIGN_OR_RETURN(device, code.gpu().chip() == "host" ? createHostDevice(code)
                                                            : createDriverDevice(code, number));
    for (auto &[other, known] : devices)
      if (known != device && code.gpu().chip() != "host")
        connectDrivers(*device, *known);
  }
  return device.get();
}

absl::Status CudaExecutable::place(Rank &rank, const proto::Executable &program,
                                   const proto::Group &group, int64_t device) {
  ST_ASSIGN_OR_RETURN(rank.device, getDevice(program.cuda(), device));
  if (first) {
    rank.left = first->ranks[static_cast<size_t>(rank.number)].left;
    rank.arena = first->ranks[static_cast<size_t>(rank.number)].arena;
    rank.scratch = first->ranks[static_cast<size_t>(rank.number)].scratch;
  } else {
    rank.left = std::make_shared<LeftByUpdate>();
    ST_ASSIGN_OR_RETURN(rank.arena, rank.device->allocate(group.arena_bytes()));
    ST_ASSIGN_OR_RETURN(rank.scratch, rank.device->allocate(program.cuda().scratch_bytes()));
  }
  ST_ASSIGN_OR_RETURN(rank.stream, rank.device->createStream());
  ST_ASSIGN_OR_RETURN(rank.aside, rank.device->createStream());
  constants[rank.number] = group.constants();
  return first ? absl::OkStatus() : writeConstants(rank);
}

absl::Status CudaExecutable::writeConstants(const Rank &rank) {
  for (const proto::ConstantData &constant : constants[rank.number]) {
    absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>(constant.data().data()),
                                    constant.data().size());
    ST_RETURN_IF_ERROR(
        rank.device->write(rank.arena + static_cast<Address>(constant.offset()), bytes));
  }
  return absl::OkStatus();
}

absl::Status CudaExecutable::loadGroup(const proto::Executable &program,
                                       const proto::Group &group) {
  std::vector<const DecodedTask *> decoded;
  for (const proto::Task &task : group.tasks()) {
    DecodedTask &known = *tasks.emplace_back(std::make_unique<DecodedTask>());
    known.name = task.name();
    if (!known.program.ParseFromString(task.program()))
      return absl::InvalidArgumentError(
          absl::StrCat("task \"", task.name(), "\" is not a program"));
    decoded.push_back(&known);
  }
  auto schedule = std::make_shared<Schedule>();
  for (const proto::ScheduleEntry &entry : group.schedule())
    schedule->push_back({decoded[static_cast<size_t>(entry.task())], entry.micro_batch()});
  for (int i = 0; i < group.device_ids_size(); ++i) {
    const int64_t *table = group.rank_tables().data() + i * group.table_size();
    tables.emplace_back(table, table + group.table_size());
    schedules.push_back(schedule);
    Rank &rank = ranks.emplace_back();
    names.push_back(deviceName(group.device_ids(i)));
    rank.number = static_cast<int64_t>(ranks.size()) - 1;
    arenas.emplace_back(communicator, communicator.processOf(rank.number), rank,
                        group.arena_bytes());
    if (!remote->isLocal(rank.number))
      continue;
    here.push_back(static_cast<size_t>(rank.number));
    ST_RETURN_IF_ERROR(place(rank, program, group, group.device_ids(i)));
    for (const DecodedTask *task : decoded)
      rank.left->add(task->program, kernels);
  }
  return absl::OkStatus();
}

/// Prints one line for a program with attention that a library may compute.
void printAttention(const AttentionImplementations &implementations) {
  const int64_t all = implementations.byLibrary + implementations.byKernels;
  if (all == 0)
    return;
  if (!implementations.usesLibrary) {
    std::fprintf(stderr, "attention: generated kernels, as --attention requests\n");
    return;
  }
  const absl::StatusOr<const Cudnn *> cudnn = getCudnn();
  if (!cudnn.ok())
    std::fprintf(stderr, "%s; using generated kernels\n",
                 std::string(cudnn.status().message()).c_str());
  else if (implementations.byKernels == 0)
    std::fprintf(stderr, "attention: cuDNN %s%s%s\n", (*cudnn)->version().c_str(),
                 implementations.untried.ok() ? ""
                                              : ", which was not compared with generated kernels: ",
                 std::string(implementations.untried.message()).c_str());
  else
    std::fprintf(
        stderr, "attention: cuDNN %s for %lld of %lld, generated kernels for the others: %s\n",
        (*cudnn)->version().c_str(), static_cast<long long>(implementations.byLibrary),
        static_cast<long long>(all), std::string(implementations.refused.message()).c_str());
}

/// Prints one line for a program with products that run without their fused epilogue, or without a
/// trial.
void printProducts(const ProductImplementations &implementations) {
  std::string said;
  if (implementations.refused > 0)
    absl::StrAppend(&said, implementations.refused, " of ",
                    implementations.fused + implementations.refused + implementations.slower,
                    " epilogues run as separate kernels: ", implementations.reason.message());
  if (implementations.slower > 0)
    absl::StrAppend(&said, said.empty() ? "" : "; ", implementations.slower, " of ",
                    implementations.fused + implementations.refused + implementations.slower,
                    " epilogues run as separate kernels, which take less time");
  if (!implementations.untried.ok())
    absl::StrAppend(&said, said.empty() ? "" : "; ",
                    "some are not timed: ", implementations.untried.message());
  if (!said.empty())
    std::fprintf(stderr, "products: %s\n", said.c_str());
}

absl::Status CudaExecutable::prepare(Implementations &implementations) {
  implementations = {};
  implementations.attention.usesLibrary = usesAttentionLibrary;
  implementations.products.areTimed = timesProducts;
  const Carriers carriers = {*remote, groups, *exchange, watchdogSeconds};
  for (size_t rank : here) {
    CommandRunner runner(ranks[rank], carriers, kernels);
    ranks[rank].stream->forgetProducts();
    ranks[rank].aside->forgetProducts();
    std::set<const DecodedTask *> seen;
    for (const TaskRun &run : *schedules[rank])
      if (seen.insert(run.task).second)
        ST_RETURN_IF_ERROR(runner.prepare(run.task->program, implementations));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> CudaExecutable::agreeOnChoices() {
  bool isOther = false;
  for (int64_t process = 0;
       communicator.numProcesses() > 1 && process < communicator.numProcesses(); ++process) {
    // Devices of one kind have the same choices.
    std::set<std::string> own;
    if (process == communicator.process())
      for (const auto &[number, device] : devices)
        own.insert(device->choices());
    auto count = static_cast<int64_t>(own.size());
    ST_RETURN_IF_ERROR(broadcastNumber(count, process, communicator));
    auto next = own.begin();
    for (int64_t i = 0; i < count; ++i) {
      std::string text = process == communicator.process() ? *next++ : std::string();
      auto size = static_cast<int64_t>(text.size());
      ST_RETURN_IF_ERROR(broadcastNumber(size, process, communicator));
      text.resize(static_cast<size_t>(size));
      ST_RETURN_IF_ERROR(communicator.broadcast(
          absl::MakeSpan(reinterpret_cast<uint8_t *>(text.data()), text.size()), process));
      for (const auto &[number, device] : devices)
        isOther |= device->adoptChoices(text);
    }
  }
  return isOther;
}

absl::Status CudaExecutable::load(const proto::Executable &program, CudaExecutable *first) {
  this->first = first;
  ST_RETURN_IF_ERROR(countDevices(program));
  ST_ASSIGN_OR_RETURN(ProgramPeers peers, ProgramPeers::find(program));
  ST_ASSIGN_OR_RETURN(remote, RemoteRanks::create(peers, communicator));
  kernels.assign(program.cuda().kernels().begin(), program.cuda().kernels().end());
  for (const proto::Group &group : program.groups())
    ST_RETURN_IF_ERROR(loadGroup(program, group));
  std::vector<GpuDevice *> used;
  for (size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].table = tables[i];
    used.push_back(ranks[i].device);
  }
  exchange = std::make_unique<Exchange>(static_cast<int64_t>(here.size()));
  Implementations implementations;
  ST_RETURN_IF_ERROR(prepare(implementations));
  if (program.cuda().gpu().chip() != "host") {
    ST_ASSIGN_OR_RETURN(const bool isOther, agreeOnChoices());
    if (isOther)
      ST_RETURN_IF_ERROR(prepare(implementations));
    if (communicator.process() == 0) {
      printProducts(implementations.products);
      printAttention(implementations.attention);
    }
  }
  for (auto &[number, device] : devices)
    device->keepChoices();
  ST_ASSIGN_OR_RETURN(groups, GpuGroups::create(peers, used, communicator, watchdogSeconds));
  for (size_t number : here) {
    Rank &rank = ranks[number];
    rank.sharers = groups.countSharers(rank.number);
    rank.graphs = usesGraphs && !isOneByOne ? &graphs : nullptr;
    rank.oneByOne = isOneByOne ? &oneByOne[rank.device] : nullptr;
    // Computing times are compared only between processes.
    if (communicator.numProcesses() > 1)
      rank.timer = std::make_unique<WorkTimer>();
  }
  secondsOfRanks.resize(communicator.numProcesses() > 1 ? ranks.size() : 0);
  for (const proto::Executable &other : program.others()) {
    auto loaded = std::make_unique<CudaExecutable>(communicator, options);
    ST_RETURN_IF_ERROR(loaded->load(other, this));
    others[other.name()] = std::move(loaded);
  }
  return absl::OkStatus();
}

absl::Status CudaExecutable::runCommands(size_t rank) {
  const Carriers carriers = {*remote, groups, *exchange, watchdogSeconds};
  CommandRunner runner(ranks[rank], carriers, kernels);
  if (ranks[rank].recorder)
    ST_RETURN_IF_ERROR(ranks[rank].recorder->begin(*ranks[rank].stream));
  for (const TaskRun &run : *schedules[rank])
    ST_RETURN_IF_ERROR(runner.run(run.task->program, run.task->name, run.microBatch));
  ST_RETURN_IF_ERROR(runner.finish());
  if (ranks[rank].timer) {
    ST_ASSIGN_OR_RETURN(secondsOfRanks[rank], ranks[rank].timer->take(*ranks[rank].device));
  }
  ranks[rank].left->markValid();
  return absl::OkStatus();
}

/// The driver reports failed work to the next call, which may be an unrelated command.
absl::Status CudaExecutable::runRank(size_t rank) {
  const absl::Status status = runCommands(rank);
  if (!status.ok())
    ranks[rank].left->invalidate();
  if (status.ok() || isOneByOne || ranks[rank].stream->isDone().ok())
    return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; an earlier command of the GPU has "
                                                     "failed: run with --sync to find it"));
}

// One thread per rank, because ranks wait for each other. If the host cannot start a thread, no
// rank waits for it.
absl::Status CudaExecutable::runStep() {
  // If another program ran last, it has overwritten all data except the states, including this
  // program's constants.
  const CudaExecutable *&last = first ? first->lastToRun : lastToRun;
  for (size_t rank : here)
    if (last != this) {
      ranks[rank].left->invalidate();
      ST_RETURN_IF_ERROR(writeConstants(ranks[rank]));
    }
  last = this;
  exchange->begin();
  for (auto &[device, commands] : oneByOne)
    commands.begin();
  stepBegin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (size_t rank : absl::MakeSpan(here).subspan(1)) {
    try {
      threads.emplace_back([this, rank] { exchange->end(runRank(rank)); });
    } catch (const std::system_error &error) {
      exchange->end(absl::ResourceExhaustedError(
          absl::StrCat("cannot start a thread for rank ", rank, ": ", error.code().message())));
    }
  }
  exchange->end(runRank(here.front()));
  for (std::thread &thread : threads)
    thread.join();
  if (const std::string line = graphs.takeReport(); !line.empty())
    std::fprintf(stderr, "%s\n", line.c_str());
  return exchange->status();
}

absl::Status CudaExecutable::traceNextStep() {
  for (size_t rank : here)
    ranks[rank].recorder = std::make_unique<StepRecorder>();
  return absl::OkStatus();
}

absl::StatusOr<StepTrace> CudaExecutable::tracedStep() {
  // The start of the step on process 0, by this process's clock.
  auto now = [] {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch());
  };
  ST_ASSIGN_OR_RETURN(const ClockOffset clock, compareClocks(communicator, now));
  int64_t begin = std::chrono::nanoseconds(stepBegin.time_since_epoch()).count();
  ST_RETURN_IF_ERROR(broadcastNumber(begin, 0, communicator));
  const std::chrono::steady_clock::time_point origin(std::chrono::nanoseconds(begin) -
                                                     clock.toFirst);
  std::chrono::nanoseconds bound{0};
  std::vector<StepRecorder::Span> spans;
  for (size_t rank : here) {
    ST_RETURN_IF_ERROR(
        ranks[rank].recorder->read(*ranks[rank].device, ranks[rank].number, origin, spans));
    bound = std::max(bound, ranks[rank].recorder->bound());
    ranks[rank].recorder.reset();
  }
  return gatherTrace(std::move(spans), clock.bound + bound, names, communicator);
}

class CudaClient : public Client {
public:
  CudaClient(const ClientOptions &options, Communicator &communicator)
      : options(options), communicator(communicator) {}

  absl::string_view target() const override { return "cuda"; }
  absl::StatusOr<std::unique_ptr<Executable>> load(const proto::Executable &program) override;
  absl::Span<const Device> devices() const override { return known; }

private:
  absl::Status checkOptions() const;

  ClientOptions options;
  Communicator &communicator;
  std::vector<Device> known;
};

// Rejects options of the simulator.
absl::Status CudaClient::checkOptions() const {
  const ClientOptions none;
  const char *flag = options.timingOnly                    ? "timing-only"
                     : options.hostIsa != none.hostIsa     ? "host-isa"
                     : options.timeTasks != none.timeTasks ? "time-tasks"
                     : options.dropMessage >= 0            ? "drop-message"
                     : !options.derates.empty()            ? "derate"
                                                           : nullptr;
  if (!flag)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, " applies only to simulated devices; this program is for GPUs"));
}

absl::StatusOr<std::unique_ptr<Executable>> CudaClient::load(const proto::Executable &program) {
  ST_RETURN_IF_ERROR(checkOptions());
  auto executable = std::make_unique<CudaExecutable>(communicator, options);
  ST_RETURN_IF_ERROR(executable->load(program));
  const int64_t memory = static_cast<int64_t>(program.cuda().gpu().memory_bytes().value());
  for (const proto::Group &group : program.groups())
    for (int64_t id : group.device_ids()) {
      auto it = std::lower_bound(known.begin(), known.end(), id,
                                 [](const Device &device, int64_t id) { return device.id < id; });
      if (it == known.end() || it->id != id)
        known.insert(it, {id, deviceName(id), memory});
    }
  return executable;
}

} // namespace
} // namespace cuda

std::unique_ptr<Client> createCudaClient(const ClientOptions &options, Communicator &communicator) {
  return std::make_unique<cuda::CudaClient>(options, communicator);
}

} // namespace st
