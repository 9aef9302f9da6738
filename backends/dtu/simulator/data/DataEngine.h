// Runs schedules on data. The stream instances of all clusters form a Kahn network: they interact
// only through semaphores, barriers and link channels, and none of these can be polled. The results
// of a race-free program therefore do not depend on execution order. The instances of a cluster
// take turns on one host thread, each until it blocks; clusters are distributed over the host
// threads.
#pragma once

#include "backends/dtu/simulator/ControlFlow.h"
#include "backends/dtu/simulator/data/Execute.h"
#include "backends/dtu/simulator/data/Inbox.h"
#include "backends/dtu/simulator/data/RemoteLinks.h"
#include "backends/dtu/simulator/data/ScratchPool.h"

#include "absl/status/status.h"

#include <atomic>
#include <condition_variable>
#include <functional>

namespace st::dtu {

/// Settings and state that all clusters share.
struct DataMachine {
  int64_t cores = 0, l1Bytes = 0, l2Bytes = 0;
  const HostKernels *kernels = nullptr;
  const HostMatmul *matmul = nullptr;
  bool poisonScratch = false;
  uint64_t shuffleSeed = 0;
  std::vector<SimulatorOptions::DroppedMessage> dropMessages;
  const std::vector<std::unique_ptr<DecodedProgram>> *programs = nullptr;
  const std::vector<RankConfig> *ranks = nullptr;
  RemoteLinks *remote = nullptr; ///< null if all ranks are here

  /// The L1s of a cluster are offset from multiples of 4 KiB, so that equal offsets in different
  /// cores do not map to the same sets of the host's caches.
  int64_t coreStride() const { return (l1Bytes + 4095) / 4096 * 4096 + 4096 + 256; }
};

/// The arenas of a rank.
struct RankMemory {
  uint8_t *l3 = nullptr, *host = nullptr;
};

class ClusterRun;

class DataEngine {
public:
  DataEngine(DataMachine machine, const std::vector<RankMemory> &arenas);
  ~DataEngine();

  absl::Status execute(const std::vector<RankSchedule> &schedules, int hostThreads);
  std::vector<ExecutedWork> executedWork() const;
  /// See Simulator::computeSeconds.
  std::vector<double> computeSeconds() const;
  /// The values each rank loaded in the last execution.
  std::vector<const LoadedValues *> loadedValues() const;
  /// Work and loaded values of one rank, encoded for another process.
  std::vector<int64_t> executedRecord(int64_t rank) const;
  absl::Status setExecutedRecord(int64_t rank, absl::Span<const int64_t> record);

  /// See Simulator::callBeforeUpdates.
  std::function<void(int64_t rank)> beforeUpdate;

private:
  friend class ClusterRun;

  DataMachine machine;
  MessagePool pool;
  std::vector<std::unique_ptr<Inbox>> inboxes;
  std::vector<std::unique_ptr<ClusterRun>> clusters;

  std::shared_ptr<ScratchPool> scratch = ScratchPool::shared();
  LazyMemory takeScratch();
  void releaseScratch(LazyMemory memory) { scratch->release(std::move(memory)); }

  // Ranks that are ready to continue.
  std::mutex readyMutex;
  std::condition_variable readyChanged;
  std::deque<int64_t> ready;
  int64_t running = 0;
  void makeReady(int64_t rank);
  void work();

  // Ranks of other processes. One thread per remote process receives its messages, but only while a
  // rank here waits for one of them: later messages belong to the next step.
  std::mutex remoteMutex;
  std::condition_variable remoteChanged;
  std::vector<int64_t> awaitedFrom; ///< messages that ranks here wait for, per process
  int64_t awaitedFromAll = 0;       ///< their sum; changes under both mutexes
  bool isOver = false;              ///< the step is over; the receiving threads then end
  absl::Status remoteFailure;       ///< failure of a link to another process; guarded by readyMutex

  bool isLocal(int64_t rank) const { return !machine.remote || machine.remote->isLocal(rank); }
  /// A rank here starts (or with -1, stops) waiting for messages on `keys`.
  void await(const std::vector<ChannelKey> &keys, int64_t change);
  void receiveFrom(int64_t process);
  absl::Status receiveOne(int64_t process);
  absl::Status runStep(int64_t workers);
  absl::Status checkFinished() const;

  /// Delivers a message, to another process if its receiver is not here, and wakes a receiver that
  /// waits for it.
  absl::Status deliver(int64_t source, int64_t destination, int64_t channel, Message message);
  void deliverHere(int64_t source, int64_t destination, int64_t channel, Message message);
};

} // namespace st::dtu
