// Optimizer state in the host's memory: its savings, costs and limits.

#include "TestModel.h"

#include "gtest/gtest.h"

using namespace st;

TEST(Offload, FreesTheDeviceAndNeedsTheHost) {
  TestPlan plan(7);
  plan.cluster.mutable_host_bytes_per_node()->set_value(1e12);
  plan.cluster.mutable_host_gbytes_per_second()->set_value(10);
  plan.cluster.mutable_host_memory_gbytes_per_second()->set_value(100);
  Layout layout;
  layout.replicas = 4;
  layout.zero = 2;
  auto kept = estimateStep(plan.inputs(), layout);
  layout.offloadOptimizer = true;
  auto moved = estimateStep(plan.inputs(), layout);
  ASSERT_TRUE(kept.ok() && moved.ok());
  // A master weight and two moments in f32 of a quarter of the parameters.
  EXPECT_NEAR(moved->hostBytes, 12 * moved->parameters / 4, 1);
  EXPECT_LT(moved->memory[0].optimizer, kept->memory[0].optimizer);
  // A gradient is sent and a weight is received, in 16 bits. The host reads and writes its 12 bytes
  // per parameter, the gradient and the weight, for four devices at the same time.
  const double own = moved->parameters / 4;
  EXPECT_NEAR(moved->ms - kept->ms, own * (4 / 10e9 + (4 + 2 * 12) * 4 / 100e9) * 1e3,
              0.01 * kept->ms);
  plan.cluster.mutable_host_bytes_per_node()->set_value(1);
  EXPECT_EQ(estimateStep(plan.inputs(), layout)->fit, Fit::DoesNotFit);
  plan.cluster.clear_host_bytes_per_node();
  EXPECT_FALSE(estimateStep(plan.inputs(), layout).ok());
}
