// Times of collectives: measured times are reproduced, times between them are near, and no time
// grows with a rate or shrinks with bytes, for any cluster and group.
#include "lib/Timing/CollectiveTime.h"
#include "lib/Timing/ClusterDescription.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>

namespace st {
namespace {

constexpr double kMiB = 1 << 20, kGiB = 1 << 30;

proto::ClusterDescription cluster(const char *name) { return *builtinClusterDescription(name); }

using Collective = double (CollectiveTime::*)(double, const GroupPlacement &) const;
constexpr Collective kCollectives[] = {&CollectiveTime::allReduce, &CollectiveTime::allGather,
                                       &CollectiveTime::reduceScatter, &CollectiveTime::allToAll,
                                       &CollectiveTime::broadcast};

/// A random group, which fits the cluster.
GroupPlacement randomGroup(const proto::ClusterDescription &cluster, std::mt19937 &random) {
  auto upTo = [&](int64_t limit) {
    return static_cast<int>(std::uniform_int_distribution<int64_t>(1, limit)(random));
  };
  const int devices = static_cast<int>(cluster.devices_per_node());
  GroupPlacement group;
  group.perNode = upTo(devices);
  group.stride = upTo(devices / group.perNode);
  group.sharers = upTo(devices / group.perNode);
  group.ranks = std::max(2, group.perNode * upTo(std::min<int>(16, cluster.max_nodes())));
  if (group.ranks == 2 && cluster.max_nodes() == 1)
    group.perNode = 2, group.stride = 1;
  return group;
}

double randomBytes(std::mt19937 &random) {
  return std::exp2(std::uniform_real_distribution<double>(0, 34)(random));
}

TEST(MeasuredCurve, ReproducesWhatWasMeasured) {
  int points = 0, exact = 0;
  for (const char *name : {"dgx-a100-80gb", "v100-8x32gb"}) {
    proto::ClusterDescription description = cluster(name);
    ASSERT_EQ(description.curves_size(), 7);
    CollectiveTime time(description);
    for (const proto::CollectiveCurve &curve : description.curves())
      for (const proto::CollectiveCurve::Point &point : curve.points()) {
        const int ranks = static_cast<int>(curve.ranks());
        const double us = time.allReduce(point.bytes(), {ranks, ranks});
        // Five percent if a larger message was measured to be faster than a smaller one.
        EXPECT_NEAR(us, point.us(), point.us() * 0.05)
            << name << " " << ranks << " " << point.bytes();
        exact += std::abs(us - point.us()) < 1e-9 * point.us();
        ++points;
      }
  }
  EXPECT_EQ(points, 280);
  EXPECT_GE(exact, 270);
}

TEST(MeasuredCurve, OutOfOrderPointsGetTheirMean) {
  proto::CollectiveCurve measured;
  measured.set_kind("all_reduce");
  measured.set_ranks(2);
  for (auto [bytes, us] : {std::pair{1e6, 10.0}, {2e6, 40.0}, {4e6, 10.0}, {8e6, 80.0}}) {
    proto::CollectiveCurve::Point *point = measured.add_points();
    point->set_bytes(bytes);
    point->set_us(us);
  }
  MeasuredCurve curve(measured);
  EXPECT_DOUBLE_EQ(curve.us(2e6), 20);
  EXPECT_DOUBLE_EQ(curve.us(3e6), 20);
  EXPECT_DOUBLE_EQ(curve.us(4e6), 20);
  EXPECT_DOUBLE_EQ(curve.us(8e6), 80);
  EXPECT_DOUBLE_EQ(curve.us(16e6), 160);
  // 10 us per megabyte: the first point has no latency.
  EXPECT_DOUBLE_EQ(curve.us(0.5e6), 5);
}

TEST(MeasuredCurve, SmallMessagesTakeTheLatency) {
  proto::CollectiveCurve measured;
  for (auto [bytes, us] : {std::pair{1e6, 30.0}, {100e6, 1000.0}}) {
    proto::CollectiveCurve::Point *point = measured.add_points();
    point->set_bytes(bytes);
    point->set_us(us);
  }
  EXPECT_DOUBLE_EQ(MeasuredCurve(measured).us(0.5e6), 25);
  EXPECT_DOUBLE_EQ(MeasuredCurve(measured).us(0), 20);
}

TEST(MeasuredCurve, PredictsAPointThatItLacks) {
  std::vector<double> errors;
  for (const char *name : {"dgx-a100-80gb", "v100-8x32gb"}) {
    const bool quiet = std::string(name) == "v100-8x32gb";
    proto::ClusterDescription description = cluster(name);
    for (const proto::CollectiveCurve &whole : description.curves())
      for (int held = 1; held + 1 < whole.points_size(); ++held) {
        const double bytes = whole.points(held).bytes(), us = whole.points(held).us();
        if (bytes < 32 * kMiB)
          continue; // where the library changes its algorithm
        proto::CollectiveCurve rest = whole;
        rest.mutable_points()->DeleteSubrange(held, 1);
        const double error = std::abs(MeasuredCurve(rest).us(bytes) / us - 1);
        errors.push_back(error);
        if (quiet)
          EXPECT_LT(error, 0.03) << name << " " << whole.ranks() << " " << bytes;
      }
  }
  // The A100 were measured with more noise.
  std::sort(errors.begin(), errors.end());
  EXPECT_LT(errors[errors.size() / 2], 0.01);
  EXPECT_LT(errors[errors.size() * 8 / 10], 0.03);
  EXPECT_LT(errors.back(), 0.1);
}

TEST(PlaceGroup, NeighboursAreOfTheFastestAxis) {
  auto text = [](const proto::ClusterDescription &cluster, const LayoutSizes &sizes,
                 const char *axis) {
    const GroupPlacement group = placeGroup(cluster, sizes, axis);
    return std::to_string(group.ranks) + " ranks, " + std::to_string(group.perNode) + " a node, " +
           std::to_string(group.stride) + " apart, " + std::to_string(group.sharers) + " groups";
  };
  proto::ClusterDescription a100 = cluster("dgx-a100-80gb");
  const LayoutSizes sizes{/*tensor=*/4, /*data=*/6, /*pipeline=*/2};
  EXPECT_EQ(text(a100, sizes, "tensor"), "4 ranks, 4 a node, 1 apart, 2 groups");
  EXPECT_EQ(text(a100, sizes, "data"), "6 ranks, 2 a node, 4 apart, 4 groups");
  EXPECT_EQ(text(a100, sizes, "pipeline"), "2 ranks, 1 a node, 1 apart, 8 groups");
  EXPECT_EQ(text(a100, {16, 1, 1}, "tensor"), "16 ranks, 8 a node, 1 apart, 1 groups");
  EXPECT_EQ(text(a100, {1, 1, 1}, "data"), "1 ranks, 1 a node, 1 apart, 1 groups");
  EXPECT_EQ(text(a100, {3, 1, 1}, "tensor"), "3 ranks, 3 a node, 1 apart, 1 groups");
  EXPECT_EQ(text(a100, {3, 8, 1}, "data"), "8 ranks, 3 a node, 3 apart, 3 groups");
  for (int i = 0; i < 3; ++i)
    a100.set_placement(i, std::array{"pipeline", "tensor", "data"}[i]);
  EXPECT_EQ(text(a100, sizes, "pipeline"), "2 ranks, 2 a node, 1 apart, 4 groups");
  EXPECT_EQ(text(a100, sizes, "tensor"), "4 ranks, 4 a node, 2 apart, 2 groups");
  EXPECT_EQ(text(a100, sizes, "data"), "6 ranks, 1 a node, 1 apart, 8 groups");
}

TEST(CollectiveTime, GathersAreHalfOfAnAllReduce) {
  CollectiveTime time(cluster("dgx-a100-80gb"));
  for (double bytes : {1e3, kMiB, 100 * kMiB}) {
    GroupPlacement group{8, 8};
    EXPECT_DOUBLE_EQ(time.allGather(bytes, group), time.allReduce(bytes, group) / 2);
    EXPECT_DOUBLE_EQ(time.reduceScatter(bytes, group), time.allReduce(bytes, group) / 2);
  }
  // A curve of the kind itself has priority.
  proto::ClusterDescription description = cluster("dgx-a100-80gb");
  *description.add_curves() = description.curves(6);
  description.mutable_curves(7)->set_kind("all_gather");
  ASSERT_TRUE(checkClusterDescription(description).ok());
  EXPECT_DOUBLE_EQ(CollectiveTime(description).allGather(kMiB, {8, 8}),
                   time.allReduce(kMiB, {8, 8}));
}

TEST(CollectiveTime, RanksWithoutACurveGetTheBandwidthOfTheNearest) {
  proto::ClusterDescription description = cluster("v100-16");
  CollectiveTime time(description);
  auto busBandwidth = [&](int ranks) {
    return 2 * (ranks - 1.0) / ranks * kGiB / 1e3 / time.allReduce(kGiB, {ranks, ranks});
  };
  EXPECT_NEAR(busBandwidth(8), 134.5, 0.1);
  EXPECT_NEAR(busBandwidth(4), 134.5, 0.1);
  EXPECT_NEAR(busBandwidth(16), 134.5, 1);
  EXPECT_GT(time.allReduce(1, {16, 16}), time.allReduce(1, {8, 8}));
}

TEST(CollectiveTime, WithoutCurvesARingOfMessages) {
  CollectiveTime time(cluster("dgx-h100-80gb"));
  // 14 messages of 2 us, and 7/4 of the bytes at 370 GB/s.
  EXPECT_NEAR(time.allReduce(370e6, {8, 8}), 28 + 1750, 1e-9);
  EXPECT_NEAR(time.allGather(370e6, {8, 8}), 14 + 875, 1e-9);
  EXPECT_NEAR(time.broadcast(370e6, {8, 8}), 14 + 1000, 1e-9);
  EXPECT_NEAR(time.pointToPoint(370e6, /*crossesNodes=*/false), 2 + 1000, 1e-9);
}

TEST(CollectiveTime, BeyondTheDomainLinksAreSlower) {
  CollectiveTime time(cluster("dtu-t10"));
  // 128 GB/s within a chip, 25 GB/s between chips.
  EXPECT_NEAR(time.allGather(128e6, {4, 4}), 3 * 0.8 + 750, 1e-9);
  EXPECT_NEAR(time.allGather(25e6, {8, 8}), 7 * 0.8 + 875, 1e-9);
  EXPECT_NEAR(time.allGather(25e6, {4, 4, 1, /*stride=*/4}), 3 * 0.8 + 750, 1e-9);
  EXPECT_NEAR(time.pointToPoint(25e6, false, 1, /*distance=*/4), 0.8 + 1000, 1e-9);
}

TEST(CollectiveTime, NodesShareTheirCards) {
  CollectiveTime time(cluster("dgx-a100-80gb"));
  // Nodes of eight, eight cards of 25 GB/s, of which 96 % arrive: 192 GB/s on the ring.
  const double ring = time.allReduce(8 * kGiB, {16, 8});
  EXPECT_NEAR(2 * 15.0 / 16 * 8 * kGiB / 1e3 / ring, 192, 0.5);
  // One rank per node has one card, whether or not others use theirs.
  EXPECT_NEAR(time.allReduce(24e6, {2, 1, 1}), 2 * 9.5 + 1000, 1e-9);
  EXPECT_NEAR(time.allReduce(24e6, {2, 1, 8}), 2 * 9.5 + 1000, 1e-9);
  EXPECT_NEAR(time.pointToPoint(24e6, /*crossesNodes=*/true), 9.5 + 1000, 1e-9);
  EXPECT_NEAR(time.pointToPoint(24e6, true, /*sharers=*/16), 9.5 + 2000, 1e-9);

  // If a device may use every card, four groups share four of them.
  CollectiveTime cubeMesh(cluster("v100-8x32gb"));
  EXPECT_NEAR(cubeMesh.allReduce(10e6, {2, 1, 1}), 2 * 10 + 250, 1e-9);
  EXPECT_NEAR(cubeMesh.allReduce(10e6, {2, 1, 4}), 2 * 10 + 1000, 1e-9);
  EXPECT_NEAR(cubeMesh.allReduce(10e6, {2, 1, 8}), 2 * 10 + 2000, 1e-9);
}

TEST(CollectiveTime, GroupsThatShareACardWaitForEachOther) {
  // One card of 24 GB/s per group: four groups of two devices in each node have a quarter of it if
  // all use the same card, and one card each if they do not.
  const auto description = cluster("dgx-a100-80gb");
  CollectiveTime apart(description, /*maxCards=*/1), together(description, 1, /*sameCards=*/true);
  constexpr double kBytes = 8 * kGiB;
  // Within nodes the bytes move at the same rate in both, so the total is a little less than four
  // times as slow.
  const auto slower = [&](const GroupPlacement &group) {
    return together.allReduce(kBytes, group) / apart.allReduce(kBytes, group);
  };
  EXPECT_NEAR(slower({32, 2, 4}), 4, 0.1);
  EXPECT_NEAR(slower({32, 4, 2}), 2, 0.2);
  EXPECT_DOUBLE_EQ(slower({32, 8, 1}), 1);
  // Alone in its node, a device uses the nearest card.
  EXPECT_DOUBLE_EQ(together.allReduce(kBytes, {32, 1, 8}), apart.allReduce(kBytes, {32, 1, 8}));
  // Without a limit groups share all cards.
  EXPECT_DOUBLE_EQ(CollectiveTime(description, 0, true).allReduce(kBytes, {32, 2, 4}),
                   CollectiveTime(description).allReduce(kBytes, {32, 2, 4}));
}

TEST(CollectiveTime, SmallMessagesAvoidALongRing) {
  CollectiveTime time(cluster("dgx-a100-80gb"));
  // 64 nodes: 6 levels of a tree up and down instead of 126 messages.
  EXPECT_NEAR(time.allReduce(1, {64, 1, 8}), 12 * 9.5, 0.01);
  EXPECT_LT(time.allReduce(1e4, {512, 8}), time.allReduce(1e4, {8, 8}) + 12 * 9.5 + 1);
}

TEST(CollectiveTime, OneRankTakesNoTimeAndNoNetworkForever) {
  CollectiveTime time(cluster("v100-16"));
  for (Collective collective : kCollectives) {
    EXPECT_EQ((time.*collective)(kGiB, {1, 1}), 0);
    EXPECT_TRUE(std::isinf((time.*collective)(0, {32, 16})));
  }
  EXPECT_TRUE(std::isinf(time.pointToPoint(0, /*crossesNodes=*/true)));
}

TEST(CollectiveTime, MoreBytesAreNeverFaster) {
  std::mt19937 random(1);
  for (const std::string &name : builtinClusterDescriptionNames()) {
    proto::ClusterDescription description = cluster(name.c_str());
    CollectiveTime time(description);
    for (int i = 0; i < 2000; ++i) {
      const GroupPlacement group = randomGroup(description, random);
      const double few = randomBytes(random), many = few * (1 + randomBytes(random) / kGiB);
      for (Collective collective : kCollectives) {
        const double less = (time.*collective)(few, group), more = (time.*collective)(many, group);
        ASSERT_GT(less, 0);
        ASSERT_TRUE(std::isfinite(more));
        ASSERT_LE(less, more * (1 + 1e-12))
            << name << " " << group.ranks << "/" << group.perNode << " " << few << " " << many;
      }
    }
  }
}

/// Changes a description so that one of its figures is faster by `factor`.
using Speedup = std::function<void(proto::ClusterDescription &, double factor)>;

void scale(proto::Figure *figure, double factor) { figure->set_value(figure->value() * factor); }

const Speedup kSpeedups[] = {
    [](auto &c, double factor) { scale(c.mutable_node_gbytes_per_second(), factor); },
    [](auto &c, double factor) {
      if (c.has_node_measured_gbytes_per_second())
        scale(c.mutable_node_measured_gbytes_per_second(), factor);
    },
    [](auto &c, double factor) {
      if (c.has_node_far_gbytes_per_second())
        scale(c.mutable_node_far_gbytes_per_second(), factor);
    },
    [](auto &c, double factor) { scale(c.mutable_node_latency_ns(), 1 / factor); },
    [](auto &c, double factor) {
      if (c.max_nodes() > 1)
        scale(c.mutable_card_gbits_per_second(), factor);
    },
    [](auto &c, double) {
      if (c.max_nodes() > 1)
        c.mutable_card_efficiency()->set_value(1);
    },
    [](auto &c, double factor) {
      if (c.max_nodes() > 1)
        scale(c.mutable_cards_per_node(), std::ceil(factor));
    },
    [](auto &c, double) { c.set_card_per_device(false); },
    [](auto &c, double factor) {
      if (c.max_nodes() > 1)
        scale(c.mutable_network_latency_ns(), 1 / factor);
    },
    [](auto &c, double factor) {
      for (proto::CollectiveCurve &curve : *c.mutable_curves())
        for (proto::CollectiveCurve::Point &point : *curve.mutable_points())
          point.set_us(point.us() / factor);
    },
};

TEST(CollectiveTime, MoreBandwidthIsNeverSlower) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> factors(1, 4);
  for (const std::string &name : builtinClusterDescriptionNames()) {
    const proto::ClusterDescription description = cluster(name.c_str());
    CollectiveTime time(description);
    for (size_t speedup = 0; speedup < std::size(kSpeedups); ++speedup)
      for (int i = 0; i < 200; ++i) {
        proto::ClusterDescription faster = description;
        kSpeedups[speedup](faster, factors(random));
        CollectiveTime fasterTime(faster);
        const GroupPlacement group = randomGroup(description, random);
        const double bytes = randomBytes(random);
        for (Collective collective : kCollectives)
          ASSERT_LE((fasterTime.*collective)(bytes, group),
                    (time.*collective)(bytes, group) * (1 + 1e-12))
              << name << " " << speedup << " " << group.ranks << "/" << group.perNode;
        for (bool crosses : {false, true})
          ASSERT_LE(fasterTime.pointToPoint(bytes, crosses, group.sharers, group.stride),
                    time.pointToPoint(bytes, crosses, group.sharers, group.stride) * (1 + 1e-12))
              << name << " " << speedup;
      }
  }
}

TEST(CollectiveTime, MoreSharersAreNeverFaster) {
  std::mt19937 random(3);
  for (const std::string &name : builtinClusterDescriptionNames()) {
    const proto::ClusterDescription description = cluster(name.c_str());
    CollectiveTime time(description);
    for (int i = 0; i < 500; ++i) {
      GroupPlacement group = randomGroup(description, random), crowded = group;
      ++crowded.sharers;
      const double bytes = randomBytes(random);
      for (Collective collective : kCollectives)
        ASSERT_LE((time.*collective)(bytes, group), (time.*collective)(bytes, crowded));
    }
  }
}

} // namespace
} // namespace st
