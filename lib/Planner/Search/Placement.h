// Which device has which rank of a layout, and what that means for those that talk to each other.
#ifndef ST_PLANNER_PLACEMENT_H
#define ST_PLANNER_PLACEMENT_H

#include "lib/Planner/Layout.h"
#include "lib/Proto/cluster.pb.h"
#include "lib/Timing/CollectiveTime.h"

#include <array>
#include <string>
#include <vector>

namespace st {

/// Device ids of ranks, the devices of a node one after another.
class RankNumbering {
public:
  RankNumbering(const proto::ClusterDescription &cluster, const Layout &layout);

  int64_t id(int64_t shard, int64_t replica, int64_t stage) const {
    return shard * strides[0] + replica * strides[1] + stage * strides[2];
  }
  /// Distance of neighbours along an axis.
  int64_t tensorStride() const { return strides[0]; }
  int64_t dataStride() const { return strides[1]; }
  int64_t pipelineStride() const { return strides[2]; }
  /// The axes, the fastest first.
  const std::array<const char *, 3> &order() const { return axes; }

private:
  std::array<const char *, 3> axes;
  std::array<int64_t, 3> strides; ///< of tensor, data and pipeline
};

/// The way of a message from a device group to the next one.
struct StageLink {
  bool crossesNodes = false; ///< for any of the group's devices
  int sharers = 1;           ///< devices of a node that send such messages to other nodes

  bool operator==(const StageLink &other) const {
    return crossesNodes == other.crossesNodes && sharers == other.sharers;
  }
};

/// Of each kind of group the one that is placed worst: where a size does not divide the nodes, some
/// groups reach into one node more than others.
struct RankPlacement {
  GroupPlacement tensor, data;
  GroupPlacement tied;          ///< the first and the last stage
  std::vector<StageLink> links; ///< from each device group to the next, the last to the first

  /// Whether nothing on the cluster takes another time.
  bool isLike(const RankPlacement &other) const;
};

RankPlacement placeRanks(const proto::ClusterDescription &cluster, const Layout &layout);

/// Of some orders, or of all from `OfCluster` on where the list is empty, the first of those that
/// are alike for a layout of these degrees.
std::vector<RankOrder> distinctOrders(const proto::ClusterDescription &cluster, Layout layout,
                                      const std::vector<RankOrder> &among);

/// The order that `OfCluster` stands for.
RankOrder resolveOrder(const proto::ClusterDescription &cluster, RankOrder order);

/// The `device_mapping` of a parallel file (docs/parallel-spec.md) for GPUs, which are numbered
/// node by node.
std::string printDeviceMapping(const proto::ClusterDescription &cluster, const Layout &layout);

} // namespace st

#endif // ST_PLANNER_PLACEMENT_H
