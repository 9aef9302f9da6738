#include "lib/Timing/CollectiveTime.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace st {
namespace {

/// A gigabyte a second is a thousand bytes a microsecond.
double usPerByteAt(double gigabytesPerSecond) { return 1e-3 / gigabytesPerSecond; }

int nodesOf(const GroupPlacement &group) {
  return (group.ranks + group.perNode - 1) / group.perNode;
}

/// Messages one after the other from a root of a tree to its leaves.
int treeDepth(int nodes) { return static_cast<int>(std::ceil(std::log2(nodes))); }

int sizeOf(const LayoutSizes &sizes, absl::string_view axis) {
  return axis == "tensor" ? sizes.tensor : axis == "data" ? sizes.data : sizes.pipeline;
}

} // namespace

GroupPlacement placeGroup(const proto::ClusterDescription &cluster, const LayoutSizes &sizes,
                          absl::string_view axis) {
  const auto devices = static_cast<int>(cluster.devices_per_node());
  const int total = sizes.tensor * sizes.data * sizes.pipeline;
  int stride = 1;
  for (const std::string &faster : cluster.placement()) {
    if (faster == axis)
      break;
    stride *= sizeOf(sizes, faster);
  }
  GroupPlacement group;
  group.ranks = sizeOf(sizes, axis);
  group.perNode = std::clamp((devices + stride - 1) / stride, 1, group.ranks);
  group.sharers = (std::min(devices, total) + group.perNode - 1) / group.perNode;
  group.stride = group.perNode > 1 ? stride : 1;
  return group;
}

MeasuredCurve::MeasuredCurve(const proto::CollectiveCurve &curve)
    : collective(curve.kind()), numRanks(static_cast<int>(curve.ranks())) {
  // Pools neighbours that are out of order (isotonic regression of the logarithms).
  struct Pool {
    double sumOfLogs;
    int count;
    double mean() const { return sumOfLogs / count; }
  };
  std::vector<Pool> pools;
  for (const proto::CollectiveCurve::Point &point : curve.points()) {
    pools.push_back({std::log(point.us()), 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sumOfLogs += last.sumOfLogs;
      pools.back().count += last.count;
    }
  }
  int next = 0;
  for (const Pool &pool : pools)
    for (int i = 0; i < pool.count; ++i, ++next) {
      const proto::CollectiveCurve::Point &point = curve.points(next);
      points.push_back({point.bytes(), pool.count == 1 ? point.us() : std::exp(pool.mean())});
    }
}

double MeasuredCurve::us(double bytes) const {
  const Point &first = points.front(), &last = points.back();
  if (bytes >= last.bytes)
    return bytes * usPerByte();
  if (bytes <= first.bytes)
    // If the first point of a curve has the rate of the last one, no latency remains.
    return std::max(first.us - (first.bytes - bytes) * usPerByte(), first.us * bytes / first.bytes);
  auto above =
      std::lower_bound(points.begin(), points.end(), bytes,
                       [](const Point &point, double limit) { return point.bytes < limit; });
  auto below = above - 1;
  const double part = std::log(bytes / below->bytes) / std::log(above->bytes / below->bytes);
  return below->us * std::pow(above->us / below->us, part);
}

CollectiveTime::CollectiveTime(const proto::ClusterDescription &description, double maxCards,
                               bool sameCards)
    : fastDomain(description.has_fast_domain() ? static_cast<int>(description.fast_domain().value())
                                               : static_cast<int>(description.devices_per_node())),
      nodeLatency(description.node_latency_ns().value() / 1e3),
      cardPerDevice(description.card_per_device()),
      maxCards(maxCards > 0 ? maxCards : std::numeric_limits<double>::infinity()),
      sameCards(sameCards && maxCards > 0) {
  for (const proto::CollectiveCurve &curve : description.curves())
    curves.emplace_back(curve);
  if (description.devices_per_node() > 1) {
    nodeUsPerByte = usPerByteAt(description.has_node_measured_gbytes_per_second()
                                    ? description.node_measured_gbytes_per_second().value()
                                    : description.node_gbytes_per_second().value());
    farUsPerByte = nodeUsPerByte;
    if (description.has_node_far_gbytes_per_second())
      farUsPerByte =
          std::max(nodeUsPerByte, usPerByteAt(description.node_far_gbytes_per_second().value()));
  }
  if (description.max_nodes() > 1) {
    cards = description.cards_per_node().value();
    cardUsPerByte = usPerByteAt(description.card_gbits_per_second().value() / 8 *
                                description.card_efficiency().value());
    networkLatency = description.network_latency_ns().value() / 1e3;
  }
}

CollectiveTime::Traffic CollectiveTime::traffic(absl::string_view kind, int ranks) {
  const double othersShare = (ranks - 1.0) / ranks;
  if (kind == "all_reduce")
    return {2 * othersShare, 2 * (ranks - 1)};
  if (kind == "broadcast")
    return {1, ranks - 1};
  return {othersShare, ranks - 1};
}

/// The nearest number of ranks; of two at the same distance the larger one. Only curves on the same
/// side of the fast domain are comparable.
const MeasuredCurve *CollectiveTime::findCurve(absl::string_view kind, int ranks, bool far,
                                               bool exact) const {
  const MeasuredCurve *best = nullptr;
  for (const MeasuredCurve &curve : curves) {
    if (curve.kind() != kind || isFar(curve.ranks(), 1) != far || (exact && curve.ranks() != ranks))
      continue;
    const int distance = std::abs(curve.ranks() - ranks);
    const int bestDistance = best ? std::abs(best->ranks() - ranks) : 0;
    if (!best || distance < bestDistance ||
        (distance == bestDistance && curve.ranks() > best->ranks()))
      best = &curve;
  }
  return best;
}

double CollectiveTime::insideNode(absl::string_view kind, double bytes, int ranks,
                                  int stride) const {
  if (ranks <= 1)
    return 0;
  const bool far = isFar(ranks, stride);
  const Traffic own = traffic(kind, ranks);
  for (bool exact : {true, false})
    for (absl::string_view measured : {kind, absl::string_view("all_reduce")})
      if (const MeasuredCurve *curve = findCurve(measured, ranks, far, exact)) {
        // More ranks than were measured add the latency of their messages. Fewer ranks do not
        // reduce the measured latency, because it includes that of a launch.
        const Traffic other = traffic(measured, curve->ranks());
        const int added = own.steps - traffic(kind, curve->ranks()).steps;
        return curve->us(bytes) * own.share / other.share + std::max(0, added) * nodeLatency;
      }
  return own.steps * nodeLatency + own.share * bytes * (far ? farUsPerByte : nodeUsPerByte);
}

/// For one link of a ring of large messages within a node.
double CollectiveTime::usPerByteInside(int ranks, int stride) const {
  if (ranks <= 1)
    return 0;
  const bool far = isFar(ranks, stride);
  if (const MeasuredCurve *curve = findCurve("all_reduce", ranks, far, false))
    return curve->usPerByte() / traffic("all_reduce", curve->ranks()).share;
  return far ? farUsPerByte : nodeUsPerByte;
}

/// For a group's traffic between nodes, over its share of each node's network cards.
double CollectiveTime::usPerByteBetween(int perNode, int sharers) const {
  const double own = std::min(cards / sharers, maxCards);
  const double usable = sameCards && perNode > 1 ? std::min(own, maxCards / sharers) : own;
  return cardUsPerByte / (cardPerDevice ? std::min<double>(usable, perNode) : usable);
}

/// One ring through all ranks, which enters and leaves each node once for each card.
double CollectiveTime::ring(absl::string_view kind, double bytes,
                            const GroupPlacement &group) const {
  const int nodes = nodesOf(group), rounds = kind == "all_reduce" ? 2 : 1;
  const double perByte = std::max(usPerByteInside(group.perNode, group.stride),
                                  usPerByteBetween(group.perNode, group.sharers));
  return rounds * (nodes * (group.perNode - 1) * nodeLatency + (nodes - 1) * networkLatency) +
         traffic(kind, group.ranks).share * bytes * perByte;
}

/// Reduce-scatter in each node, all-reduce between nodes, all-gather in each node. Between nodes it
/// uses a ring, or two trees that each carry half up and down.
double CollectiveTime::allReduceByNode(double bytes, const GroupPlacement &group) const {
  const int nodes = nodesOf(group);
  const Traffic between = traffic("all_reduce", nodes);
  const double perByte = usPerByteBetween(group.perNode, group.sharers);
  const double treeShare = nodes == 2 ? 1 : 2;
  return insideNode("reduce_scatter", bytes, group.perNode, group.stride) +
         std::min(between.steps * networkLatency + between.share * bytes * perByte,
                  2 * treeDepth(nodes) * networkLatency + treeShare * bytes * perByte) +
         insideNode("all_gather", bytes, group.perNode, group.stride);
}

/// An all-gather between nodes and in each node, or a reduce-scatter in the opposite order.
double CollectiveTime::gatherByNode(absl::string_view kind, double bytes,
                                    const GroupPlacement &group) const {
  const Traffic between = traffic(kind, nodesOf(group));
  return insideNode(kind, bytes, group.perNode, group.stride) + between.steps * networkLatency +
         between.share * bytes * usPerByteBetween(group.perNode, group.sharers);
}

double CollectiveTime::allReduce(double bytes, const GroupPlacement &group) const {
  if (nodesOf(group) == 1)
    return insideNode("all_reduce", bytes, group.ranks, group.stride);
  return std::min(ring("all_reduce", bytes, group), allReduceByNode(bytes, group));
}

double CollectiveTime::allGather(double bytes, const GroupPlacement &group) const {
  if (nodesOf(group) == 1)
    return insideNode("all_gather", bytes, group.ranks, group.stride);
  return std::min(ring("all_gather", bytes, group), gatherByNode("all_gather", bytes, group));
}

double CollectiveTime::reduceScatter(double bytes, const GroupPlacement &group) const {
  if (nodesOf(group) == 1)
    return insideNode("reduce_scatter", bytes, group.ranks, group.stride);
  return std::min(ring("reduce_scatter", bytes, group),
                  gatherByNode("reduce_scatter", bytes, group));
}

double CollectiveTime::allToAll(double bytes, const GroupPlacement &group) const {
  const int nodes = nodesOf(group);
  if (nodes == 1)
    return insideNode("all_to_all", bytes, group.ranks, group.stride);
  // Traffic within a node and between nodes overlaps. All traffic of a node's ranks to other nodes
  // shares its network cards.
  const double inside = insideNode("all_to_all", bytes / nodes, group.perNode, group.stride);
  const double leaves = group.perNode * bytes * (nodes - 1) / nodes;
  return std::max(inside, (nodes - 1) * networkLatency +
                              leaves * usPerByteBetween(group.perNode, group.sharers));
}

double CollectiveTime::broadcast(double bytes, const GroupPlacement &group) const {
  if (nodesOf(group) == 1)
    return insideNode("broadcast", bytes, group.ranks, group.stride);
  return ring("broadcast", bytes, group);
}

double CollectiveTime::pointToPoint(double bytes, bool crossesNodes, int sharers,
                                    int distance) const {
  if (crossesNodes)
    return networkLatency + bytes * usPerByteBetween(/*perNode=*/1, sharers);
  return nodeLatency + bytes * (isFar(2, distance) ? farUsPerByte : nodeUsPerByte);
}

} // namespace st
