#include "lib/Support/BatchRamp.h"

#include <gtest/gtest.h>

using st::BatchRamp;

namespace {

BatchRamp parse(absl::string_view text, int64_t full) { return *BatchRamp::parse(text, full); }

std::string error(absl::string_view text, int64_t full) {
  return std::string(BatchRamp::parse(text, full).status().message());
}

TEST(BatchRamp, GrowsAtEqualDistances) {
  const BatchRamp ramp = parse("2,2,30", 8);
  EXPECT_EQ(ramp.at(0), 2);
  EXPECT_EQ(ramp.at(9), 2);
  EXPECT_EQ(ramp.at(10), 4);
  EXPECT_EQ(ramp.at(20), 6);
  EXPECT_EQ(ramp.at(30), 8);
  EXPECT_EQ(ramp.at(1'000'000'000'000), 8);
}

// 16 32 3000000 with a batch of 1536 and 175B's 300B tokens, as in Megatron-LM's examples: the
// first step of 1536 rows begins after the samples of the ramp-up.
TEST(BatchRamp, CountsStepsOfTheGpt3Example) {
  const BatchRamp ramp = parse("32 32 5859375", 1536);
  int64_t consumed = 0, steps = 0;
  while (ramp.at(consumed) < 1536) {
    consumed += ramp.at(consumed);
    ++steps;
  }
  EXPECT_GE(consumed, 5'859'375);
  EXPECT_EQ(ramp.countSteps(146'484'375), steps + (146'484'375 - consumed) / 1536);
}

TEST(BatchRamp, CountsStepsWithinTheRampUp) {
  const BatchRamp ramp = parse("4,4,16", 8);
  EXPECT_EQ(ramp.countSteps(11), 3); // 0, 4, 8
  EXPECT_EQ(ramp.countSteps(24), 5); // then 8 rows from 16 to 24
  EXPECT_EQ(ramp.countSteps(31), 5); // the last seven rows are no batch
  EXPECT_EQ(ramp.countSteps(32), 6);
}

TEST(BatchRamp, SizesAndUnit) {
  EXPECT_EQ(parse("4,6,10", 16).sizes(), (std::vector<int64_t>{4, 10}));
  EXPECT_EQ(parse("4,6,10", 16).unit(), 2);
  EXPECT_EQ(parse("4 , 6, 10", 16).text(), "4,6,10");
}

TEST(BatchRamp, NamesWhatIsWrong) {
  EXPECT_EQ(error("4,4", 8), "--rampup-batch-size=4,4: expected START,INCREMENT,SAMPLES, three "
                             "numbers from 1");
  EXPECT_EQ(error("4,x,1", 8), error("4,4", 8).replace(20, 3, "4,x,1"));
  EXPECT_EQ(error("0,4,1", 8), error("4,4", 8).replace(20, 3, "0,4,1"));
  EXPECT_EQ(error("8,4,1", 8), "--rampup-batch-size=8,4,1: expected a start below the full batch "
                               "of 8");
  EXPECT_EQ(error("2,4,1", 8), "--rampup-batch-size=2,4,1: expected an increment that divides 6, "
                               "the distance from the start to the full batch");
  EXPECT_EQ(error("1,1,1", 1000), "--rampup-batch-size=1,1,1: expected at most 256 sizes, found "
                                  "999");
}

} // namespace
