// The device of each rank of a layout, and the resulting placement of communicating groups.
#ifndef ST_PLANNER_PLACEMENT_H
#define ST_PLANNER_PLACEMENT_H

#include "lib/Planner/Layout.h"
#include "lib/Proto/cluster.pb.h"
#include "lib/Proto/work.pb.h"
#include "lib/Timing/CollectiveTime.h"

#include <array>
#include <string>
#include <vector>

namespace st {

/// Device ids of ranks; the devices of a node are consecutive.
class RankNumbering {
public:
  RankNumbering(const proto::ClusterDescription &cluster, const Layout &layout);

  /// `copy`: replica * context + part of the sequence.
  int64_t id(int64_t shard, int64_t copy, int64_t stage) const {
    return shard * strides[0] + copy * strides[1] + stage * strides[2];
  }
  /// Distance between adjacent ranks along an axis.
  int64_t tensorStride() const { return strides[0]; }
  int64_t dataStride() const { return strides[1]; }
  int64_t pipelineStride() const { return strides[2]; }
  /// The axes, fastest first.
  const std::array<const char *, 3> &order() const { return axes; }

private:
  std::array<const char *, 3> axes;
  std::array<int64_t, 3> strides; ///< of tensor, data and pipeline
};

/// The path of messages from a device group to the next one.
struct StageLink {
  bool crossesNodes = false; ///< for any of the group's devices
  int sharers = 1;           ///< devices of a node that send such messages to other nodes at once

  bool operator==(const StageLink &other) const {
    return crossesNodes == other.crossesNodes && sharers == other.sharers;
  }
};

/// The worst-placed group of each kind: if a size does not divide the nodes, some groups extend
/// further into a node than others.
struct RankPlacement {
  GroupPlacement tensor;
  GroupPlacement context;       ///< the parts of a sequence
  GroupPlacement expert;        ///< replicas that share experts
  GroupPlacement data;          ///< devices with the same weights: replicas and parts of sequences
  GroupPlacement ofExperts;     ///< devices with the same experts
  GroupPlacement tied;          ///< the first and the last stage
  std::vector<StageLink> links; ///< from each device group to the next, the last to the first

  /// Returns true if all times on the cluster are equal.
  bool hasTimesOf(const RankPlacement &other) const;
  /// The group of a collective of a block's program.
  GroupPlacement groupOf(const proto::OpWork &collective) const;
};

RankPlacement placeRanks(const proto::ClusterDescription &cluster, const Layout &layout);

/// Removes orders that are equivalent for a layout of these degrees, and keeps the first of each
/// class. An empty list represents all orders from `OfCluster` on.
std::vector<RankOrder> distinctOrders(const proto::ClusterDescription &cluster, Layout layout,
                                      const std::vector<RankOrder> &among);

/// Returns the order that `OfCluster` represents.
RankOrder resolveOrder(const proto::ClusterDescription &cluster, RankOrder order);

/// The `device_mapping` of a parallel file (docs/parallel-spec.md) for GPUs numbered node by node.
std::string printDeviceMapping(const proto::ClusterDescription &cluster, const Layout &layout);

} // namespace st

#endif // ST_PLANNER_PLACEMENT_H
