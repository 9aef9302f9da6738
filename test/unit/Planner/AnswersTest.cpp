// Answers to questions about capacity, compared with arithmetic by hand.

#include "TestModel.h"

#include "lib/Planner/Answers/Answers.h"
#include "lib/Planner/Memory/MemoryAdvice.h"
#include "gtest/gtest.h"

using namespace st;

// arXiv 2104.04473, section 5.1: 175 billion parameters, 300 billion tokens, 1024 A100 at 140
// TFLOP/s take 34 days.
TEST(Answers, ClosedFormOfDays) {
  proto::PlanStep step;
  step.mutable_layout()->set_devices(1024);
  step.set_parameters(175e9);
  step.set_tokens_per_second(1e5);
  const proto::PlanTraining training = describeTraining(step, 300e9, 140);
  EXPECT_NEAR(training.assumed_days(), 33.9, 0.05);
  EXPECT_NEAR(training.days(), 300e9 / 1e5 / 86400, 1e-9);
  EXPECT_NEAR(training.device_hours(), training.days() * 24 * 1024, 1e-6);
  EXPECT_NEAR(training.ratio(), training.days() / training.assumed_days(), 1e-12);
  // The predicted X gives the predicted days.
  EXPECT_NEAR(8 * 300e9 * 175e9 / (1024 * training.closed_form_tflops() * 1e12) / 86400,
              training.days(), 1e-9);
}

TEST(Answers, FrontOfNodesAgainstDays) {
  proto::PlanScale scale;
  for (const auto &[nodes, rate] : {std::pair(1, 100.0), {2, 180.0}, {4, 170.0}, {8, 300.0}}) {
    proto::PlanScaleRow &row = *scale.add_rows();
    row.set_nodes(nodes);
    row.set_scaling("strong");
    row.set_fits(true);
    row.mutable_plan()->set_tokens_per_second(rate);
  }
  completeScale(scale);
  EXPECT_TRUE(scale.rows(0).on_front());
  EXPECT_TRUE(scale.rows(1).on_front());
  EXPECT_FALSE(scale.rows(2).on_front()) << "twice the nodes of a faster row";
  EXPECT_TRUE(scale.rows(3).on_front());
  EXPECT_DOUBLE_EQ(scale.rows(1).efficiency(), 0.9);
}

// The suggested change has been composed: the layout with it takes the memory in the sentence.
TEST(Answers, AdviceOnMemoryMakesTheLayoutFit) {
  int advised = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    TestPlan plan(seed);
    const Layout layout = plan.drawLayout();
    auto step = estimateStep(plan.inputs(), layout);
    ASSERT_TRUE(step.ok());
    const double needed = step->memory[step->fullest].needed();
    EXPECT_EQ(adviseOnMemory(plan.inputs(), layout, *step).empty(), step->fit == Fit::Fits);
    plan.cluster.mutable_memory_bytes()->set_value(0.95 * needed);
    step = estimateStep(plan.inputs(), layout);
    const std::string advice = adviseOnMemory(plan.inputs(), layout, *step);
    EXPECT_FALSE(advice.empty());
    advised += advice.find("does not suffice") == std::string::npos &&
               advice.find("GiB a device") != std::string::npos;
  }
  EXPECT_GT(advised, 200);
}
