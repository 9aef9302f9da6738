// What must hold of every plan, whatever its costs.

#include "TestModel.h"

#include "gtest/gtest.h"

#include <functional>

using namespace st;

static void multiply(proto::Figure &figure, double factor) { figure.set_value(figure.value() * factor); }

TEST(Metamorphic, BetterHardwareIsNeverWorse) {
  const std::vector<std::pair<const char *, std::function<void(proto::ClusterDescription &)>>> better = {
      {"f16_tflops", [](auto &c) { multiply(*c.mutable_f16_tflops(), 2); }},
      {"memory_gbytes_per_second", [](auto &c) { multiply(*c.mutable_memory_gbytes_per_second(), 2); }},
      {"node_gbytes_per_second",
       [](auto &c) {
         multiply(*c.mutable_node_gbytes_per_second(), 2);
         if (c.has_node_measured_gbytes_per_second())
           multiply(*c.mutable_node_measured_gbytes_per_second(), 2);
         if (c.has_node_far_gbytes_per_second())
           multiply(*c.mutable_node_far_gbytes_per_second(), 2);
       }},
      {"card_gbits_per_second",
       [](auto &c) {
         if (c.has_card_gbits_per_second())
           multiply(*c.mutable_card_gbits_per_second(), 2);
       }},
      {"memory_bytes", [](auto &c) { multiply(*c.mutable_memory_bytes(), 2); }},
  };
  for (unsigned seed = 0; seed < 10000; ++seed) {
    TestPlan plan(seed);
    const Layout layout = plan.drawLayout();
    auto before = estimateStep(plan.inputs(), layout);
    ASSERT_TRUE(before.ok()) << before.status();
    for (const auto &[name, change] : better) {
      proto::ClusterDescription changed = plan.cluster;
      change(changed);
      auto after = estimateStep(plan.inputs(changed), layout);
      ASSERT_TRUE(after.ok()) << after.status();
      EXPECT_LE(after->ms, before->ms * (1 + 1e-9)) << "seed " << seed << ", more " << name << ", " << printLayout(layout);
      EXPECT_LE(after->fit, before->fit) << "seed " << seed << ", more " << name;
    }
  }
}

TEST(Metamorphic, NoFasterThanTheRoofline) {
  for (unsigned seed = 0; seed < 10000; ++seed) {
    TestPlan plan(seed);
    const Layout layout = plan.drawLayout();
    auto step = estimateStep(plan.inputs(), layout);
    ASSERT_TRUE(step.ok()) << step.status();
    EXPECT_GE(step->ms, step->lowerBoundMs * (1 - 1e-9)) << "seed " << seed << ", " << printLayout(layout);
  }
}

// The timers of the last rank are its step: work, waits, reductions and the update, one after another.
TEST(Metamorphic, PhasesAddUpToTheStep) {
  for (unsigned seed = 0; seed < 10000; ++seed) {
    TestPlan plan(seed);
    const Layout layout = plan.drawLayout();
    auto step = estimateStep(plan.inputs(), layout);
    ASSERT_TRUE(step.ok()) << step.status();
    double sum = 0;
    for (const Timer &timer : step->timers) {
      EXPECT_LE(timer.least, timer.median) << timer.name;
      EXPECT_LE(timer.median, timer.most) << timer.name;
      // The parts of the update are within "optimizer".
      if (timer.name.rfind("optimizer-", 0) != 0)
        sum += timer.last;
    }
    EXPECT_NEAR(sum / step->ms, 1, 1e-6) << "seed " << seed << ", " << printLayout(layout);
    for (const std::vector<StepPart> &parts : step->parts) {
      double all = 0;
      for (const StepPart &part : parts)
        all += part.ms;
      EXPECT_NEAR(all / step->ms, 1, 1e-6) << "seed " << seed << ", " << printLayout(layout);
    }
  }
}
