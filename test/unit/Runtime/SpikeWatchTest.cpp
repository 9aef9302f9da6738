#include "lib/Runtime/Training/SpikeWatch.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

namespace st {
namespace {

SpikeOptions watching(double deviations, int64_t window = 100) {
  SpikeOptions options;
  options.action = "stop";
  options.deviations = deviations;
  options.window = window;
  return options;
}

TEST(SpikeWatchTest, NeedsSomeLossesFirst) {
  SpikeWatch watch(watching(5));
  for (int i = 0; i < SpikeWatch::kFewest - 1; ++i)
    EXPECT_FALSE(watch.isSpike(2.0));
  EXPECT_FALSE(watch.isSpike(1e9));
  EXPECT_TRUE(watch.isSpike(1e9)) << "one large loss of sixteen does not move the median";
}

TEST(SpikeWatchTest, NoLossIsNaNOrInfinite) {
  SpikeWatch watch(watching(5));
  EXPECT_TRUE(watch.isSpike(std::nan("")));
  EXPECT_TRUE(watch.isSpike(std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(watch.losses().empty());
}

TEST(SpikeWatchTest, BoundIsThatOfTheDefinition) {
  SpikeWatch watch(watching(4));
  // The median of 1 to 17 is 9, and the median distance from it is 4.
  for (int i = 1; i <= 17; ++i)
    EXPECT_FALSE(watch.isSpike(i));
  EXPECT_NEAR(watch.bound(), 9 + 4 * 1.4826 * 4, 1e-12);
  EXPECT_FALSE(watch.isSpike(32.7));
}

TEST(SpikeWatchTest, EqualLossesLeaveOnePercent) {
  SpikeWatch watch(watching(10));
  for (int i = 0; i < 20; ++i)
    EXPECT_FALSE(watch.isSpike(3.0));
  EXPECT_NEAR(watch.bound(), 3.3, 1e-12);
  EXPECT_FALSE(watch.isSpike(3.29));
  EXPECT_TRUE(watch.isSpike(3.31));
}

TEST(SpikeWatchTest, ForgetsWhatIsBehindItsWindow) {
  SpikeWatch watch(watching(10, 16));
  for (int i = 0; i < 50; ++i)
    EXPECT_FALSE(watch.isSpike(10.0 - 0.01 * i));
  EXPECT_EQ(watch.losses().size(), 16u);
  SpikeWatch other(watching(10, 16));
  other.restore(watch.losses());
  EXPECT_EQ(other.bound(), watch.bound());
  other.restore({});
  EXPECT_TRUE(std::isinf(other.bound()));
}

} // namespace
} // namespace st
