#include "lib/Costs/DeviceCosts.h"

#include <gtest/gtest.h>

namespace st {
namespace {

/// Coprime figures, two axes with a slower second one, and one without links.
DevicePeaks somePeaks() {
  DevicePeaks peaks;
  peaks.flops = 3000;
  peaks.flops16 = 7000;
  peaks.vectorBytes = 1100;
  peaks.memoryBytes = 130;
  peaks.linkBytes = {17, 5, 0};
  peaks.launchUs = 2;
  peaks.messageUs = 0.5;
  return peaks;
}

proto::OpWork product(proto::ElementType type, double flops, double bytes) {
  proto::OpWork work;
  work.set_kind(proto::OpWork::PRODUCT);
  work.set_type(type);
  work.set_flops(flops);
  work.set_read_bytes(bytes);
  return work;
}

GroupPlacement along(int link, int ranks) {
  GroupPlacement group;
  group.ranks = ranks;
  group.link = link;
  return group;
}

TEST(DeviceCostsTest, ProductsAreRooflines) {
  const DeviceCosts costs(somePeaks());
  OpTime bound = costs.op(product(proto::F32, 3e6, 130));
  EXPECT_DOUBLE_EQ(bound.device, 1000);
  EXPECT_DOUBLE_EQ(bound.host, 2);
  EXPECT_LT(bound.memory, bound.device);
  EXPECT_DOUBLE_EQ(costs.op(product(proto::BF16, 7e6, 130)).device, 1000);
  OpTime moving = costs.op(product(proto::F32, 3000, 1300));
  EXPECT_DOUBLE_EQ(moving.device, 10);
  EXPECT_DOUBLE_EQ(moving.memory, 10);
}

TEST(DeviceCostsTest, ElementwiseOpsAreBoundByVectorsOrMemory) {
  const DeviceCosts costs(somePeaks());
  proto::OpWork work;
  work.set_flops(1100);
  work.set_type(proto::F32);
  EXPECT_DOUBLE_EQ(costs.op(work).device, 4);
  work.set_type(proto::BF16);
  EXPECT_DOUBLE_EQ(costs.op(work).device, 2);
  work.set_written_bytes(1300);
  EXPECT_DOUBLE_EQ(costs.op(work).device, 10);
}

TEST(DeviceCostsTest, CollectivesAreRings) {
  const DeviceCosts costs(somePeaks());
  EXPECT_DOUBLE_EQ(costs.collective("all_reduce", 1000, along(0, 1)).total(), 0);
  EXPECT_DOUBLE_EQ(costs.collective("all_gather", 6800, along(0, 4)).total(),
                   2 + 3 * 0.5 + 6800 * 0.75 / 17);
  EXPECT_DOUBLE_EQ(costs.collective("all_reduce", 8000, along(1, 4)).total(),
                   2 + 6 * 0.5 + 8000 * 1.5 / 5);
  EXPECT_DOUBLE_EQ(costs.collective("collective_permute", 1000, along(1, 8)).total(),
                   2 + 0.5 + 1000 / 5);
  // Ranks of one device are as near as the nearest devices.
  EXPECT_DOUBLE_EQ(costs.collective("all_gather", 6800, along(2, 4)).total(),
                   costs.collective("all_gather", 6800, along(0, 4)).total());
}

TEST(DeviceCostsTest, LinksAsFastAsMemoryAreBoundByIt) {
  DevicePeaks peaks = somePeaks();
  peaks.linkBytes = {130};
  const OpTime time = DeviceCosts(peaks).collective("reduce_scatter", 2600, along(0, 2));
  EXPECT_DOUBLE_EQ(time.device, 0.5 + 5 * 1300 / 130);
  EXPECT_DOUBLE_EQ(time.memory, 5 * 1300 / 130);
}

TEST(DeviceCostsTest, MessagesTakeTheFastestOrTheSlowestLink) {
  const DeviceCosts costs(somePeaks());
  EXPECT_DOUBLE_EQ(costs.transfer(850, false, 1), 0.5 + 850.0 / 17);
  EXPECT_DOUBLE_EQ(costs.transfer(850, true, 1), 0.5 + 850.0 / 5);
  DevicePeaks alone = somePeaks();
  alone.linkBytes = {0};
  EXPECT_DOUBLE_EQ(DeviceCosts(alone).transfer(1300, false, 1), 0.5 + 10);
}

TEST(DeviceCostsTest, UnitsAreBytesOnALink) {
  const DeviceCosts costs(DevicePeaks::unit(2));
  EXPECT_DOUBLE_EQ(costs.transfer(1, false, 1), 1);
  EXPECT_DOUBLE_EQ(costs.collective("all_to_all", 400, along(1, 4)).total(), 512 + 300);
  EXPECT_DOUBLE_EQ(costs.memoryPass(40, 1).total(), 512 + 2);
}

} // namespace
} // namespace st
