// The time of collectives on a cluster with idle links: measured curves if the cluster has them,
// otherwise the formula of rings (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms",
// 2009), and between nodes also two trees (Sanders, Speck and Träff, "Two-tree algorithms", 2009).
// docs/clusters.md gives the rules.
//
// Times are microseconds. Sizes are bytes of the complete tensor: a rank's data before an
// all-reduce, a reduce-scatter or an all-to-all, and after an all-gather or a broadcast. A higher
// rate never increases a time, and more bytes never decrease it.
#pragma once

#include "lib/Proto/cluster.pb.h"
#include "lib/Timing/GroupPlacement.h"

#include "absl/strings/string_view.h"

#include <limits>
#include <string>
#include <vector>

namespace st {

/// The number of positions along each axis of a layout.
struct LayoutSizes {
  int tensor = 1, data = 1, pipeline = 1;
};

/// The groups along `axis` ("tensor", "data" or "pipeline") of a layout whose ranks have device ids
/// from 0 in the order of the cluster's `placement`. If axes do not fill nodes evenly, this is the
/// first group.
GroupPlacement placeGroup(const proto::ClusterDescription &cluster, const LayoutSizes &sizes,
                          absl::string_view axis);

/// A measured curve, made monotone: if a larger message was faster than a smaller one, both get
/// their geometric mean.
class MeasuredCurve {
public:
  explicit MeasuredCurve(const proto::CollectiveCurve &curve);

  const std::string &kind() const { return collective; }
  int ranks() const { return numRanks; }

  /// Interpolates the logarithms linearly between two points. Above the last point it has that
  /// point's rate; below the first point it has the same rate, plus the latency that remains of the
  /// first point's time.
  double us(double bytes) const;

  /// The rate of large messages: that of the last point.
  double usPerByte() const { return points.back().us / points.back().bytes; }

private:
  struct Point {
    double bytes, us;
  };
  std::string collective;
  int numRanks;
  std::vector<Point> points;
};

class CollectiveTime {
public:
  /// `description` must have passed checkClusterDescription. A collective's rings use at most
  /// `maxCards` cards of a node; 0: all. With `sameCards`, all groups with several devices in a
  /// node use the same cards; a device that is its group's only one in the node has a separate
  /// card.
  explicit CollectiveTime(const proto::ClusterDescription &description, double maxCards = 0,
                          bool sameCards = false);

  /// Infinite for a group over several nodes of a cluster without a network. 0 for one rank.
  double allReduce(double bytes, const GroupPlacement &group) const;
  double allGather(double bytes, const GroupPlacement &group) const;
  double reduceScatter(double bytes, const GroupPlacement &group) const;
  double allToAll(double bytes, const GroupPlacement &group) const;
  double broadcast(double bytes, const GroupPlacement &group) const;

  /// A message between two devices. Within a node, `distance` is the difference of their ids;
  /// across nodes, `sharers` such messages leave a node at the same time.
  double pointToPoint(double bytes, bool crossesNodes, int sharers = 1, int distance = 1) const;

private:
  /// The traffic of a ring: on each link, the share of the tensor's bytes and the number of
  /// messages.
  struct Traffic {
    double share;
    int steps;
  };
  static Traffic traffic(absl::string_view kind, int ranks);

  double insideNode(absl::string_view kind, double bytes, int ranks, int stride) const;
  double usPerByteInside(int ranks, int stride) const;
  double usPerByteBetween(int perNode, int sharers) const;
  bool isFar(int ranks, int stride) const { return (ranks - 1) * stride + 1 > fastDomain; }
  const MeasuredCurve *findCurve(absl::string_view kind, int ranks, bool far, bool exact) const;

  double ring(absl::string_view kind, double bytes, const GroupPlacement &group) const;
  double allReduceByNode(double bytes, const GroupPlacement &group) const;
  double gatherByNode(absl::string_view kind, double bytes, const GroupPlacement &group) const;

  std::vector<MeasuredCurve> curves;
  int fastDomain;
  double nodeUsPerByte = 0, farUsPerByte = 0, nodeLatency;
  /// Infinite without a network, so messages never arrive.
  double cards = 1, cardUsPerByte = 0, networkLatency = std::numeric_limits<double>::infinity();
  bool cardPerDevice;
  double maxCards;
  bool sameCards;
};

} // namespace st
