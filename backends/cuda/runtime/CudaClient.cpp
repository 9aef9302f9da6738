#include "st/Runtime/Client.h"

#include "backends/cuda/runtime/CommandRunner.h"
#include "lib/Proto/executable.pb.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

namespace st {
namespace cuda {
namespace {

class CudaBuffer : public Buffer {
public:
  CudaBuffer(GpuDevice &device, Address base, int64_t bytes)
      : device(device), base(base), bytes(bytes) {}

  int64_t size() const override { return bytes; }

  absl::Status write(int64_t offset, absl::Span<const uint8_t> from) override {
    ST_RETURN_IF_ERROR(check(offset, from.size()));
    return device.write(base + static_cast<Address>(offset), from);
  }

  absl::Status read(int64_t offset, absl::Span<uint8_t> to) const override {
    ST_RETURN_IF_ERROR(check(offset, to.size()));
    return device.read(base + static_cast<Address>(offset), to);
  }

private:
  absl::Status check(int64_t offset, size_t count) const {
    if (offset >= 0 && offset <= bytes && count <= static_cast<size_t>(bytes - offset))
      return absl::OkStatus();
    return absl::OutOfRangeError(
        absl::StrCat(count, " bytes at offset ", offset, " of a buffer of ", bytes));
  }

  GpuDevice &device;
  Address base;
  int64_t bytes;
};

std::string deviceName(int64_t id) { return absl::StrCat("GPU:", id); }

class CudaExecutable : public Executable {
public:
  absl::Status load(const proto::Executable &program);

  int64_t numRanks() const override { return static_cast<int64_t>(ranks.size()); }
  Buffer *arena(int64_t rank) override { return &arenas[static_cast<size_t>(rank)]; }
  Event launchStep() override { return Event::completed(runStep()); }

  bool isSimulated() const override { return false; }
  absl::StatusOr<StepTime> timeStep(StepTrace *, StepTimeline *) override {
    return absl::UnimplementedError("how long a step takes on a GPU is not predicted");
  }
  absl::StatusOr<StepWork> lastStepWork() const override {
    return absl::UnimplementedError("what a GPU does in a step is not counted");
  }

private:
  struct TaskRun {
    const proto::CudaProgram *program;
    int64_t microBatch;
  };
  using Schedule = std::vector<TaskRun>;

  /// How many devices there are: GPUs, or as many as the program names where the host stands in.
  absl::Status countDevices(const proto::Executable &program);
  absl::StatusOr<GpuDevice *> getDevice(const proto::CudaCode &code, int64_t id);
  absl::Status loadGroup(const proto::Executable &program, const proto::Group &group);
  absl::Status runStep();
  absl::Status runRank(size_t rank);

  int64_t numDevices = 0;
  std::map<int64_t, std::unique_ptr<GpuDevice>> devices; // by number; the ranks of one share it
  std::vector<std::unique_ptr<proto::CudaProgram>> programs;
  std::vector<std::vector<int64_t>> tables; // of ranks
  std::vector<Rank> ranks;
  std::vector<RankMemory> memories;
  std::vector<CudaBuffer> arenas;
  std::vector<std::shared_ptr<const Schedule>> schedules;
  std::unique_ptr<Exchange> exchange;
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

// A machine with fewer GPUs than the program names shares them out in turns.
absl::StatusOr<GpuDevice *> CudaExecutable::getDevice(const proto::CudaCode &code, int64_t id) {
  const int64_t number = id % numDevices;
  std::unique_ptr<GpuDevice> &device = devices[number];
  if (!device) {
    ST_ASSIGN_OR_RETURN(device, code.gpu().chip() == "host" ? createHostDevice(code)
                                                            : createDriverDevice(code, number));
  }
  return device.get();
}

absl::Status CudaExecutable::loadGroup(const proto::Executable &program,
                                       const proto::Group &group) {
  std::vector<const proto::CudaProgram *> tasks;
  for (const proto::Task &task : group.tasks()) {
    auto &decoded = *programs.emplace_back(std::make_unique<proto::CudaProgram>());
    if (!decoded.ParseFromString(task.program()))
      return absl::InvalidArgumentError(absl::StrCat("task \"", task.name(), "\" is no program"));
    tasks.push_back(&decoded);
  }
  auto schedule = std::make_shared<Schedule>();
  for (const proto::ScheduleEntry &entry : group.schedule())
    schedule->push_back({tasks[static_cast<size_t>(entry.task())], entry.micro_batch()});
  for (int i = 0; i < group.device_ids_size(); ++i) {
    ST_ASSIGN_OR_RETURN(GpuDevice * device, getDevice(program.cuda(), group.device_ids(i)));
    RankMemory &memory = memories.emplace_back();
    ST_ASSIGN_OR_RETURN(memory.arena, device->allocate(group.arena_bytes()));
    ST_ASSIGN_OR_RETURN(memory.scratch, device->allocate(program.cuda().scratch_bytes()));
    const int64_t *table = group.rank_tables().data() + i * group.table_size();
    tables.emplace_back(table, table + group.table_size());
    Rank &rank = ranks.emplace_back();
    rank.number = static_cast<int64_t>(ranks.size()) - 1;
    rank.device = device;
    ST_ASSIGN_OR_RETURN(rank.stream, device->createStream());
    schedules.push_back(schedule);
    CudaBuffer &arena = arenas.emplace_back(*device, memory.arena, group.arena_bytes());
    for (const proto::ConstantData &constant : group.constants()) {
      absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>(constant.data().data()),
                                      constant.data().size());
      ST_RETURN_IF_ERROR(arena.write(constant.offset(), bytes));
    }
  }
  return absl::OkStatus();
}

absl::Status CudaExecutable::load(const proto::Executable &program) {
  ST_RETURN_IF_ERROR(countDevices(program));
  for (const proto::Group &group : program.groups())
    ST_RETURN_IF_ERROR(loadGroup(program, group));
  for (size_t i = 0; i < ranks.size(); ++i)
    ranks[i].table = tables[i];
  exchange = std::make_unique<Exchange>(numRanks());
  return absl::OkStatus();
}

absl::Status CudaExecutable::runRank(size_t rank) {
  CommandRunner runner(ranks[rank], memories, *exchange);
  for (const TaskRun &run : *schedules[rank])
    ST_RETURN_IF_ERROR(runner.run(*run.program, run.microBatch));
  return ranks[rank].stream->wait();
}

// A thread a rank: they wait for each other. For one that the host does not start, nobody waits.
absl::Status CudaExecutable::runStep() {
  exchange->begin();
  std::vector<std::thread> threads;
  for (size_t rank = 1; rank < ranks.size(); ++rank) {
    try {
      threads.emplace_back([this, rank] { exchange->end(runRank(rank)); });
    } catch (const std::system_error &error) {
      exchange->end(absl::ResourceExhaustedError(
          absl::StrCat("cannot start a thread for rank ", rank, ": ", error.code().message())));
    }
  }
  exchange->end(runRank(0));
  for (std::thread &thread : threads)
    thread.join();
  return exchange->status();
}

class CudaClient : public Client {
public:
  explicit CudaClient(const ClientOptions &options) : options(options) {}

  absl::string_view target() const override { return "cuda"; }
  absl::StatusOr<std::unique_ptr<Executable>> load(const proto::Executable &program) override;
  absl::Span<const Device> devices() const override { return known; }

private:
  absl::Status checkOptions() const;

  ClientOptions options;
  std::vector<Device> known;
};

// What is about the simulator means nothing here.
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
      absl::StrCat("--", flag, " is about the simulated device; this program is for GPUs"));
}

absl::StatusOr<std::unique_ptr<Executable>> CudaClient::load(const proto::Executable &program) {
  ST_RETURN_IF_ERROR(checkOptions());
  auto executable = std::make_unique<CudaExecutable>();
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

std::unique_ptr<Client> createCudaClient(const ClientOptions &options) {
  return std::make_unique<cuda::CudaClient>(options);
}

} // namespace st
