// The search finds what trying every layout finds.

#include "TestModel.h"

#include "gtest/gtest.h"

using namespace st;

TEST(Search, EqualToTryingAll) {
  size_t found = 0, skipped = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    TestPlan plan(seed);
    const SearchSpace space = plan.drawSpace();
    const StepInputs inputs = plan.inputs();
    double best = std::numeric_limits<double>::infinity();
    for (const Layout &layout : enumerateLayouts(space, plan.model)) {
      auto step = estimateStep(inputs, layout);
      if (step.ok() && step->fit != Fit::DoesNotFit)
        best = std::min(best, step->ms);
    }
    auto result = searchLayouts(inputs, space);
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ(result->best.has_value(), std::isfinite(best)) << "seed " << seed;
    if (!result->best)
      continue;
    ++found;
    skipped += result->candidates.size() - result->composed;
    EXPECT_DOUBLE_EQ(result->candidates[*result->best].ms, best) << "seed " << seed;
    EXPECT_LE(result->boundMs, best * (1 + 1e-9));
  }
  EXPECT_GT(found, 30u);
  EXPECT_GT(skipped, 100u) << "the bounds spare nothing";
}

TEST(Search, TellsWhyTheOthersLost) {
  TestPlan plan(3);
  auto result = searchLayouts(plan.inputs(), plan.drawSpace());
  ASSERT_TRUE(result.ok() && result->best);
  for (size_t i = 0; i < result->candidates.size(); ++i)
    EXPECT_EQ(result->candidates[i].reason.empty(), i == *result->best) << printLayout(result->candidates[i].layout);
}
