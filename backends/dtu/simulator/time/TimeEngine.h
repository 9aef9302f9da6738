// Runs schedules in simulated time (docs/dtu-isa.md, "Time"). The engine shares the decoded
// programs with the data engine and touches no machine memory.
//
// One event queue holds all future events. Events at one instant are ordered by named priority,
// then by rank and instance, so every run is identical to the last picosecond.
#pragma once

#include "backends/dtu/simulator/time/EventQueue.h"
#include "backends/dtu/simulator/time/PeriodicLoops.h"
#include "backends/dtu/simulator/time/StepLogger.h"

#include "absl/status/statusor.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace st::dtu {

/// Merges the work of trace tracks into spans.
class TraceBuilder {
public:
  TraceBuilder(Trace *trace, size_t ranks) : trace(trace), tracks(ranks) {}

  /// `engine` `number` of a rank works from `start` to `end` for kernel `label`.
  void add(size_t rank, Engine engine, int64_t number, const std::string &label, Picoseconds start,
           Picoseconds end);
  /// Ends the open spans of a rank, so that no span crosses a task boundary.
  void endTask(size_t rank);
  void finish();

private:
  struct Open {
    int32_t track = 0;
    TraceSpan span;
    const std::string *label = nullptr;
  };
  Trace *trace;
  std::vector<std::map<std::pair<Engine, int64_t>, Open>> tracks;
  std::map<std::string, int32_t> labelIndices;
};

/// Ranks in a ring that repeat the same work in segments. The ranks of the first segment represent
/// all. A message to a later segment arrives at the rank that represents the receiver, as if the
/// corresponding rank had sent it.
struct Rotation {
  std::vector<size_t> ring; ///< ranks, ascending
  size_t segmentSize = 0;   ///< ranks of a segment
  /// The segments are chips of one group, whose cable they share. So they differ once a rank sends
  /// to one outside the ring; from then on, all ranks run.
  bool sharesLink = false;
  bool isUnfolded = false; ///< all ranks run
  /// Set if messages of different segments requested a link at one instant. Their order then
  /// depends on rank numbers, which are not periodic, so the run cannot represent the other
  /// segments.
  bool isAmbiguous = false;

  size_t segments() const { return ring.size() / segmentSize; }
  /// The segment to which a rank of the ring belongs.
  size_t segmentOf(size_t rank) const { return indexOf(rank) / segmentSize; }
  /// The rank `segments` segments earlier, or later.
  size_t before(size_t rank, size_t segments) const {
    return ring[(indexOf(rank) + ring.size() - segments * segmentSize) % ring.size()];
  }
  size_t after(size_t rank, size_t segments) const {
    return ring[(indexOf(rank) + segments * segmentSize) % ring.size()];
  }

private:
  size_t indexOf(size_t rank) const {
    return static_cast<size_t>(std::lower_bound(ring.begin(), ring.end(), rank) - ring.begin());
  }
};

/// For a run that covers only some ranks: their messages with the others. Messages from outside
/// have arrived when they are received, but none before `arrival`.
struct Boundary {
  struct Message {
    bool isSend;
    size_t rank;
    Picoseconds time;    ///< when the instruction starts
    Picoseconds arrival; ///< of a send, on links without other traffic
  };
  std::vector<bool> isInside; ///< by rank
  /// By rank; may be empty. Ranks on different sides run at the same time and are outside for each
  /// other.
  std::vector<int64_t> sideOf;
  std::vector<Message> messages; ///< in order of time
  Picoseconds arrival = 0;
  std::optional<Rotation> rotation;
  ChipMemory *memory = nullptr;   ///< shared by runs on one machine; may be null
  ChipMemory *together = nullptr; ///< shared by runs of these ranks; may be null
};

class TimeEngine {
public:
  TimeEngine(TimeMachine machine, const std::vector<RankConfig> &ranks,
             const std::vector<std::unique_ptr<DecodedProgram>> &programs,
             const std::vector<RankSchedule> &schedules,
             const std::vector<const LoadedValues *> &loaded, Trace *trace,
             Boundary *boundary = nullptr, StepLog *log = nullptr);

  absl::StatusOr<TimingResult> run();

private:
  using Priority = EventPriority;
  using Event = TimeEvent;
  using State = RunState;
  using Instance = TimeInstance;
  using Semaphore = TimeSemaphore;
  using Rank = TimeRank;
  using Channel = Rank::Channel;
  struct Flight {
    size_t destination;
    Channel channel;
    int64_t bytes;
    size_t sender;    ///< the rank that ran; in a rotation it may represent another
    Picoseconds sent; ///< when its send began
  };

  TimeMachine machine;
  const std::vector<RankConfig> &configs;
  const std::vector<std::unique_ptr<DecodedProgram>> &programs;
  const std::vector<RankSchedule> &schedules;
  const std::vector<const LoadedValues *> &loaded; ///< by rank; empty if no step was executed
  TraceBuilder trace;
  const bool tracing;
  Boundary *boundary; ///< null if all ranks run
  std::optional<StepLogger> logger;
  std::vector<Rank> ranks;
  std::vector<Flight> flights;
  EventQueue queue;
  /// In a rotation: when each link was requested last, and by a message across how many segments.
  std::map<int32_t, std::pair<Picoseconds, size_t>> asked;
  ChipMemory ownMemory;
  std::optional<PeriodicLoops> periodic;
  std::string fault;

  void post(Picoseconds time, Priority priority, size_t rank, uint64_t index);
  /// Re-queues the instances on the chip of `rank` after their states or due times changed.
  void reschedule(size_t rank);
  /// Replays a stretch of all ranks if one is known that begins now. Returns true if it did.
  bool replayTogether(Picoseconds now);
  std::vector<size_t> activeRanks() const;
  bool canSkipPeriods() const;
  static bool isWorker(const Instance &instance) {
    const Engine engine = instance.stream->engine;
    return engine == Engine::Core || engine == Engine::Dte;
  }
  void setState(size_t rank, Instance &instance, State state, Picoseconds now);
  void scheduleTask(size_t rank, Picoseconds now);
  void endTask(size_t rank, Picoseconds now);
  void beginTask(size_t rank, Picoseconds now);
  void arrive(const Flight &flight, Picoseconds now);

  /// Runs an instance until an instruction takes time or blocks.
  void advance(size_t rank, uint32_t index, Picoseconds now);
  /// Returns true if the instance can continue at the same instant.
  bool step(size_t rank, uint32_t index, Slot slot, Picoseconds now);
  void work(size_t rank, uint32_t index, Slot slot, Picoseconds now);
  bool wait(size_t rank, uint32_t index, Slot slot, Picoseconds now);
  void signal(size_t rank, int64_t semaphore, int64_t count, Picoseconds now);
  bool barrier(size_t rank, uint32_t index, Slot slot, Picoseconds now);
  void send(size_t rank, uint32_t index, Slot slot, Picoseconds now);
  bool receive(size_t rank, uint32_t index, Slot slot, Picoseconds now);

  void load(size_t rank, uint32_t index, Slot slot, Picoseconds now);

  bool place(const Instance &instance, const FlatAddress &address, int64_t cores, Traffic &traffic);
  Completion copy(size_t rank, const Instance &instance, Slot slot, Picoseconds now);
  Completion rows(size_t rank, const Instance &instance, Slot slot, Picoseconds now);
  LinkPath rotatedPath(size_t rank, size_t peer, size_t segments, Picoseconds now);
  bool linkTraffic(const Instance &instance, const LinkInst &link, Traffic &traffic);
  bool checkPeer(int64_t peer);
  /// Returns true if the first segment represents all.
  bool isFolded() const {
    return boundary && boundary->rotation && !boundary->rotation->isUnfolded;
  }
  bool isRepresented(size_t rank) const {
    return isFolded() && boundary->isInside[rank] && boundary->rotation->segmentOf(rank) > 0;
  }
  /// Returns true if the instance may send to a rank outside the ring before it waits.
  bool maySendOutside(size_t rank, uint32_t index);
  /// Gives the ranks of the other segments the state of the first one. All events but `next` are
  /// queued.
  void unfold(const Event &next);
  void unfoldRank(size_t rank, size_t segments);
  void unfoldLinks();
  void findPosition(size_t rank, Instance &instance);
  bool isOutside(size_t rank, int64_t peer) const {
    const auto other = static_cast<size_t>(peer);
    return boundary &&
           (!boundary->isInside[other] ||
            (!boundary->sideOf.empty() && boundary->sideOf[rank] != boundary->sideOf[other]));
  }

  /// Logs the label of a message and the links it takes.
  void logSend(size_t rank, const Instance &instance, const LinkPath &path, int64_t bytes);
  void finish(size_t rank, uint32_t index, Picoseconds start, const Completion &completion,
              bool visible = true);
  absl::Status deadlock() const;
};

absl::StatusOr<TimingResult>
simulateTime(const proto::DtuDescription &description, const std::vector<RankConfig> &ranks,
             const std::vector<std::unique_ptr<DecodedProgram>> &programs,
             const std::vector<RankSchedule> &schedules,
             const std::vector<const LoadedValues *> &loaded, Trace *trace,
             Boundary *boundary = nullptr, StepLog *log = nullptr);

} // namespace st::dtu
