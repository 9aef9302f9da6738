#include "lib/Planner/Search/Placement.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>

namespace st {
namespace {

constexpr std::array<const char *, 3> kAxes = {"tensor", "data", "pipeline"};

std::array<const char *, 3> axesOf(const proto::ClusterDescription &cluster, RankOrder order) {
  const auto &[tensor, data, pipeline] = kAxes;
  switch (order) {
  case RankOrder::TensorPipelineData:
    return {tensor, pipeline, data};
  case RankOrder::DataTensorPipeline:
    return {data, tensor, pipeline};
  case RankOrder::DataPipelineTensor:
    return {data, pipeline, tensor};
  case RankOrder::PipelineTensorData:
    return {pipeline, tensor, data};
  case RankOrder::PipelineDataTensor:
    return {pipeline, data, tensor};
  case RankOrder::OfCluster:
    if (cluster.placement_size() == static_cast<int>(kAxes.size())) {
      std::array<const char *, 3> axes;
      for (size_t i = 0; i < kAxes.size(); ++i)
        axes[i] = *std::find_if(kAxes.begin(), kAxes.end(), [&](const char *axis) {
          return cluster.placement(static_cast<int>(i)) == axis;
        });
      return axes;
    }
    break;
  case RankOrder::TensorDataPipeline:
    break;
  }
  return kAxes;
}

/// Places the groups of one layout.
class Placer {
public:
  Placer(const proto::ClusterDescription &cluster, const Layout &layout);
  RankPlacement place() const;

private:
  int64_t strideOf(int axis) const {
    return axis == 0 ? numbering.tensorStride() : numbering.dataStride();
  }
  /// Returns true if all groups of ranks at this distance have the same placement in their nodes.
  bool isEven(int64_t size, int64_t stride) const;
  /// Places axis 0 (tensor) or 1 (data).
  GroupPlacement placeAxis(int axis) const;
  /// Counts nodes of each group along an axis whose groups differ.
  GroupPlacement placeUnevenAxis(int axis) const;
  /// Places groups along a part of axis data. `members`: ascending positions on the axis of the
  /// group of position 0. `isFirst` returns true for the least position of each group.
  template <typename IsFirst>
  GroupPlacement placeCopies(const std::vector<int64_t> &members, IsFirst isFirst) const;
  void placeContext(RankPlacement &placement) const;
  void placeExperts(RankPlacement &placement) const;
  GroupPlacement placeTied() const;
  void placeLinks(std::vector<StageLink> &links) const;
  /// Calls `visit` with the device id of each shard and replica of a stage.
  template <typename Visit> void forEachOfStage(int64_t stage, Visit visit) const {
    for (int64_t copy = 0; copy < layout.copies(); ++copy)
      for (int64_t shard = 0; shard < layout.tensor; ++shard)
        visit(numbering.id(shard, copy, stage));
  }

  const Layout &layout;
  const RankNumbering numbering;
  const std::array<int64_t, 3> sizes;
  const int64_t node;
  const bool hasFarDevices;
  proto::ClusterDescription nodes; ///< the part of a cluster that placeGroup reads
};

} // namespace

RankNumbering::RankNumbering(const proto::ClusterDescription &cluster, const Layout &layout)
    : axes(axesOf(cluster, layout.placement)) {
  const std::array<int64_t, 3> sizes = {layout.tensor, layout.copies(), layout.stages};
  int64_t stride = 1;
  for (const char *axis : axes) {
    const size_t at = std::find(kAxes.begin(), kAxes.end(), axis) - kAxes.begin();
    strides[at] = stride;
    stride *= sizes[at];
  }
}

Placer::Placer(const proto::ClusterDescription &cluster, const Layout &layout)
    : layout(layout), numbering(cluster, layout),
      sizes({layout.tensor, layout.copies(), layout.stages}), node(cluster.devices_per_node()),
      hasFarDevices(cluster.has_fast_domain() &&
                    cluster.fast_domain().value() < static_cast<double>(node)) {
  nodes.set_devices_per_node(cluster.devices_per_node());
  for (const char *axis : numbering.order())
    nodes.add_placement(axis);
}

bool Placer::isEven(int64_t size, int64_t stride) const {
  return layout.devices() <= node ||
         (stride >= node          ? stride % node == 0
          : size * stride <= node ? node % (size * stride) == 0
                                  : node % stride == 0 && size * stride % node == 0);
}

GroupPlacement Placer::placeAxis(int axis) const {
  GroupPlacement group =
      isEven(sizes[axis], strideOf(axis))
          ? placeGroup(nodes,
                       {static_cast<int>(layout.tensor), static_cast<int>(layout.copies()),
                        static_cast<int>(layout.stages)},
                       kAxes[axis])
          : placeUnevenAxis(axis);
  // Distances matter only if devices of a node are at different distances.
  if (!hasFarDevices || group.perNode == 1)
    group.stride = 1;
  return group;
}

GroupPlacement Placer::placeUnevenAxis(int axis) const {
  const int64_t size = sizes[axis], stride = strideOf(axis);
  std::array<int64_t, 3> others = sizes;
  others[axis] = 1;
  int64_t maximum = 1;
  // Per node, the number of groups that extend into other nodes.
  std::vector<int> reaching((layout.devices() + node - 1) / node);
  for (int64_t group = 0; group < others[0] * others[1] * others[2]; ++group) {
    const int64_t first = numbering.id(group % others[0], group / others[0] % others[1],
                                       group / others[0] / others[1]);
    int64_t used = 0;
    for (int64_t rank = 0, before = -1; rank < size; ++rank) {
      const int64_t own = (first + rank * stride) / node;
      used += own != before;
      before = own;
    }
    maximum = std::max(maximum, used);
    for (int64_t rank = 0, before = -1; used > 1 && rank < size; ++rank) {
      const int64_t own = (first + rank * stride) / node;
      reaching[own] += own != before;
      before = own;
    }
  }
  GroupPlacement placement;
  placement.ranks = static_cast<int>(size);
  placement.perNode = static_cast<int>((size + maximum - 1) / maximum);
  placement.stride = static_cast<int>(stride);
  placement.sharers = std::max(1, *std::max_element(reaching.begin(), reaching.end()));
  return placement;
}

template <typename IsFirst>
GroupPlacement Placer::placeCopies(const std::vector<int64_t> &members, IsFirst isFirst) const {
  const auto size = static_cast<int64_t>(members.size());
  const int64_t step = size > 1 ? members[1] : 1, stride = step * numbering.dataStride();
  GroupPlacement group;
  group.ranks = static_cast<int>(size);
  if (members.back() == step * (size - 1) && isEven(size, stride)) {
    group.perNode = static_cast<int>(std::clamp<int64_t>((node + stride - 1) / stride, 1, size));
    group.sharers = static_cast<int>(
        (std::min<int64_t>(node, layout.devices()) + group.perNode - 1) / group.perNode);
  } else {
    int64_t maximum = 1;
    std::vector<int> reaching((layout.devices() + node - 1) / node);
    std::vector<int64_t> used;
    for (int64_t stage = 0; stage < layout.stages; ++stage)
      for (int64_t copy = 0; copy < layout.copies(); ++copy)
        for (int64_t shard = 0; shard < layout.tensor && isFirst(copy); ++shard) {
          used.clear();
          for (int64_t member : members)
            if (int64_t own = numbering.id(shard, copy + member, stage) / node;
                used.empty() || used.back() != own)
              used.push_back(own);
          maximum = std::max(maximum, static_cast<int64_t>(used.size()));
          for (int64_t each : used)
            reaching[each] += used.size() > 1;
        }
    group.perNode = static_cast<int>((size + maximum - 1) / maximum);
    group.sharers = std::max(1, *std::max_element(reaching.begin(), reaching.end()));
  }
  if (hasFarDevices && group.perNode > 1)
    group.stride = static_cast<int>(stride);
  return group;
}

void Placer::placeContext(RankPlacement &placement) const {
  std::vector<int64_t> parts(layout.context);
  std::iota(parts.begin(), parts.end(), 0);
  placement.context = placeCopies(parts, [&](int64_t copy) { return copy % layout.context == 0; });
}

void Placer::placeExperts(RankPlacement &placement) const {
  const int64_t sharing = layout.expert * layout.context;
  std::vector<int64_t> sharers, holders;
  for (int64_t i = 0; i < layout.expert; ++i)
    sharers.push_back(i * layout.context);
  for (int64_t copy = 0; copy < layout.copies(); ++copy)
    if (copy % sharing < layout.context)
      holders.push_back(copy);
  placement.expert =
      placeCopies(sharers, [&](int64_t copy) { return copy % sharing < layout.context; });
  placement.ofExperts = placeCopies(
      holders, [&](int64_t copy) { return copy < sharing && copy % layout.context == 0; });
}

GroupPlacement Placer::placeTied() const {
  GroupPlacement pair;
  pair.ranks = 2;
  pair.perNode = 2;
  pair.stride =
      hasFarDevices ? static_cast<int>(numbering.pipelineStride() * (layout.stages - 1)) : 1;
  const int64_t distance = numbering.pipelineStride() * (layout.stages - 1);
  std::map<int64_t, int> leaving;
  forEachOfStage(0, [&](int64_t id) {
    if (id / node != (id + distance) / node)
      ++leaving[id / node];
  });
  for (const auto &[each, count] : leaving) {
    pair.perNode = 1;
    pair.stride = 1;
    pair.sharers = std::max(pair.sharers, count);
  }
  return pair;
}

void Placer::placeLinks(std::vector<StageLink> &links) const {
  links.resize(layout.stages);
  if (layout.devices() <= node)
    return;
  // Only groups with several stages send from the last device group to the first.
  const int64_t used = layout.virtualStages > 1 ? layout.stages : layout.stages - 1;
  std::vector<int> leaving((layout.devices() + node - 1) / node);
  for (int64_t group = 0; group < used; ++group) {
    const int64_t next = (group + 1) % layout.stages;
    const int64_t distance = (next - group) * numbering.pipelineStride();
    forEachOfStage(group, [&](int64_t id) {
      if (id / node == (id + distance) / node)
        return;
      ++leaving[id / node];
      links[group].crossesNodes = true;
    });
  }
  const int maximum = *std::max_element(leaving.begin(), leaving.end());
  for (StageLink &link : links)
    if (link.crossesNodes)
      link.sharers = maximum;
}

RankPlacement Placer::place() const {
  RankPlacement placement;
  placement.tensor = placeAxis(0);
  placement.data = placement.ofExperts = placeAxis(1);
  if (layout.context > 1)
    placeContext(placement);
  if (layout.expert > 1)
    placeExperts(placement);
  if (layout.stages > 1) {
    placement.tied = placeTied();
    placeLinks(placement.links);
  }
  return placement;
}

bool RankPlacement::hasTimesOf(const RankPlacement &other) const {
  auto isSame = [](const GroupPlacement &a, const GroupPlacement &b) {
    // A group within a node leaves the network cards to others.
    const bool stays = a.perNode == a.ranks;
    return a.ranks == b.ranks && a.perNode == b.perNode && a.stride == b.stride &&
           (stays || a.sharers == b.sharers);
  };
  return isSame(tensor, other.tensor) && isSame(context, other.context) &&
         isSame(expert, other.expert) && isSame(data, other.data) &&
         isSame(ofExperts, other.ofExperts) && isSame(tied, other.tied) && links == other.links;
}

/// The group of two axes. Their groups of ranks nest.
static GroupPlacement combine(const GroupPlacement &inner, const GroupPlacement &outer) {
  GroupPlacement group;
  group.ranks = inner.ranks * outer.ranks;
  group.perNode = inner.perNode * outer.perNode;
  group.stride = std::min(inner.stride, outer.stride);
  // Groups within a node share no cards.
  auto sharersOf = [](const GroupPlacement &each) {
    return each.perNode < each.ranks ? each.sharers : 1;
  };
  group.sharers = std::max(1, std::max(sharersOf(inner), sharersOf(outer)) / inner.perNode);
  return group;
}

GroupPlacement RankPlacement::groupOf(const proto::OpWork &collective) const {
  std::optional<GroupPlacement> group;
  for (const std::string &axis : collective.axes()) {
    const GroupPlacement &own = axis == "context" ? context : axis == "expert" ? expert : tensor;
    group = group ? combine(own, *group) : own;
  }
  return group.value_or(tensor);
}

RankPlacement placeRanks(const proto::ClusterDescription &cluster, const Layout &layout) {
  return Placer(cluster, layout).place();
}

std::vector<RankOrder> distinctOrders(const proto::ClusterDescription &cluster, Layout layout,
                                      const std::vector<RankOrder> &among) {
  static const std::vector<RankOrder> all = {
      RankOrder::OfCluster,          RankOrder::TensorDataPipeline, RankOrder::TensorPipelineData,
      RankOrder::DataTensorPipeline, RankOrder::DataPipelineTensor, RankOrder::PipelineTensorData,
      RankOrder::PipelineDataTensor};
  std::vector<RankOrder> orders;
  std::vector<RankPlacement> placements;
  for (RankOrder order : among.empty() ? all : among) {
    layout.placement = order;
    RankPlacement placement = placeRanks(cluster, layout);
    if (std::any_of(placements.begin(), placements.end(),
                    [&](const RankPlacement &other) { return placement.hasTimesOf(other); }))
      continue;
    orders.push_back(order);
    placements.push_back(std::move(placement));
  }
  return orders;
}

RankOrder resolveOrder(const proto::ClusterDescription &cluster, RankOrder order) {
  if (order != RankOrder::OfCluster)
    return order;
  const auto axes = axesOf(cluster, order);
  return *parseRankOrder(absl::StrJoin(axes, "-"));
}

std::string printDeviceMapping(const proto::ClusterDescription &cluster, const Layout &layout) {
  const RankNumbering numbering(cluster, layout);
  std::string text = "{";
  for (int64_t stage = 0; stage < layout.stages; ++stage) {
    absl::StrAppend(&text, stage > 0 ? "," : "", "\n    \"stage_", stage, "\": {");
    for (int64_t shard = 0; shard < layout.tensor; ++shard) {
      absl::StrAppend(&text, shard > 0 ? ", " : "", "\"shard_", shard,
                      "\": ", layout.copies() > 1 ? "[" : "");
      for (int64_t copy = 0; copy < layout.copies(); ++copy)
        absl::StrAppend(&text, copy > 0 ? ", " : "", "\"GPU:", numbering.id(shard, copy, stage),
                        "\"");
      absl::StrAppend(&text, layout.copies() > 1 ? "]" : "");
    }
    absl::StrAppend(&text, "}");
  }
  return text + "}";
}

} // namespace st
