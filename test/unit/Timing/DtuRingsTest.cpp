// Costs of rings: the resources that they count, and the number of pieces that follows from them.
#include "lib/Timing/DtuRings.h"

#include <gtest/gtest.h>

namespace st {
namespace {

using Messages = std::vector<std::pair<int64_t, int64_t>>;

DtuRings ringsOn(const std::vector<int64_t> &devices) {
  proto::DtuDescription description = *builtinDtuDescription("dtu-t10");
  std::vector<DtuPlace> places;
  for (int64_t device : devices)
    places.push_back(*dtuPlace(description, device));
  return {description, std::move(places)};
}

/// From each of this many ranks to the next.
Messages around(int64_t ranks) {
  Messages messages;
  for (int64_t rank = 0; rank < ranks; ++rank)
    messages.push_back({rank, (rank + 1) % ranks});
  return messages;
}

TEST(DtuRings, HopsCountWhatIsShared) {
  // A chip's link of 25 GB/s, an L3 of 512 GB/s.
  DtuHop chips = ringsOn({0, 5}).hopOf(around(2));
  EXPECT_DOUBLE_EQ(chips.linkPerByte, 40);
  EXPECT_DOUBLE_EQ(chips.memoryPerByte, 1000.0 / 512);
  EXPECT_EQ(chips.latency, 800000);
  // Two rings at once over the same pair of chips.
  DtuHop two = ringsOn({0, 1, 5, 6}).hopOf({{0, 2}, {2, 0}, {1, 3}, {3, 1}});
  EXPECT_DOUBLE_EQ(two.linkPerByte, 80);
  EXPECT_DOUBLE_EQ(two.memoryPerByte, 2000.0 / 512);
  // One cable leads out of a group, whichever chip a message comes from.
  DtuHop cable = ringsOn({0, 5, 20, 25}).hopOf({{0, 2}, {2, 0}, {1, 3}, {3, 1}});
  EXPECT_DOUBLE_EQ(cable.linkPerByte, 80);
  EXPECT_EQ(cable.latency, 1500000);
  DtuHop onchip = ringsOn({0, 1, 2, 3}).hopOf(around(4));
  EXPECT_DOUBLE_EQ(onchip.linkPerByte, 1000.0 / 128);
  EXPECT_DOUBLE_EQ(onchip.memoryPerByte, 4000.0 / 512);
}

TEST(DtuRings, LargePartsGoInPieces) {
  DtuRings rings = ringsOn({0, 5});
  DtuHop hop = rings.hopOf(around(2));
  EXPECT_EQ(rings.piecesOf(hop, {2, 0}), 1);
  EXPECT_EQ(rings.piecesOf(hop, {2, 64}), 1);
  DtuRingSteps large = {2, int64_t(8) << 20};
  const int64_t pieces = rings.piecesOf(hop, large);
  EXPECT_GT(pieces, 4);
  const Picoseconds onLink = DtuCosts::scale(2 * large.bytes, hop.linkPerByte);
  EXPECT_LT(rings.timeOf(hop, large, pieces), onLink * 102 / 100);
  EXPECT_GT(rings.timeOf(hop, large, pieces), onLink);
  EXPECT_GT(rings.timeOf(hop, large, 1), onLink * 13 / 10);
}

/// The sizes of the stages of an all-reduce of this many bytes between one cluster of each group.
std::vector<int64_t> stagesOf(int64_t ranks, int64_t bytes) {
  std::vector<int64_t> devices;
  for (int64_t rank = 0; rank < ranks; ++rank)
    devices.push_back(20 * rank);
  DtuRings rings = ringsOn(devices);
  auto hopOf = [&](int64_t stride, int64_t size) {
    Messages messages;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const int64_t number = rank / stride % size;
      messages.push_back({rank, rank + ((number + 1) % size - number) * stride});
    }
    return rings.hopOf(messages);
  };
  std::vector<int64_t> sizes;
  int64_t stride = 1;
  for (const DtuRingStage &stage : rings.planOf(ranks, bytes, hopOf).stages) {
    EXPECT_EQ(stage.stride, stride);
    stride *= stage.size;
    sizes.push_back(stage.size);
  }
  EXPECT_EQ(stride, ranks);
  return sizes;
}

TEST(DtuRings, StagesWhereLatenciesDecide) {
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ(stagesOf(2, 64), Sizes({2}));
  EXPECT_EQ(stagesOf(7, 64), Sizes({7}));
  EXPECT_EQ(stagesOf(8, 16384), Sizes({2, 2, 2}));
  EXPECT_EQ(stagesOf(6, 16384).size(), 2u);
  // All ways send the same bytes; a single ring has most of them in flight at a time.
  EXPECT_EQ(stagesOf(8, int64_t(16) << 20), Sizes({8}));
}

TEST(DtuRings, ExchangesAreForFew) {
  DtuRings rings = ringsOn({0, 1, 2, 3});
  auto hopOf = [&](int64_t, int64_t) { return rings.hopOf(around(4)); };
  Messages all;
  for (int64_t rank = 0; rank < 4; ++rank)
    for (int64_t other = 0; other < 4; ++other)
      if (other != rank)
        all.push_back({rank, other});
  DtuHop hop = rings.hopOf(all);
  EXPECT_LT(rings.exchangeTime(hop, 4, 64), rings.planOf(4, 64, hopOf).time);
  EXPECT_GT(rings.exchangeTime(hop, 512, 64), rings.planOf(512, 64, hopOf).time);
}

} // namespace
} // namespace st
