// The DTU simulator: runs instruction streams on data (execute) and in simulated
// time (time). The two share the decoded program and nothing else: data never
// waits for time, and time reads no data.
//
// Typical use, once an Executable's tasks are decoded to dtu::Program:
//
//   ST_ASSIGN_OR_RETURN(auto sim, Simulator::create(description, ranks, options));
//   ST_ASSIGN_OR_RETURN(ProgramId forward, sim->load(forwardProgram));
//   std::memcpy(sim->memory(rank) + offset, ...);
//   sim->execute({{{forward, 0}, {forward, 1}, {update, 0}}, ...});   // a schedule a rank
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
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace st::dtu {

/// "auto", "baseline", "avx2", "avx512", "avx512-bf16" or "amx", as --host-isa takes them.
absl::StatusOr<HostIsa> parseHostIsa(const std::string &name);
std::string hostIsaName(HostIsa isa);

/// One rank of the executable; its index in the vector given to create() is its global rank, which
/// Send and Recv name. Ranks may share a device: they then have an arena each and share its
/// engines.
struct RankConfig {
  int64_t deviceId = 0;       ///< as in parallel-config: chip k of T10 owns 5k .. 5k+3
  int64_t rankInGroup = 0;    ///< register kRank
  int64_t arenaBytes = 0;     ///< bytes of L3 the rank uses
  int64_t hostBytes = 0;      ///< bytes of the host's memory it uses
  std::vector<int64_t> table; ///< rank table, read by Table
};

/// The ranks of a group, or of all groups in their order: indices are global ranks then.
std::vector<RankConfig> ranksOf(const proto::Group &group);
std::vector<RankConfig> ranksOf(const proto::Executable &executable);

class Simulator;
struct RankMemory;

struct SimulatorOptions {
  /// The simulator whose memory this one shares; it has the same ranks and must outlive this one.
  /// Null: this one has its own memory.
  Simulator *memoryOf = nullptr;
  int hostThreads = 0; ///< 0: as many as the machine has processors
  HostIsa hostIsa = HostIsa::Auto;
  /// Fill L1 and L2 with NaN patterns before each task, so that a read of undefined bytes shows.
  bool poisonScratch = false;
  /// Not 0: interleave the instances of a cluster at random, a few instructions at a time. A
  /// program whose results change with the seed lacks a semaphore somewhere.
  uint64_t shuffleSeed = 0;
  /// For tests: link messages to lose, counted from 0 over the run in (source rank, n-th send of
  /// that rank) form, see DroppedMessage.
  struct DroppedMessage {
    int64_t sourceRank = 0;
    int64_t index = 0; ///< n-th message this rank sends since create(), from 0
  };
  std::vector<DroppedMessage> dropMessages;
  /// For ranks that other processes simulate; null: all are here. Must outlive the simulator.
  RemoteLinks *remote = nullptr;
};

using ProgramId = int64_t;

/// One entry of a rank's schedule.
struct TaskRun {
  ProgramId program = 0;
  int64_t microBatch = 0;
};
using RankSchedule = std::vector<TaskRun>;

/// What a rank does that does not depend on when it does it. Bytes are those that the DTE and the
/// links read and write of each memory: of a source that is read again and again once, and twice of
/// what is combined with what arrives.
struct TaskWork {
  int64_t macs = 0; ///< multiply-accumulates of the matrix engine
  int64_t l1Bytes = 0, l2Bytes = 0, l3Bytes = 0;
  int64_t toHostBytes = 0, fromHostBytes = 0;
  int64_t sentBytes = 0, receivedBytes = 0, messages = 0; ///< messages: sent
  int64_t instructions = 0; ///< run to their end: transfers, products, vector ops, sends, receives
};
/// All that a TaskWork holds.
constexpr std::array<int64_t TaskWork::*, 10> kTaskWork = {
    &TaskWork::macs,        &TaskWork::l1Bytes,       &TaskWork::l2Bytes,
    &TaskWork::l3Bytes,     &TaskWork::toHostBytes,   &TaskWork::fromHostBytes,
    &TaskWork::sentBytes,   &TaskWork::receivedBytes, &TaskWork::messages,
    &TaskWork::instructions};

/// What a rank did in the last execute().
struct ExecutedWork {
  std::vector<TaskWork> tasks;       ///< an entry per schedule entry
  std::map<int64_t, int64_t> sentTo; ///< bytes by the rank that they went to
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

/// What one rank did in simulated time. Times in picoseconds.
struct RankTiming {
  int64_t finish = 0;                          ///< when its last task ended
  int64_t matrixBusy = 0, vectorBusy = 0;      ///< summed over cores
  int64_t dteBusy = 0, txBusy = 0, rxBusy = 0; ///< summed over engines
  int64_t serialSum = 0;                       ///< uncontended durations of all its instructions
  int64_t macsF32 = 0, macs16 = 0;
  int64_t vectorElements = 0;
  int64_t l1Bytes = 0, l2Bytes = 0, l3Bytes = 0; ///< read and written by DTE and links
  int64_t toHostBytes = 0, fromHostBytes = 0;
  int64_t l3BurstBytes = 0; ///< of `l3Bytes`: in the whole bursts that were occupied
  int64_t l2Busy = 0;
  int64_t sentBytes = 0, receivedBytes = 0, messages = 0;
  int64_t instructions = 0;                ///< as in TaskWork
  int64_t peakLandingBytes = 0;            ///< messages arrived and not yet received
  std::vector<int64_t> taskStart, taskEnd; ///< an entry per schedule entry
  std::vector<TaskWork> tasks;             ///< the same
};
struct LinkTiming {
  std::string name; ///< e.g. "chip 0 -> chip 1"
  int64_t bytes = 0, busy = 0;
};
struct TimingResult {
  int64_t total = 0;         ///< picoseconds from start to the last rank's end
  int64_t serialSum = 0;     ///< over all ranks
  int64_t rooflineBound = 0; ///< no run of these instructions on this device can be faster
  int64_t instructions = 0;
  /// Of these, the ones that were simulated; the rest is of loops in a steady state.
  int64_t simulatedInstructions = 0;
  int64_t tasks = 0,
          simulatedTasks = 0; ///< of all ranks; less are simulated than run by replayTime()
  std::vector<RankTiming> ranks;
  std::vector<LinkTiming> links; ///< links that carried anything, in a fixed order
};

/// A run of a task by a group of ranks that starts together on an idle machine, where messages of
/// other groups are there when they are received. Times in picoseconds from the start.
struct LoneTask {
  struct Message {
    bool isSend;
    int64_t rank, peer, channel, bytes;
    int64_t time, underway; ///< when the rank gets to it; of a send, until it arrives
  };
  int64_t duration = 0;
  std::vector<Message> messages; ///< with other groups, in the order of time
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
  /// The rank's arena: arenaBytes bytes, zero at first, taken from the host as they are touched.
  /// Null if there is no such rank here or the host cannot reserve the arenas.
  uint8_t *memory(int64_t rank);

  /// Takes what memory() gives from the host; an error where the host refuses.
  absl::Status reserveMemory();

  /// Runs schedules[rank] on data to its end, of the ranks that are here. Messages between ranks
  /// must balance within one call. Errors: a fault (out-of-bounds address, ...) naming rank,
  /// program, stream and instruction; a deadlock naming what each rank waits for. After an error
  /// the memories are unspecified.
  absl::Status execute(const std::vector<RankSchedule> &schedules);

  /// The same from one run of each kind of task, put together by the schedules and the messages
  /// between device groups (docs/dtu-isa.md, "Replayed time"): for plans too large for time().
  /// An error where a program's time depends on data.
  absl::StatusOr<TimingResult> replayTime(const std::vector<RankSchedule> &schedules,
                                          StepLog *log = nullptr) const;

  /// Times each run alone on the device group that has the ranks [first, first + count).
  /// replayTime() composes such times.
  absl::StatusOr<std::vector<LoneTask>> timeTasks(int64_t first, int64_t count,
                                                  const std::vector<TaskRun> &runs) const;

  /// Device groups side by side, each by its schedule: messages of other groups are there when they
  /// are received, so that no group waits for another, but they share chips. Ranks of a group
  /// follow each other; those without a schedule do nothing. Only starts and ends of tasks are of
  /// interest then.
  absl::StatusOr<TimingResult> timeSideBySide(const std::vector<RankSchedule> &schedules) const;

  /// Simulated time of the same schedules, from an idle machine. Touches no memory; needs no
  /// execute() before. Deterministic to the last picosecond. `trace` and `log` may be null; they
  /// change no time.
  absl::StatusOr<TimingResult> time(const std::vector<RankSchedule> &schedules,
                                    Trace *trace = nullptr, StepLog *log = nullptr) const;

  /// Takes what another process's executedRecord says of a rank that it simulates.
  absl::Status setExecutedRecord(int64_t rank, absl::Span<const int64_t> record);
  std::vector<int64_t> executedRecord(int64_t rank) const;

  /// Of each rank what it did in the last execute(), counted as the data went; nothing before.
  std::vector<ExecutedWork> executedWork() const;
  /// What that came to on each link that carried anything, in the order of TimingResult::links.
  absl::StatusOr<std::vector<LinkTiming>> executedLinks() const;
  HostIsa hostIsa() const; ///< what Auto came to

private:
  absl::StatusOr<RankMemory> lendMemory(int64_t rank);
  struct Impl;
  explicit Simulator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace st::dtu
