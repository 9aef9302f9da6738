// Runs schedules on data. The stream instances of all clusters form a Kahn
// network: they meet only in semaphores, barriers and link channels, none of
// which can be asked whether they are ready, so what a race-free program
// computes depends on no order of execution. A cluster's instances take turns
// on one host thread, each running until it blocks; clusters are spread over
// the host threads.
#pragma once

#include "backends/dtu/simulator/ControlFlow.h"
#include "backends/dtu/simulator/data/Execute.h"
#include "backends/dtu/simulator/data/Mailbox.h"
#include "backends/dtu/simulator/data/RemoteLinks.h"

#include "absl/status/status.h"

#include <atomic>
#include <condition_variable>

namespace st::dtu {

/// An mmap'ed range, zero until written and taken from the host as it is touched.
class LazyMemory {
public:
  LazyMemory() = default;
  ~LazyMemory() { reset(); }
  LazyMemory(LazyMemory &&other) noexcept {
    std::swap(data, other.data), std::swap(bytes, other.bytes);
  }
  LazyMemory &operator=(LazyMemory &&other) noexcept {
    std::swap(data, other.data), std::swap(bytes, other.bytes);
    return *this;
  }
  enum class Pages { Large, Small };
  /// False if the host refuses. Large pages spare its address translation and take 2 MiB where a
  /// byte is touched.
  bool allocate(int64_t size, Pages pages = Pages::Large);
  void reset();

  uint8_t *data = nullptr;
  int64_t bytes = 0;
};

/// What the engine shares among clusters.
struct DataMachine {
  int64_t cores = 0, l1Bytes = 0, l2Bytes = 0;
  const HostKernels *kernels = nullptr;
  const HostMatmul *matmul = nullptr;
  bool poisonScratch = false;
  uint64_t shuffleSeed = 0;
  std::vector<SimulatorOptions::DroppedMessage> dropMessages;
  const std::vector<std::unique_ptr<DecodedProgram>> *programs = nullptr;
  const std::vector<RankConfig> *ranks = nullptr;
  RemoteLinks *remote = nullptr; ///< null: all ranks are here

  /// The L1s of a cluster lie a little apart from multiples of 4 KiB, so that equal offsets of
  /// different cores do not fall into the same sets of the host's caches.
  int64_t coreStride() const { return (l1Bytes + 4095) / 4096 * 4096 + 4096 + 256; }
};

/// Where a rank's arenas lie.
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
  /// What each rank has loaded in the last execution.
  std::vector<const LoadedValues *> loadedValues() const;
  /// Both of one rank, as numbers that another process takes.
  std::vector<int64_t> executedRecord(int64_t rank) const;
  absl::Status setExecutedRecord(int64_t rank, absl::Span<const int64_t> record);

private:
  friend class ClusterRun;

  DataMachine machine;
  MessagePool pool;
  std::vector<std::unique_ptr<Mailbox>> mailboxes;
  std::vector<std::unique_ptr<ClusterRun>> clusters;

  // L1 and L2 of a cluster are needed while a task runs and are then undefined;
  // the last ones used are the warmest.
  std::mutex scratchMutex;
  std::vector<LazyMemory> scratch;
  size_t scratches = 0; ///< with those that clusters have now
  LazyMemory takeScratch();
  void giveScratchBack(LazyMemory memory);

  // Ranks that can go on.
  std::mutex readyMutex;
  std::condition_variable readyChanged;
  std::deque<int64_t> ready;
  int64_t running = 0;
  void makeReady(int64_t rank);
  void work();

  // Ranks of other processes. A thread for each of these processes receives its messages while a
  // rank here waits for one of them, and only then: what comes later belongs to the next step.
  std::mutex remoteMutex;
  std::condition_variable remoteChanged;
  std::vector<int64_t> awaitedFrom; ///< messages that ranks here wait for, by process
  int64_t awaitedFromAll = 0;       ///< their sum; changes under both mutexes
  bool isOver = false;              ///< the step, for the receiving threads
  absl::Status remoteFailure;       ///< of a link to another process; with readyMutex

  bool isHere(int64_t rank) const { return !machine.remote || machine.remote->isHere(rank); }
  /// A rank here begins (or ends, with -1) to wait for messages on `keys`.
  void await(const std::vector<ChannelKey> &keys, int64_t change);
  void receiveFrom(int64_t process);
  absl::Status receiveOne(int64_t process);
  absl::Status runStep(int64_t workers);
  absl::Status checkFinished() const;

  /// Hands a message over, to another process where its receiver is not here; wakes a receiver
  /// that waits for it.
  absl::Status deliver(int64_t source, int64_t destination, int64_t channel, Message message);
  void deliverHere(int64_t source, int64_t destination, int64_t channel, Message message);
};

} // namespace st::dtu
