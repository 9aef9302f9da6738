// The shared resources of a machine in simulated time: memories, ports and links that serve
// requests in order, and the time each instruction takes on them (docs/dtu-isa.md states every
// rule).
#pragma once

#include "backends/dtu/simulator/Decoded.h"
#include "backends/dtu/simulator/Simulator.h"
#include "lib/Timing/DtuCosts.h"
#include "lib/Timing/DtuTopology.h"

#include "absl/status/statusor.h"

#include <array>
#include <vector>

namespace st::dtu {

/// Serves requests in arrival order.
struct FifoServer {
  Picoseconds freeAt = 0;
  int64_t served = 0;

  /// Occupies the server for `duration`, starting at `now` or later; returns the end.
  Picoseconds reserve(Picoseconds now, Picoseconds duration) {
    ++served;
    return freeAt = (now > freeAt ? now : freeAt) + duration;
  }
};

/// Times of a completed instruction.
struct Completion {
  Picoseconds end = 0;     ///< when the next instruction of its stream may start
  Picoseconds alone = 0;   ///< its duration on an idle machine
  Picoseconds arrival = 0; ///< for a Send: when the message reaches its receiver
};

/// Bytes of an operand and the memory that holds them.
struct Traffic {
  Space space = Space::L3;
  int64_t core = 0;  ///< for L1
  int64_t cores = 1; ///< multicast
  int64_t bytes = 0;
  int64_t burstBytes = 0; ///< for L3: the bytes rounded up to bursts
  bool isWrite = false;   ///< for host memory: the direction of the transfer
};

class TimeMachine {
public:
  static absl::StatusOr<TimeMachine> create(const proto::DtuDescription &description,
                                            const std::vector<RankConfig> &ranks);

  Completion matmul(size_t rank, int64_t core, Picoseconds now, const MatmulInst &inst,
                    const int64_t *registers);
  Completion vector(size_t rank, int64_t core, Picoseconds now, const VectorInst &inst,
                    const int64_t *registers);
  /// A dte transfer with this traffic.
  Completion transfer(size_t rank, int64_t queue, Picoseconds now, const Traffic *traffic,
                      size_t count);
  Completion send(size_t rank, Picoseconds now, const LinkPath &path, const Traffic &source);
  /// Moves an arrived message of `message` bytes to its destination, with this traffic.
  Completion receive(size_t rank, Picoseconds now, int64_t message, const Traffic &destination);

  /// Occupies the links of a message from the time when all of them are free; returns when its last
  /// byte has left.
  Picoseconds occupyLinks(const LinkPath &path, Picoseconds now, int64_t bytes);
  LinkPath path(size_t rank, size_t destination) const {
    return topology.path(placeOf[rank], placeOf[destination]);
  }
  /// Counts work that was timed elsewhere, without its times and without the links of its messages.
  void count(size_t rank, const RankTiming &work);
  void countMessage(const LinkPath &path, int64_t bytes, int64_t times);

  /// The counted work of a rank so far.
  using Work = std::array<int64_t, 20>;
  Work workOf(size_t rank) const;
  /// Records the work of a rank since the end of its last task.
  void endTask(size_t rank);
  /// Adds `work` `times` times; a negative count subtracts it.
  void addWork(size_t rank, const Work &work, int64_t times);

  std::string linkName(int32_t link) const { return topology.linkName(link); }
  size_t chipOf(size_t rank) const { return devices[deviceOf[rank]].chip; }
  /// Visits each memory and engine of a chip of a rank.
  template <typename Visit> void eachServer(size_t chip, Visit &&visit) {
    visit(l3[chip]);
    visit(hosts[chip].to);
    visit(hosts[chip].from);
    for (size_t index : devicesOf[chip]) {
      Device &device = devices[index];
      visit(device.l2);
      for (std::vector<FifoServer> *servers : {&device.l1, &device.core, &device.dte})
        for (FifoServer &server : *servers)
          visit(server);
    }
  }

  /// For ranks that did the same as others: copies work and times of a rank, of the memories and
  /// engines of a chip, or of a link.
  void copyRank(size_t from, size_t to) { rankTimings[to] = rankTimings[from]; }
  void copyChip(size_t from, size_t to);
  void copyLink(int32_t from, int32_t to);

  /// Links that carried a message, ascending.
  const std::vector<size_t> &linksInUse() const { return usedLinks; }
  FifoServer &link(size_t index) { return links[index]; }
  struct LinkWork {
    size_t link;
    Picoseconds busy;
    int64_t bytes;
  };
  /// The work so far of each link in use.
  std::vector<LinkWork> linkWork() const;
  void addLinkWork(const std::vector<LinkWork> &work, int64_t times);

  int64_t cores() const { return numCores; }
  const DtuCosts &costs() const { return model; }
  std::vector<RankTiming> &timings() { return rankTimings; }

  /// The longest time that any one resource is busy at its peak rate: a lower bound for any order
  /// of the same work.
  Picoseconds rooflineBound() const;
  std::vector<LinkTiming> linkTimings() const;
  /// Sums up the work of the ranks; each task counts as simulated.
  TimingResult summarize(int64_t instructions, int64_t simulatedInstructions) const;

private:
  struct Device {
    size_t chip = 0;
    FifoServer l2;
    std::vector<FifoServer> l1, core, dte;
  };
  struct Link : FifoServer {
    Picoseconds busy = 0;
    int64_t bytes = 0;
    bool isUsed = false;
  };

  /// A chip's link to the host; its two directions share nothing.
  struct HostLink {
    FifoServer to, from;
  };
  struct HostBytes {
    int64_t to = 0, from = 0;
  };

  TimeMachine(const proto::DtuDescription &description, int64_t chips);
  /// Bytes over each chip's link to the host.
  std::vector<HostBytes> countHostBytes() const;

  DtuCosts model;
  DtuTopology topology;
  int64_t numCores = 0, numQueues = 0;
  std::vector<Device> devices;
  std::vector<size_t> deviceOf;               ///< rank -> index in devices
  std::vector<DtuPlace> placeOf;              ///< rank -> place
  std::vector<std::vector<size_t>> devicesOf; ///< chip -> indices in devices
  std::vector<FifoServer> l3;                 ///< per chip
  std::vector<HostLink> hosts;                ///< per chip
  std::vector<Link> links;
  std::vector<size_t> usedLinks;
  std::vector<RankTiming> rankTimings;
  std::vector<TaskWork> counted; ///< of each rank, for tasks that ended

  /// Memoised times of vector instructions. Most instructions run repeatedly on tiles of one size.
  struct VectorTime {
    const VectorInst *inst = nullptr;
    int64_t rows = 0, cols = 0;
    Picoseconds time = 0;
  };
  std::array<VectorTime, 256> vectorTimes;

  Picoseconds vectorTime(const VectorInst &inst, int64_t rows, int64_t cols);
  void use(size_t link);
  /// Occupies the memories that a transfer touches; returns its end and its duration alone, without
  /// latency.
  Completion occupy(size_t rank, Picoseconds now, const Traffic *traffic, size_t count);
};

} // namespace st::dtu
