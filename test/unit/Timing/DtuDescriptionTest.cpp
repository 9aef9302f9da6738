// Device descriptions: the built-in ones load, errors are named, and the figures agree with the
// data sheet.
#include "lib/Timing/DtuDescription.h"
#include "lib/Timing/DtuCosts.h"
#include "lib/Timing/DtuTopology.h"

#include <gtest/gtest.h>

namespace st {
namespace {

proto::DtuDescription t10() { return *builtinDtuDescription("dtu-t10"); }

std::string errorAfter(const std::function<void(proto::DtuDescription &)> &change) {
  proto::DtuDescription description = t10();
  change(description);
  return std::string(checkDtuDescription(description).message());
}

TEST(DtuDescription, EveryShippedFileLoads) {
  std::vector<std::string> names = builtinDtuDescriptionNames();
  EXPECT_GE(names.size(), 4u);
  for (const std::string &name : names) {
    absl::StatusOr<proto::DtuDescription> description = builtinDtuDescription(name);
    ASSERT_TRUE(description.ok()) << description.status();
    EXPECT_EQ(description->name(), name);
  }
  absl::Status unknown = builtinDtuDescription("tpu").status();
  EXPECT_NE(unknown.message().find("there are dtu-i20"), absl::string_view::npos) << unknown;
}

TEST(DtuDescription, ErrorsNameFileAndField) {
  EXPECT_EQ(parseDtuDescription("name: \"x\"\nclock { }", "d.textproto").status().message(),
            "d.textproto:2:7: Message type \"st.proto.DtuDescription\" has no field named "
            "\"clock\".");
  EXPECT_EQ(parseDtuDescription("name: \"x\"", "d.textproto").status().message(),
            "d.textproto: clusters_per_chip: expected 1 to 4096, found 0");
  EXPECT_EQ(loadDtuDescription("/nowhere/d.textproto").status().message(),
            "cannot read /nowhere/d.textproto: No such file or directory");
  EXPECT_EQ(errorAfter([](auto &d) { d.clear_l3_gbytes_per_second(); }),
            "l3_gbytes_per_second: is missing");
  EXPECT_EQ(errorAfter([](auto &d) { d.mutable_clock_ghz()->set_value(-1); }),
            "clock_ghz: expected a number from 1e-06 to 1e+15, found -1");
  EXPECT_EQ(errorAfter([](auto &d) { d.mutable_clock_ghz()->set_source("guess"); }),
            "clock_ghz: source must begin with 'v', 'd', 'r' or 'a' and a colon, found 'guess'");
  EXPECT_EQ(errorAfter([](auto &d) { d.mutable_l1_banks()->set_value(24); }),
            "l1_banks: expected a power of two up to 4096, found 24");
  EXPECT_EQ(errorAfter([](auto &d) { d.mutable_l3_burst_bytes()->set_value(0.5); }),
            "l3_burst_bytes: expected a power of two up to 4096, found 0.5");
  EXPECT_EQ(errorAfter([](auto &d) { d.set_ids_per_chip(3); }),
            "ids_per_chip: is 3 for 4 clusters");
}

TEST(DtuDescription, DeviceIdsComeInFives) {
  proto::DtuDescription d = t10();
  absl::StatusOr<DtuPlace> place = dtuPlace(d, 23);
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(place->chip, 4);
  EXPECT_EQ(place->cluster, 3);
  EXPECT_EQ(place->group, 1);
  EXPECT_EQ(dtuPlace(d, 9).status().message(),
            "device id 9 names no cluster: chip 1 of dtu-t10 has clusters 5 to 8");
  EXPECT_FALSE(dtuPlace(d, 800).ok());
  EXPECT_FALSE(dtuPlace(d, -1).ok());
}

TEST(DtuCosts, PeakRatesAreTheDataSheets) {
  // 20 fp32 and 80 16-bit TFLOP/s over 32 cores of T10, on one large tile.
  DtuCosts costs(t10());
  double flops = 2.0 * 1024 * 1024 * 1024;
  double seconds32 = static_cast<double>(costs.matmul(1024, 1024, 1024, false)) * 1e-12;
  double seconds16 = static_cast<double>(costs.matmul(1024, 1024, 1024, true)) * 1e-12;
  EXPECT_NEAR(flops / seconds32 * 32 / 1e12, 20, 0.1);
  EXPECT_NEAR(flops / seconds16 * 32 / 1e12, 80, 0.4);
}

TEST(DtuCosts, RaggedTilesAreRoundedUp) {
  DtuCosts costs(t10());
  EXPECT_EQ(costs.matmul(17, 16, 64, false), costs.matmul(32, 16, 64, false));
  auto vector = [&](int64_t rows, int64_t cols, bool transcendental) {
    return costs.vector(rows, cols, 4, transcendental, BankSteps::ofDense(cols, 4));
  };
  EXPECT_EQ(vector(4, 33, false), vector(4, 64, false));
  EXPECT_EQ(vector(64, 1, false), vector(1, 64, false));
  EXPECT_GT(vector(4, 64, true), vector(4, 64, false));
  EXPECT_EQ(vector(0, 64, true), 0);
}

TEST(DtuTopology, PathsAcrossTheMachine) {
  proto::DtuDescription d = t10();
  DtuTopology topology(d, 8);
  auto names = [&](int64_t a, int64_t b) {
    LinkPath path = topology.path(*dtuPlace(d, a), *dtuPlace(d, b));
    std::string result;
    for (int i = 0; i < path.count; ++i)
      result += (i ? ", " : "") + topology.linkName(path.links[i]);
    return result;
  };
  EXPECT_EQ(names(0, 3), "cluster 0.0 tx, cluster 0.3 rx");
  EXPECT_EQ(names(1, 7), "cluster 0.1 tx, chip 0 -> chip 1, cluster 1.2 rx");
  EXPECT_EQ(names(7, 1), "cluster 1.2 tx, chip 1 -> chip 0, cluster 0.1 rx");
  EXPECT_EQ(names(15, 20), "cluster 3.0 tx, group 0 out, group 1 in, cluster 4.0 rx");
  EXPECT_EQ(names(25, 35), "cluster 5.0 tx, chip 5 -> chip 7, cluster 7.0 rx");
  // 25 GB/s between chips: 40 ps a byte, after 800 ns.
  EXPECT_EQ(topology.path(*dtuPlace(d, 0), *dtuPlace(d, 5)).time(1000), 800000 + 40000);
}

} // namespace
} // namespace st
