#include "lib/Timing/DtuRings.h"

#include <algorithm>
#include <map>

namespace st {

/// With 64 pieces, more pieces could save at most a 64th of a step.
static constexpr int64_t kMaxPieces = 64;
/// Each piece costs work to simulate and to prove in order, so a gain below 1 % is not worth it.
static constexpr int64_t kWorthwhile = 100;

DtuRings::DtuRings(const proto::DtuDescription &description, std::vector<DtuPlace> places)
    : costs(description), topology(description, description.max_chips()),
      places(std::move(places)) {}

DtuHop DtuRings::hopOf(const std::vector<std::pair<int64_t, int64_t>> &messages) const {
  DtuHop hop;
  std::map<int32_t, double> links;
  std::map<int64_t, int64_t> ranksOfChip;
  for (auto [source, destination] : messages) {
    const DtuPlace &from = places[static_cast<size_t>(source)];
    LinkPath path = topology.path(from, places[static_cast<size_t>(destination)]);
    for (int32_t i = 0; i < path.count; ++i) {
      const int32_t link = path.links[static_cast<size_t>(i)];
      hop.linkPerByte = std::max(hop.linkPerByte, links[link] += topology.linkPerByte(link));
    }
    hop.latency = std::max(hop.latency, path.latency);
    const auto ranks = static_cast<double>(++ranksOfChip[from.chip]);
    hop.memoryPerByte = std::max(hop.memoryPerByte, ranks * costs.l3PicosecondsPerByte());
  }
  return hop;
}

Picoseconds DtuRings::timeOf(const DtuHop &hop, const DtuRingSteps &ring, int64_t pieces) const {
  const int64_t piece = (ring.bytes + pieces - 1) / pieces;
  auto memory = [&](double touches) { return DtuCosts::scale(piece, touches * hop.memoryPerByte); };
  // All ranks of a chip send, receive and load at the same time.
  const Picoseconds sent = std::max(DtuCosts::scale(piece, hop.linkPerByte), memory(ring.read));
  const Picoseconds moved = costs.dteBytes(piece);
  // A receive ends with a signal, and another signal releases the piece to the next send.
  const Picoseconds received = std::max(moved, memory(ring.written)) + 2 * costs.sync;
  const Picoseconds arrived = sent + hop.latency + received;
  // A step ends when the busiest resource has processed all pieces, but not before its first piece
  // has been sent, received and, with a single accumulator, loaded over the sent data.
  Picoseconds busiest = std::max({sent, received, memory(ring.read + ring.written + ring.loaded)});
  Picoseconds around = arrived;
  if (ring.loaded > 0) {
    const Picoseconds load = std::max(moved, memory(ring.loaded)) + costs.dteLatency + costs.sync;
    busiest = std::max(busiest, load);
    around = std::max(around, sent + costs.sync + load + received);
  }
  const Picoseconds step = std::max(around, pieces * busiest);
  return (ring.steps - 1) * step + (pieces - 1) * busiest + arrived - costs.sync;
}

int64_t DtuRings::piecesOf(const DtuHop &hop, const DtuRingSteps &ring) const {
  Picoseconds best = timeOf(hop, ring, 1);
  for (int64_t pieces = 2; pieces <= kMaxPieces; pieces *= 2)
    best = std::min(best, timeOf(hop, ring, pieces));
  int64_t fewest = 1;
  while (timeOf(hop, ring, fewest) > best + best / kWorthwhile)
    fewest *= 2;
  return fewest;
}

DtuRingPlan DtuRings::planOf(int64_t members, int64_t bytes, const HopOfStage &hopOf) const {
  // The best continuation from each stride, largest first: the rest of a ring depends only on the
  // stride at the end of a stage.
  struct Way {
    Picoseconds time = 0;
    DtuRingStage first;
  };
  std::map<int64_t, Way> ways;
  for (int64_t stride = members - 1; stride > 0; --stride) {
    if (members % stride != 0)
      continue;
    Way best;
    for (int64_t size = members / stride; size > 1; --size) {
      if (members / stride % size != 0)
        continue;
      const DtuHop hop = hopOf(stride, size);
      // The last stage gathers what it has just reduced; half of its receives reduce.
      const bool isLast = stride * size == members;
      const DtuRingSteps ring = {isLast ? 2 * (size - 1) : size - 1,
                                 (bytes + stride * size - 1) / (stride * size), 1,
                                 isLast ? 1.5 : 2};
      DtuRingSteps gather = ring;
      gather.written = 1;
      const int64_t pieces = piecesOf(hop, ring);
      Picoseconds time = timeOf(hop, ring, pieces);
      if (!isLast)
        time += timeOf(hop, gather, pieces) + 2 * costs.sync + ways[stride * size].time;
      if (best.time == 0 || time < best.time)
        best = {time, {stride, size, pieces}};
    }
    ways[stride] = best;
  }
  DtuRingPlan plan = {ways[1].time, {}};
  for (int64_t stride = 1; stride < members; stride *= plan.stages.back().size)
    plan.stages.push_back(ways[stride].first);
  return plan;
}

Picoseconds DtuRings::exchangeTime(const DtuHop &hop, int64_t members, int64_t bytes) const {
  const Picoseconds sent = DtuCosts::scale(bytes, hop.linkPerByte);
  const Picoseconds received = (members - 1) * (costs.dteBytes(bytes) + costs.sync);
  // From L2 to a core, and from there back to L3; each step signals the next one.
  const Picoseconds reduced =
      costs.dteBytes(members * bytes) +
      costs.vector(members, bytes, 1, /*transcendental=*/false, BankSteps::ofDense(bytes, 1)) +
      costs.dteBytes(bytes) + 2 * costs.dteLatency + 4 * costs.sync;
  return std::max(sent, received) + hop.latency + reduced;
}

} // namespace st
