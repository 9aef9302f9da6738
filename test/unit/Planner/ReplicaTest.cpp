// Traffic of ZeRO levels, and the table of micro-batches.

#include "TestModel.h"

#include "lib/Costs/Profile.h"
#include "lib/Planner/Answers/ZeroTable.h"
#include "lib/Planner/Step/ReplicaTime.h"
#include "lib/Timing/ClusterDescription.h"

#include "gtest/gtest.h"

using namespace st;

namespace {

/// Costs in which a collective takes its share of the bytes and everything else is free.
class CountedCosts : public Costs {
public:
  OpTime op(const proto::OpWork &) const override { return {}; }
  OpTime collective(absl::string_view kind, double bytes,
                    const GroupPlacement &placement) const override {
    const double n = placement.ranks, share = (n - 1) / n * (kind == "all_reduce" ? 2 : 1);
    return {0, share * bytes};
  }
  double transfer(double, bool, int) const override { return 0; }
  OpTime memoryPass(double, double launches) const override { return {launches, 0}; }
  double peakFlops(proto::ElementType) const override { return 1; }
  double fastestProduct(proto::ElementType) const override { return 1; }
};

ReplicaTime timeLevel(int64_t zero, int64_t microBatches,
                      const proto::ImplementationProfile &profile = {}) {
  Layout layout;
  layout.replicas = 4;
  layout.zero = zero;
  layout.microBatches = microBatches;
  RankPlacement placement;
  placement.data.ranks = 4;
  ReplicaWork work;
  work.gradientBytes = work.weightBytes = work.updatedBytes = {/*dense=*/400, /*experts=*/0};
  work.tensors = work.trainedTensors = 10;
  work.layers = 4;
  return timeReplicas(layout, profile, CountedCosts(), placement, work);
}

} // namespace

// Rajbhandari et al., "ZeRO", arXiv 1910.02054, section 7: volumes are 2 P for replicas, ZeRO-1 and
// ZeRO-2, and 3 P for ZeRO-3, 2 P of it per micro-batch.
TEST(Replicas, Volumes) {
  const double once = 300; // of 400 bytes over 4 ranks
  for (int64_t zero : {0, 1, 2}) {
    EXPECT_DOUBLE_EQ(timeLevel(zero, 1).reduction, 2 * once) << zero;
    EXPECT_DOUBLE_EQ(timeLevel(zero, 1).gathers, 0) << zero;
  }
  EXPECT_DOUBLE_EQ(timeLevel(1, 8).reduction, 2 * once);
  EXPECT_DOUBLE_EQ(timeLevel(2, 8).reduction, 9 * once)
      << "a reduction a micro-batch, and the weights once";
  EXPECT_DOUBLE_EQ(timeLevel(3, 1).reduction, once);
  EXPECT_DOUBLE_EQ(timeLevel(3, 1).gathers, 2 * once);
  EXPECT_DOUBLE_EQ(timeLevel(3, 8).gathers, 16 * once);
}

// Two replicas share the experts, so each expert has half the copies of other weights. Frozen
// weights have no gradients.
TEST(Replicas, ExpertsAndFrozenWeights) {
  Layout layout;
  layout.replicas = 4;
  layout.expert = 2;
  RankPlacement placement;
  placement.data.ranks = 4;
  placement.ofExperts.ranks = 2;
  ReplicaWork work;
  work.weightBytes = {/*dense=*/400, /*experts=*/800};
  work.gradientBytes = work.updatedBytes = {/*dense=*/200, /*experts=*/800};
  auto time = [&](int64_t zero) {
    layout.zero = zero;
    return timeReplicas(layout, {}, CountedCosts(), placement, work);
  };
  EXPECT_DOUBLE_EQ(time(0).reduction, 2 * (0.75 * 200 + 0.5 * 800));
  EXPECT_DOUBLE_EQ(time(1).reduction, 2 * (0.75 * 200 + 0.5 * 800));
  EXPECT_DOUBLE_EQ(time(3).gathers, 2 * (0.75 * 400 + 0.5 * 800));
}

// Tables of order statistics of the normal distribution (Harter, Biometrika 48, 1961).
TEST(Replicas, MeanOfTheLargest) {
  EXPECT_EQ(meanOfLargest(1), 0);
  for (auto [count, mean] : {std::pair(2, 0.5642), std::pair(3, 0.8463), std::pair(8, 1.4236),
                             std::pair(32, 2.0697), std::pair(100, 2.5076)})
    EXPECT_NEAR(meanOfLargest(count), mean, 0.03) << count;
}

// Replicas of one node do not wait for each other; replicas of several nodes do, the longer the
// more there are.
TEST(Replicas, WaitForTheSlowest) {
  proto::ImplementationProfile profile;
  profile.set_replica_skew(0.1);
  auto waits = [&](int replicas, int perNode) {
    Layout layout;
    layout.replicas = replicas;
    RankPlacement placement;
    placement.data.ranks = replicas;
    placement.data.perNode = perNode;
    ReplicaWork work;
    work.passes = 1000;
    return timeReplicas(layout, profile, CountedCosts(), placement, work).reduction;
  };
  EXPECT_EQ(waits(8, 8), 0);
  EXPECT_DOUBLE_EQ(waits(8, 4), 100 * meanOfLargest(8));
  EXPECT_DOUBLE_EQ(waits(8, 1), waits(8, 4)) << "how they are placed does not count";
  EXPECT_GT(waits(16, 8), waits(8, 4));
}

TEST(Replicas, HostOpsOfEachLevel) {
  proto::ImplementationProfile profile;
  profile.mutable_zero()->set_update_launches(1);
  profile.mutable_zero()->set_gradient_launches(2);
  profile.mutable_zero()->set_gather_launches(3);
  auto more = [&](int64_t zero, int64_t microBatches) {
    const ReplicaTime with = timeLevel(zero, microBatches, profile),
                      without = timeLevel(zero, microBatches);
    return with.reduction + with.gathers - without.reduction - without.gathers;
  };
  const double tensors = 10;
  EXPECT_DOUBLE_EQ(more(0, 2), 0);
  EXPECT_DOUBLE_EQ(more(1, 2), tensors);
  EXPECT_DOUBLE_EQ(more(2, 2), tensors * (1 + 2 * 2));
  EXPECT_DOUBLE_EQ(more(3, 2), tensors * (1 + 2 * 2 + 2 * 2 * 3));
}

// The largest micro-batch is the last one that fits, in any search.
TEST(Replicas, TableFindsTheLargestMicroBatch) {
  TestPlan plan(0);
  plan.cluster = *builtinClusterDescription("v100-16");
  plan.profile = *findProfile("deepspeed");
  plan.model.layers = 4;
  const StepInputs inputs = plan.inputs();
  auto table = tuneZero(inputs, 16, 2);
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_EQ(table->spaces.size(), 4u);
  for (size_t i = 0; i < table->spaces.size(); ++i) {
    const ZeroSpace &space = table->spaces[i];
    Layout layout = space.best;
    EXPECT_EQ(space.name(),
              "z" + std::to_string(i) + "_gas2_tmbspg" + std::to_string(layout.microBatch));
    EXPECT_EQ(layout.microBatches, 2);
    for (auto [microBatch, fit] :
         {std::pair(space.largest, true), std::pair(space.largest + 1, false)}) {
      layout.microBatch = microBatch;
      auto step = estimateStep(inputs, layout);
      ASSERT_TRUE(step.ok()) << step.status();
      EXPECT_EQ(step->fit == Fit::Fits, fit) << "ZeRO-" << i << ", micro-batch " << microBatch;
    }
    EXPECT_LT(space.endToEnd, space.inStep) << "the host's time between steps counts end to end";
    // ZeRO-3 also has room for gathered weights: little compared with a model's state, but all of a
    // model this small.
    if (i == 1 || i == 2)
      EXPECT_GE(space.largest, table->spaces[i - 1].largest) << "ZeRO-" << i;
  }
  // With nearly equal rates the larger micro-batch wins.
  EXPECT_LE(0.98 * table->doubling.inStep, table->spaces[0].inStep);
  EXPECT_NE(printZeroTable(*table).find("tuning_space"), std::string::npos);
}
