// What collectives take on a device when nothing else uses its links and memories: the costs by
// which the compiler chooses between ways of doing one. The simulator has the same rules of time
// (docs/dtu-isa.md) and adds what gets in the way. Times are picoseconds.
#pragma once

#include "lib/Timing/DtuTopology.h"

#include <functional>
#include <utility>
#include <vector>

namespace st {

/// What ranks that each send a message and receive one at the same time have in common.
struct DtuHop {
  double linkPerByte = 0;   ///< on the link that most of the time is spent on, by all its messages
  double memoryPerByte = 0; ///< in the busiest L3, for a byte of each rank that has its arena there
  Picoseconds latency = 0;  ///< the longest
};

/// Steps of a ring: each rank sends a part of so many bytes and receives one. How often a byte of
/// it goes to or from L3 in a step: for the send, for the receive (twice if it reduces, on
/// average), and for the copy that puts there what is received onto, if there is one.
struct DtuRingSteps {
  int64_t steps = 1, bytes = 0;
  double read = 1, written = 1, loaded = 0;
};

/// An all-reduce as rings within rings: those of a stage join members whose numbers differ by
/// multiples of `stride` below stride * size. Each stage but the last leaves a member one part of
/// `size` reduced, on which the next stage works; parts are gathered in the opposite order.
struct DtuRingStage {
  int64_t stride = 1, size = 1;
  int64_t pieces = 1; ///< messages in which a part goes from one member to the next
};

struct DtuRingPlan {
  Picoseconds time = 0;
  std::vector<DtuRingStage> stages;
};

class DtuRings {
public:
  /// `description` must have passed checkDtuDescription; `places` are those of a group's ranks.
  DtuRings(const proto::DtuDescription &description, std::vector<DtuPlace> places);

  /// Of messages from one rank to another; ranks count from 0 within the group.
  DtuHop hopOf(const std::vector<std::pair<int64_t, int64_t>> &messages) const;

  /// From the first send to the last receive of parts that go in so many messages each.
  Picoseconds timeOf(const DtuHop &hop, const DtuRingSteps &ring, int64_t pieces) const;
  /// The fewest messages a part that take hardly longer than the best number of them does, a power
  /// of two.
  int64_t piecesOf(const DtuHop &hop, const DtuRingSteps &ring) const;

  /// The hop of the rings of a stage, by stride and size.
  using HopOfStage = std::function<DtuHop(int64_t stride, int64_t size)>;
  /// What reduces `bytes` of each of so many members fastest: one ring of all where the rates
  /// decide, more and smaller ones where latencies do or near links are faster.
  DtuRingPlan planOf(int64_t members, int64_t bytes, const HopOfStage &hopOf) const;

  /// Everyone sends `bytes` to everyone, and adds up `members` rows of L2 in a core. `hop` is that
  /// of all messages.
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
