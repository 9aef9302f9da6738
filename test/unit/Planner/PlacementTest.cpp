// Placement of ranks, counted device by device.

#include "TestModel.h"

#include "lib/Planner/Search/Placement.h"

#include "gtest/gtest.h"

#include <map>
#include <set>

using namespace st;

namespace {

/// The maximum number of nodes of a group along an axis.
size_t maxNodes(const RankNumbering &numbering, const Layout &layout, int64_t node,
                bool alongTensor) {
  size_t most = 0;
  for (int64_t stage = 0; stage < layout.stages; ++stage)
    for (int64_t other = 0; other < (alongTensor ? layout.replicas : layout.tensor); ++other) {
      std::set<int64_t> nodes;
      for (int64_t own = 0; own < (alongTensor ? layout.tensor : layout.replicas); ++own)
        nodes.insert(numbering.id(alongTensor ? own : other, alongTensor ? other : own, stage) /
                     node);
      most = std::max(most, nodes.size());
    }
  return most;
}

std::vector<RankOrder> allOrders() {
  std::vector<RankOrder> orders;
  for (int i = 0; i <= static_cast<int>(RankOrder::PipelineDataTensor); ++i)
    orders.push_back(static_cast<RankOrder>(i));
  return orders;
}

} // namespace

TEST(Placement, CountsNodesOfTheWorstGroup) {
  const proto::ClusterDescription cluster = *builtinClusterDescription("dgx-a100-80gb");
  for (int64_t tensor : {1, 2, 3, 4, 6, 8, 12, 16})
    for (int64_t stages : {1, 2, 3, 5, 8})
      for (int64_t replicas : {1, 2, 3, 8})
        for (RankOrder order : allOrders()) {
          Layout layout;
          layout.tensor = tensor;
          layout.stages = stages;
          layout.replicas = replicas;
          layout.placement = order;
          const RankNumbering numbering(cluster, layout);
          const RankPlacement placement = placeRanks(cluster, layout);
          for (bool alongTensor : {true, false}) {
            const GroupPlacement &group = alongTensor ? placement.tensor : placement.data;
            const auto nodes = static_cast<int>(maxNodes(numbering, layout, 8, alongTensor));
            EXPECT_EQ(group.perNode, (group.ranks + nodes - 1) / nodes) << printLayout(layout);
            EXPECT_LE(group.sharers, 8);
          }
        }
}

TEST(Placement, NumbersEachRankOnce) {
  const proto::ClusterDescription cluster = *builtinClusterDescription("dgx-a100-80gb");
  Layout layout;
  layout.tensor = 2;
  layout.stages = 3;
  layout.replicas = 5;
  for (RankOrder order : allOrders()) {
    layout.placement = order;
    const RankNumbering numbering(cluster, layout);
    std::set<int64_t> ids;
    for (int64_t shard = 0; shard < 2; ++shard)
      for (int64_t replica = 0; replica < 5; ++replica)
        for (int64_t stage = 0; stage < 3; ++stage)
          ids.insert(numbering.id(shard, replica, stage));
    EXPECT_EQ(ids.size(), 30U);
    EXPECT_EQ(*ids.rbegin(), 29);
  }
}

TEST(Placement, LinksCrossWhereANodeEnds) {
  const proto::ClusterDescription cluster = *builtinClusterDescription("dgx-a100-80gb");
  Layout layout;
  layout.tensor = 2;
  layout.stages = 8;
  const RankPlacement placement = placeRanks(cluster, layout);
  for (int64_t group = 0; group + 1 < 8; ++group)
    EXPECT_EQ(placement.links[group].crossesNodes, group == 3) << group;
  EXPECT_EQ(placement.links[3].sharers, 2);
  EXPECT_EQ(placement.tied.perNode, 1);
}

// Orders are equivalent within a node without far devices, and with only one axis.
TEST(Placement, ConsidersOrdersOnlyWhereTheyMatter) {
  const proto::ClusterDescription cluster = *builtinClusterDescription("dgx-a100-80gb");
  Layout layout;
  layout.tensor = 2;
  layout.stages = 2;
  layout.replicas = 2;
  EXPECT_EQ(distinctOrders(cluster, layout, {}).size(), 1U);
  layout = {};
  layout.replicas = 64;
  EXPECT_EQ(distinctOrders(cluster, layout, {}).size(), 1U);
  layout.tensor = 8;
  EXPECT_EQ(distinctOrders(cluster, layout, {}).size(), 2U);
}

TEST(Placement, PrintsAMapping) {
  Layout layout;
  layout.tensor = 2;
  layout.replicas = 2;
  layout.placement = RankOrder::DataTensorPipeline;
  EXPECT_EQ(printDeviceMapping({}, layout), "{\n    \"stage_0\": {\"shard_0\": [\"GPU:0\", "
                                            "\"GPU:1\"], \"shard_1\": [\"GPU:2\", \"GPU:3\"]}}");
}

// Parts of a sequence are next to each other, then replicas that share experts, then their copies.
TEST(Placement, PartsOfSequencesAndSharersOfExperts) {
  const proto::ClusterDescription cluster = *builtinClusterDescription("dgx-a100-80gb");
  for (int64_t tensor : {1, 2, 3, 8})
    for (int64_t context : {1, 2, 3, 8})
      for (int64_t expert : {1, 2, 4})
        for (RankOrder order : allOrders()) {
          Layout layout;
          layout.tensor = tensor;
          layout.context = context;
          layout.expert = expert;
          layout.replicas = 2 * expert;
          layout.stages = 2;
          layout.placement = order;
          const RankNumbering numbering(cluster, layout);
          const RankPlacement placement = placeRanks(cluster, layout);
          // By stage, shard and the rest of the position: the nodes of a group.
          std::map<std::vector<int64_t>, std::set<int64_t>> parts, sharers, holders;
          for (int64_t stage = 0; stage < layout.stages; ++stage)
            for (int64_t shard = 0; shard < tensor; ++shard)
              for (int64_t replica = 0; replica < layout.replicas; ++replica)
                for (int64_t part = 0; part < context; ++part) {
                  const int64_t own = numbering.id(shard, replica * context + part, stage) / 8;
                  parts[{stage, shard, replica}].insert(own);
                  sharers[{stage, shard, replica / expert, part}].insert(own);
                  holders[{stage, shard, replica % expert}].insert(own);
                }
          auto check = [&](const auto &groups, const GroupPlacement &group, int64_t ranks) {
            size_t most = 0;
            for (const auto &[where, nodes] : groups)
              most = std::max(most, nodes.size());
            const auto nodes = static_cast<int>(most);
            EXPECT_EQ(group.ranks, ranks) << printLayout(layout);
            EXPECT_EQ(group.perNode, (group.ranks + nodes - 1) / nodes) << printLayout(layout);
          };
          check(parts, placement.context, context);
          check(sharers, placement.expert, expert);
          check(holders, placement.ofExperts, layout.expertCopies());
        }
}

TEST(Placement, GroupsOfSeveralAxes) {
  const proto::ClusterDescription cluster = *builtinClusterDescription("dgx-a100-80gb");
  Layout layout;
  layout.tensor = 2;
  layout.context = 8;
  proto::OpWork gather;
  gather.add_axes("context");
  const RankPlacement placement = placeRanks(cluster, layout);
  EXPECT_EQ(placement.groupOf(gather).ranks, 8);
  EXPECT_EQ(placement.groupOf(gather).sharers, 2) << "one for each shard";
  gather.add_axes("tensor");
  EXPECT_EQ(placement.groupOf(gather).ranks, 16);
  EXPECT_EQ(placement.groupOf(gather).perNode, 8);
  EXPECT_EQ(placement.groupOf(gather).sharers, 1);
}
