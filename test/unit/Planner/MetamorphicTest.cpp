// Properties of every plan under any costs. ST_PLANNER_TESTS=all tries 10,000 plans of each kind.

#include "TestModel.h"

#include "lib/Planner/Search/Placement.h"

#include "gtest/gtest.h"

#include <functional>

using namespace st;

namespace {

constexpr unsigned kFewPlans = 400;

/// Calls `check` with random plans and a layout of each.
void forEachPlan(const std::function<void(TestPlan &, const Layout &)> &check) {
  const unsigned plans = testsAll() ? 10000 : kFewPlans;
  for (unsigned seed = 0; seed < plans; ++seed) {
    TestPlan plan(seed);
    const Layout layout = plan.drawSplitLayout();
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + plan.cluster.name() + ", " +
                 plan.profile.name() + ", " + printLayout(layout));
    check(plan, layout);
    if (testing::Test::HasFatalFailure())
      return;
  }
}

void compose(const StepInputs &inputs, const Layout &layout, StepEstimate &step) {
  auto composed = estimateStep(inputs, layout);
  ASSERT_TRUE(composed.ok()) << composed.status();
  step = *std::move(composed);
}

void multiply(proto::Figure &figure, double factor) { figure.set_value(figure.value() * factor); }

struct Change {
  const char *name;
  void (*make)(proto::ClusterDescription &cluster);
};

const Change kBetter[] = {
    {"f16_tflops", [](auto &c) { multiply(*c.mutable_f16_tflops(), 2); }},
    {"memory_gbytes_per_second",
     [](auto &c) { multiply(*c.mutable_memory_gbytes_per_second(), 2); }},
    {"node_gbytes_per_second",
     [](auto &c) {
       multiply(*c.mutable_node_gbytes_per_second(), 2);
       if (c.has_node_measured_gbytes_per_second())
         multiply(*c.mutable_node_measured_gbytes_per_second(), 2);
       if (c.has_node_far_gbytes_per_second())
         multiply(*c.mutable_node_far_gbytes_per_second(), 2);
       for (auto &curve : *c.mutable_curves())
         for (auto &point : *curve.mutable_points())
           point.set_us(point.us() / 2);
     }},
    {"card_gbits_per_second",
     [](auto &c) {
       if (c.has_card_gbits_per_second())
         multiply(*c.mutable_card_gbits_per_second(), 2);
     }},
    {"latency",
     [](auto &c) {
       multiply(*c.mutable_node_latency_ns(), 0.5);
       if (c.has_network_latency_ns())
         multiply(*c.mutable_network_latency_ns(), 0.5);
     }},
    {"memory_bytes", [](auto &c) { multiply(*c.mutable_memory_bytes(), 2); }},
};

} // namespace

TEST(Metamorphic, BetterHardwareIsNeverWorse) {
  forEachPlan([](TestPlan &plan, const Layout &layout) {
    StepEstimate before;
    compose(plan.inputs(), layout, before);
    for (const Change &change : kBetter) {
      proto::ClusterDescription changed = plan.cluster;
      change.make(changed);
      StepEstimate after;
      compose(plan.inputs(changed), layout, after);
      EXPECT_LE(after.ms, before.ms * (1 + 1e-9)) << change.name;
      EXPECT_LE(after.fit, before.fit) << change.name;
      // The allocator fills memory of any size; the needed part stays.
      EXPECT_EQ(after.memory[after.fullest].needed(), before.memory[before.fullest].needed())
          << change.name;
    }
  });
}

TEST(Metamorphic, NoFasterThanTheRoofline) {
  forEachPlan([](TestPlan &plan, const Layout &layout) {
    StepEstimate step;
    compose(plan.inputs(), layout, step);
    EXPECT_GE(step.ms, step.lowerBoundMs * (1 - 1e-9));
  });
}

// The timers of the last rank are its step: work, waits, reductions and the update, one after
// another.
TEST(Metamorphic, PhasesAddUpToTheStep) {
  forEachPlan([](TestPlan &plan, const Layout &layout) {
    StepEstimate step;
    compose(plan.inputs(), layout, step);
    double sum = 0;
    for (const Timer &timer : step.timers) {
      EXPECT_LE(timer.least, timer.median) << timer.name;
      EXPECT_LE(timer.median, timer.most) << timer.name;
      // The parts of the update are within "optimizer".
      if (timer.name.rfind("optimizer-", 0) != 0)
        sum += timer.last;
    }
    EXPECT_NEAR(sum / step.ms, 1, 1e-6);
    for (const std::vector<StepPart> &parts : step.parts) {
      double all = 0;
      for (const StepPart &part : parts)
        all += part.ms;
      EXPECT_NEAR(all / step.ms, 1, 1e-6);
    }
  });
}

// Equal stages with free messages take the closed form of their schedule: (m v + p - 1) / v times a
// group's work for one micro-batch (Narayanan et al., "Efficient large-scale language model
// training on GPU clusters", section 2.2).
TEST(Metamorphic, ClosedFormWithoutCommunication) {
  forEachPlan([](TestPlan &plan, Layout layout) {
    layout.zero = std::min<int64_t>(layout.zero, 1);
    while (plan.model.layers % (layout.stages * layout.virtualStages) != 0)
      ++plan.model.layers;
    plan.blocks.hasLayersAlone = true;
    plan.profile.set_message_launches(0);
    plan.cluster.clear_curves();
    for (proto::Figure *figure :
         {plan.cluster.mutable_node_latency_ns(), plan.cluster.mutable_network_latency_ns()})
      figure->set_value(1e-9);
    for (proto::Figure *figure : {plan.cluster.mutable_node_gbytes_per_second(),
                                  plan.cluster.mutable_node_measured_gbytes_per_second(),
                                  plan.cluster.mutable_node_far_gbytes_per_second(),
                                  plan.cluster.mutable_card_gbits_per_second()})
      figure->set_value(1e15);
    StepEstimate step;
    compose(plan.inputs(), layout, step);
    double work = 0, all = 0;
    for (const Timer &timer : step.timers) {
      const bool isWork = timer.name == "forward-compute" || timer.name == "backward-compute";
      work += isWork ? timer.last : 0;
      all +=
          isWork || timer.name == "forward-recv" || timer.name == "backward-recv" ? timer.last : 0;
    }
    // For the last group: the first micro-batch has passed all others, and no other follows.
    const auto chunks = static_cast<double>(layout.microBatches * layout.virtualStages);
    double forward = 0;
    for (const Timer &timer : step.timers)
      if (timer.name == "forward-compute")
        forward = timer.last;
    EXPECT_NEAR(all, work + static_cast<double>(layout.stages - 1) * forward / chunks, 1e-6 * all);
  });
}

// Renumbered devices that are equivalent on the cluster take the same time.
TEST(Metamorphic, RenamingDevicesChangesNothing) {
  forEachPlan([](TestPlan &plan, Layout layout) {
    StepEstimate before;
    compose(plan.inputs(), layout, before);
    const RankPlacement placement = placeRanks(plan.cluster, layout);
    proto::ClusterDescription renamed = plan.cluster;
    renamed.set_name("another");
    for (int order = 0; order <= static_cast<int>(RankOrder::PipelineDataTensor); ++order) {
      layout.placement = static_cast<RankOrder>(order);
      if (!placeRanks(plan.cluster, layout).hasTimesOf(placement))
        continue;
      StepEstimate after;
      compose(plan.inputs(renamed), layout, after);
      EXPECT_EQ(after.ms, before.ms) << printLayout(layout);
      EXPECT_EQ(after.memory[after.fullest].total(), before.memory[before.fullest].total());
    }
  });
}
