// The execution of a schedule on one cluster: the stream instances of the current task, their
// registers, semaphores and barriers.
#pragma once

#include "backends/dtu/simulator/ControlFlow.h"
#include "backends/dtu/simulator/data/DataEngine.h"

namespace st::dtu {

class ClusterRun {
public:
  ClusterRun(DataEngine &engine, int64_t rank, const RankMemory &arenas);

  void start(const RankSchedule *newSchedule);

  /// Runs until the schedule ends, an instruction faults, or every instance is blocked and at least
  /// one waits for a message that has not arrived.
  enum class Outcome { Finished, Parked, Stuck };
  Outcome run();

  absl::Status fault() const { return status; }
  bool finished() const { return task >= schedule->size(); }
  /// Describes the waits of blocked instances, for deadlock reports.
  std::string describeWaits() const;

  ExecutedWork executed; ///< since start()
  LoadedValues loaded;   ///< since start()
  double seconds = 0;    ///< in run(), since start()

private:
  enum class State : uint8_t { Ready, Semaphore, BarrierWait, Message, Done };
  struct Instance {
    const DecodedStream *stream;
    uint32_t streamIndex;
    State state;
    int64_t number;             ///< number of the engine: core or queue
    int64_t waitFor, waitCount; ///< semaphore, barrier, or source rank and channel
    StreamPosition position;
  };
  struct SemaphoreState {
    int64_t count = 0;
    std::vector<uint32_t> waiting;
  };
  struct BarrierState {
    std::vector<uint32_t> waiting;
  };

  DataEngine &engine;
  const int64_t rank;
  const RankSchedule *schedule = nullptr;
  size_t task = 0;
  bool hasUpdated = false;                 ///< an update has begun
  const DecodedProgram *program = nullptr; ///< of the current task, else null
  LazyMemory scratch;
  std::vector<Instance> instances;
  std::deque<uint32_t> ready;
  size_t alive = 0;
  std::vector<SemaphoreState> semaphores;
  std::vector<BarrierState> barriers;
  ExecContext context;
  TaskWork work; ///< of the current task
  absl::Status status;
  int64_t sent = 0;
  uint64_t randomState; ///< of shuffled runs

  bool beginTask();
  void endTask();
  bool claimArrived();

  /// Picks the next instance from `ready` and sets how many instructions it may run.
  uint32_t pickInstance(int64_t &budget);
  /// Runs an instance until it blocks, ends or has run `budget` instructions; false on a fault.
  bool runInstance(uint32_t index, int64_t budget);
  enum class Step { Next, Blocked, Fault };
  Step load(Instance &instance, uint32_t index, Slot slot);
  Step synchronise(Instance &instance, uint32_t index, Slot slot);
  Step wait(Instance &instance, uint32_t index, Slot slot);
  Step signal(Instance &instance, Slot slot);
  Step barrier(Instance &instance, uint32_t index, const BarrierInst &inst);
  Step send(Instance &instance, const LinkInst &inst);
  Step receive(Instance &instance, const LinkInst &inst);
  bool tile(Slot slot);

  bool checkPeer(int64_t peer);
  bool isDropped(int64_t index) const;
  void setFault(const Instance &instance);
  std::string place(const Instance &instance) const;
};

} // namespace st::dtu
