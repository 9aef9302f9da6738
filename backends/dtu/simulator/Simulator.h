// The DTU simulator: runs instruction streams on data (execute) and in simulated time (time). The
// two share only the decoded program: execution never waits for simulated time, and timing reads no
// data.
//
// Typical use, once an Executable's tasks are decoded to dtu::Program:
//
//   ST_ASSIGN_OR_RETURN(auto sim, Simulator::create(description, ranks, options));
//   ST_ASSIGN_OR_RETURN(ProgramId forward, sim->load(forwardProgram));
//   std::memcpy(sim->memory(rank) + offset, ...);
//   sim->execute({{{forward, 0}, {forward, 1}, {update, 0}}, ...});   // one schedule per rank
//   sim->time(sameSchedules);
#pragma once

#include "backends/dtu/isa/Isa.h"
#include "backends/dtu/simulator/data/RemoteLinks.h"
#include "backends/dtu/simulator/host/HostIsa.h"
#include "backends/dtu/simulator/time/StepLog.h"
#include "lib/Proto/device.pb.h"
#include "lib/Proto/executable.pb.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace st::dtu {

/// "auto", "baseline", "avx2", "avx512", "avx512-bf16" or "amx", as for --host-isa.
absl::StatusOr<HostIsa> parseHostIsa(const std::string &name);
std::string hostIsaName(HostIsa isa);

/// One rank of the executable; its index in the vector given to create() is its global rank, which
/// Send and Recv name. Ranks may share a device: they then have an arena each and share its
/// engines.
struct RankConfig {
  int64_t deviceId = 0;       ///< as in parallel-config: chip k of a T10 has devices 5k .. 5k+3
  int64_t rankInGroup = 0;    ///< register kRank
  int64_t arenaBytes = 0;     ///< bytes of L3 the rank uses
  int64_t hostBytes = 0;      ///< bytes of the host's memory it uses
  std::vector<int64_t> table; ///< rank table, read by Table
};

/// The ranks of a group, or of all groups in order; in the latter case indices are global ranks.
std::vector<RankConfig> ranksOf(const proto::Group &group);
std::vector<RankConfig> ranksOf(const proto::Executable &executable);

class Simulator;
struct RankMemory;

struct SimulatorOptions {
  /// The simulator whose memory this one shares. It has the same ranks and must outlive this one.
  /// Null: this simulator has its own memory.
  Simulator *memoryOf = nullptr;
  int hostThreads = 0; ///< 0: one per processor of the machine
  HostIsa hostIsa = HostIsa::Auto;
  /// Fills L1 and L2 with NaN patterns before each task, so that reads of undefined bytes are
  /// visible.
  bool poisonScratch = false;
  /// If not 0, interleaves the instances of a cluster at random, a few instructions at a time. A
  /// program whose results change with the seed lacks a semaphore.
  uint64_t shuffleSeed = 0;
  /// For tests: a link message to lose, the n-th that its source rank sends.
  struct DroppedMessage {
    int64_t sourceRank = 0;
    int64_t index = 0; ///< n-th message this rank sends since create(), from 0
  };
  std::vector<DroppedMessage> dropMessages;
  /// Connects to ranks that other processes simulate; null if all ranks are here. Must outlive the
  /// simulator.
  RemoteLinks *remote = nullptr;
};

using ProgramId = int64_t;

/// One entry of a rank's schedule.
struct TaskRun {
  ProgramId program = 0;
  int64_t microBatch = 0;
  bool isUpdate = false; ///< the task writes states
};
using RankSchedule = std::vector<TaskRun>;

/// The work of a rank, independent of when it happens. Bytes count what the DTE and the links read
/// and write in each memory: a source that is read repeatedly counts once, and a destination that
/// is combined with arriving data counts twice.
struct TaskWork {
  int64_t macs = 0; ///< multiply-accumulates of the matrix engine
  int64_t l1Bytes = 0, l2Bytes = 0, l3Bytes = 0;
  int64_t toHostBytes = 0, fromHostBytes = 0;
  int64_t sentBytes = 0, receivedBytes = 0, messages = 0; ///< messages: sent
  int64_t instructions = 0; ///< completed: transfers, products, vector ops, sends, receives
};
/// All fields of a TaskWork.
constexpr std::array<int64_t TaskWork::*, 10> kTaskWork = {
    &TaskWork::macs,        &TaskWork::l1Bytes,       &TaskWork::l2Bytes,
    &TaskWork::l3Bytes,     &TaskWork::toHostBytes,   &TaskWork::fromHostBytes,
    &TaskWork::sentBytes,   &TaskWork::receivedBytes, &TaskWork::messages,
    &TaskWork::instructions};

/// The work of a rank in the last execute().
struct ExecutedWork {
  std::vector<TaskWork> tasks;       ///< an entry per schedule entry
  std::map<int64_t, int64_t> sentTo; ///< bytes by destination rank
};

/// A row of the trace: one engine of one cluster.
struct TraceTrack {
  int64_t rank = 0;
  Engine engine = Engine::Core;
  int64_t index = 0;
};
/// Consecutive work of one engine under one label, merged. Times in picoseconds.
struct TraceSpan {
  int32_t track = 0, label = 0;
  int64_t start = 0, duration = 0;
  int64_t busy = 0; ///< part of `duration` in which the engine worked
};
struct Trace {
  std::vector<TraceTrack> tracks;
  std::vector<std::string> labels;
  std::vector<TraceSpan> spans;
};

/// The timing of one rank in simulated time. Times in picoseconds.
struct RankTiming {
  int64_t finish = 0;                          ///< when its last task ended
  int64_t matrixBusy = 0, vectorBusy = 0;      ///< summed over cores
  int64_t dteBusy = 0, txBusy = 0, rxBusy = 0; ///< summed over engines
  int64_t serialSum = 0;                       ///< uncontended durations of all its instructions
  int64_t macsF32 = 0, macs16 = 0;
  int64_t vectorElements = 0;
  int64_t l1Bytes = 0, l2Bytes = 0, l3Bytes = 0; ///< read and written by DTE and links
  int64_t toHostBytes = 0, fromHostBytes = 0;
  int64_t l3BurstBytes = 0; ///< `l3Bytes` rounded up to bursts
  int64_t l2Busy = 0;
  int64_t sentBytes = 0, receivedBytes = 0, messages = 0;
  int64_t instructions = 0;                ///< as in TaskWork
  int64_t peakLandingBytes = 0;            ///< messages arrived and not yet received
  std::vector<int64_t> taskStart, taskEnd; ///< an entry per schedule entry
  std::vector<TaskWork> tasks;             ///< an entry per schedule entry
};
struct LinkTiming {
  std::string name; ///< e.g. "chip 0 -> chip 1"
  int64_t bytes = 0, busy = 0;
};
struct TimingResult {
  int64_t total = 0;         ///< picoseconds from start to the last rank's end
  int64_t serialSum = 0;     ///< over all ranks
  int64_t rooflineBound = 0; ///< lower bound on the time of these instructions on this device
  int64_t instructions = 0;
  /// The instructions that were simulated; the rest belongs to periodic loops.
  int64_t simulatedInstructions = 0;
  int64_t tasks = 0,
          simulatedTasks = 0; ///< over all ranks; replayTime() simulates fewer than run
  std::vector<RankTiming> ranks;
  std::vector<LinkTiming> links; ///< links that carried traffic, in a fixed order
};

/// A task run by a group of ranks that start together on an idle machine. Messages of other groups
/// have arrived before they are received. Times are in picoseconds from the start.
struct LoneTask {
  struct Message {
    bool isSend;
    int64_t rank, peer, channel, bytes;
    int64_t time, underway; ///< when the rank reaches it; for a send also the time until it arrives
  };
  int64_t duration = 0;
  int64_t need = 0; ///< from when on it waits for messages of other groups if none has arrived
  std::vector<Message> messages; ///< with other groups, in order of time
};

class Simulator {
public:
  /// Checks the description, device ids and that the arenas on each cluster fit its L3 slice and
  /// its share of the host's memory.
  static absl::StatusOr<std::unique_ptr<Simulator>> create(const proto::DtuDescription &description,
                                                           std::vector<RankConfig> ranks,
                                                           SimulatorOptions options = {});
  ~Simulator();
  Simulator(const Simulator &) = delete;
  Simulator &operator=(const Simulator &) = delete;

  /// Validates and decodes a program. The id stays valid for the simulator's life.
  absl::StatusOr<ProgramId> load(const Program &program);

  int64_t numRanks() const;
  /// The rank's arena of arenaBytes bytes, initially zero. Its pages are allocated on first access.
  /// Null if this process does not simulate the rank or the host cannot reserve the arenas.
  uint8_t *memory(int64_t rank);

  /// Reserves the memory that memory() returns; an error if the host refuses.
  absl::Status reserveMemory();

  /// Allocates the pages of all arenas of this process without changing their contents. May run
  /// concurrently with all other calls. Returns the number of bytes; 0 before reserveMemory().
  int64_t touchMemory(int threads) const;

  /// Runs schedules[rank] on data to its end, for the ranks simulated here. Messages between ranks
  /// must balance within one call. Errors: a fault (such as an out-of-bounds address), which names
  /// rank, program, stream and instruction; or a deadlock, which names what each rank waits for.
  /// After an error the memories are unspecified.
  absl::Status execute(const std::vector<RankSchedule> &schedules);

  /// In later calls of execute(), calls `hook` before a rank begins the first run of its schedule
  /// that is an update. The call is on the thread that runs the rank and may wait. Null: no calls.
  void callBeforeUpdates(std::function<void(int64_t rank)> hook);

  /// Like time(), but runs each kind of task once and composes a step from the schedules and the
  /// messages between device groups (docs/dtu-isa.md, "Replayed time"), for plans too large for
  /// time(). An error if a program's time depends on data.
  absl::StatusOr<TimingResult> replayTime(const std::vector<RankSchedule> &schedules,
                                          StepLog *log = nullptr) const;

  /// Times each run alone on the device group of the ranks [first, first + count). replayTime()
  /// composes such times.
  absl::StatusOr<std::vector<LoneTask>> timeTasks(int64_t first, int64_t count,
                                                  const std::vector<TaskRun> &runs) const;

  /// Times device groups side by side, each by its schedule. Messages of other groups have arrived
  /// before they are received, so no group waits for another, but groups share chips. The ranks of
  /// a group are consecutive; ranks without a schedule do nothing. Only the starts and ends of
  /// tasks are meaningful in the result.
  absl::StatusOr<TimingResult> timeSideBySide(const std::vector<RankSchedule> &schedules) const;

  /// Simulated time of the same schedules on an initially idle machine. Touches no memory and needs
  /// no execute() before it. Deterministic to the picosecond. `trace` and `log` may be null and
  /// change no time.
  absl::StatusOr<TimingResult> time(const std::vector<RankSchedule> &schedules,
                                    Trace *trace = nullptr, StepLog *log = nullptr) const;

  /// Stores the result of executedRecord() of another process for a rank that it simulates.
  absl::Status setExecutedRecord(int64_t rank, absl::Span<const int64_t> record);
  std::vector<int64_t> executedRecord(int64_t rank) const;

  /// The work of each rank in the last execute(), counted as data moved; empty before the first.
  std::vector<ExecutedWork> executedWork() const;
  /// The same by link, for links that carried traffic, in the order of TimingResult::links.
  absl::StatusOr<std::vector<LinkTiming>> executedLinks() const;
  /// For each rank, the seconds in which the host ran it in the last execute(), without waits for
  /// messages; 0 for ranks that are not simulated here. Empty before the first.
  std::vector<double> computeSeconds() const;
  HostIsa hostIsa() const; ///< the instruction set that Auto selected

private:
  absl::StatusOr<RankMemory> shareMemory(int64_t rank);
  struct Impl;
  explicit Simulator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace st::dtu
