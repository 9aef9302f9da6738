#include "lib/Runtime/Program/Prediction.h"

#include <gtest/gtest.h>

namespace st {
namespace {

TEST(PredictionTest, ReportsMeasuredAndPredictedSteps) {
  proto::Executable program;
  EXPECT_EQ(compareMeasured(program, {1, 2}), "");
  program.mutable_prediction()->set_picoseconds(10'000'000'000);
  program.mutable_prediction()->set_basis("costs");
  EXPECT_EQ(compareMeasured(program, {}), "");
  // The first step includes preparation, so it counts only if it is the only one.
  EXPECT_EQ(compareMeasured(program, {0.02}),
            "predicted step 10 ms (costs), measured 20 ms (the first step): +100.0 %\n");
  EXPECT_EQ(compareMeasured(program, {9, 0.009}),
            "predicted step 10 ms (costs), measured 9 ms (the step after the first): -10.0 %\n");
  EXPECT_EQ(compareMeasured(program, {9, 0.011, 0.5, 0.01}),
            "predicted step 10 ms (costs), measured 11 ms (the median of 3 steps after the first): "
            "+10.0 %\n");
}

} // namespace
} // namespace st
