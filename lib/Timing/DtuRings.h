// The time of collectives on a device with idle links and memories: the costs by which the compiler
// chooses an algorithm. The simulator uses the same formulas (docs/dtu-isa.md) and adds contention.
// Times are picoseconds.
#pragma once

#include "lib/Timing/DtuTopology.h"

#include <functional>
#include <utility>
#include <vector>

namespace st {

/// Common figures of ranks that each send one message and receive one at the same time.
struct DtuHop {
  double linkPerByte = 0;   ///< on the slowest link, for all its messages
  double memoryPerByte = 0; ///< in the busiest L3, for one byte of each rank whose arena is there
  Picoseconds latency = 0;  ///< the longest
};

/// Steps of a ring: in each, a rank sends a part of this number of bytes and receives one. The
/// fields count how often a byte goes to or from L3 in a step: for the send, for the receive (on
/// average twice if it reduces), and for a copy from the received part to its destination, if there
/// is one.
struct DtuRingSteps {
  int64_t steps = 1, bytes = 0;
  double read = 1, written = 1, loaded = 0;
};

/// An all-reduce as nested rings. The rings of a stage join members whose numbers differ by
/// multiples of `stride` below stride * size. Each stage but the last reduces one part of `size`
/// per member, on which the next stage works; parts are gathered in the opposite order.
struct DtuRingStage {
  int64_t stride = 1, size = 1;
  int64_t pieces = 1; ///< messages per part from one member to the next
};

struct DtuRingPlan {
  Picoseconds time = 0;
  std::vector<DtuRingStage> stages;
};

class DtuRings {
public:
  /// `description` must have passed checkDtuDescription; `places` are the locations of a group's
  /// ranks.
  DtuRings(const proto::DtuDescription &description, std::vector<DtuPlace> places);

  /// For messages from one rank to another; ranks count from 0 within the group.
  DtuHop hopOf(const std::vector<std::pair<int64_t, int64_t>> &messages) const;

  /// From the first send to the last receive, with each part in `pieces` messages.
  Picoseconds timeOf(const DtuHop &hop, const DtuRingSteps &ring, int64_t pieces) const;
  /// The smallest number of messages per part, a power of two, that is almost as fast as the best.
  int64_t piecesOf(const DtuHop &hop, const DtuRingSteps &ring) const;

  /// The hop of the rings of a stage, by stride and size.
  using HopOfStage = std::function<DtuHop(int64_t stride, int64_t size)>;
  /// The fastest way to reduce `bytes` of each of `members` members: one ring of all if rates
  /// dominate, several smaller rings if latencies dominate or near links are faster.
  DtuRingPlan planOf(int64_t members, int64_t bytes, const HopOfStage &hopOf) const;

  /// Every member sends `bytes` to every other one, and adds up `members` rows of L2 in a core.
  /// `hop` covers all messages.
  Picoseconds exchangeTime(const DtuHop &hop, int64_t members, int64_t bytes) const;

  /// A copy in L3 that all queues wait for.
  Picoseconds copyTime(int64_t bytes) const {
    return costs.dteBytes(bytes) + costs.dteLatency + costs.sync;
  }

private:
  DtuCosts costs;
  DtuTopology topology;
  std::vector<DtuPlace> places;
};

} // namespace st
