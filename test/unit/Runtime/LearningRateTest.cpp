#include "lib/Runtime/Training/LearningRate.h"

#include "absl/strings/match.h"

#include <cmath>
#include <gtest/gtest.h>

namespace st {
namespace {

LearningRateSchedule resolve(const LearningRateOptions &options, int64_t batch = 8,
                             int64_t trainSteps = 0) {
  absl::StatusOr<LearningRateSchedule> schedule = resolveSchedule(options, 1e-3, batch, trainSteps);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return schedule.value_or(LearningRateSchedule());
}

LearningRateOptions decaying(const char *style, double peak, double floor, int64_t warmup,
                             int64_t steps) {
  LearningRateOptions options;
  options.style = style;
  options.peak = peak;
  options.floor = floor;
  options.warmupSteps = warmup;
  options.decaySteps = steps;
  return options;
}

TEST(LearningRateTest, TotalStepsLeavesTheLastStepSomething) {
  LearningRateOptions options;
  options.peak = 1;
  options.warmupSteps = 4;
  options.totalSteps = 10;
  const LearningRateSchedule schedule = resolve(options);
  EXPECT_EQ(schedule.at(1), 0.25);
  EXPECT_EQ(schedule.at(4), 1);
  EXPECT_EQ(schedule.at(5), 1);
  EXPECT_EQ(schedule.at(8), 0.5);
  EXPECT_DOUBLE_EQ(schedule.at(10), 1.0 / 6);
  EXPECT_EQ(schedule.at(11), 0);
  EXPECT_EQ(schedule.at(100), 0);
}

TEST(LearningRateTest, StaysWhereNothingIsSaid) {
  EXPECT_EQ(resolve({}).at(1), 1e-3);
  EXPECT_EQ(resolve({}).at(1000), 1e-3);
}

// A published BERT run: a million iterations; the rate decays over 990,000 of them.
TEST(LearningRateTest, MegatronsLinear) {
  LearningRateOptions options = decaying("linear", 1e-4, 1e-5, 0, 990000);
  options.warmupFraction = 0.01;
  const LearningRateSchedule schedule = resolve(options);
  EXPECT_NEAR(schedule.at(4950), 5.0e-5, 1e-16);
  EXPECT_NEAR(schedule.at(9900), 1e-4, 1e-16);
  EXPECT_NEAR(schedule.at(499950), 5.5e-5, 1e-16);
  EXPECT_NEAR(schedule.at(990000), 1e-5, 1e-16);
  EXPECT_NEAR(schedule.at(2000000), 1e-5, 1e-16);
}

TEST(LearningRateTest, MegatronsCosineAndInverseSquareRoot) {
  const LearningRateSchedule cosine = resolve(decaying("cosine", 1, 0.1, 100, 1100));
  EXPECT_NEAR(cosine.at(350), 0.1 + 0.9 * 0.5 * (1 + std::sqrt(0.5)), 1e-12);
  EXPECT_NEAR(cosine.at(600), 0.55, 1e-12);
  EXPECT_EQ(cosine.at(1100), 0.1);
  const LearningRateSchedule root = resolve(decaying("inverse-square-root", 1, 0.1, 100, 100000));
  EXPECT_EQ(root.at(100), 1);
  EXPECT_NEAR(root.at(400), 0.5, 1e-12);
  EXPECT_EQ(root.at(99999), 0.1);
  EXPECT_EQ(root.at(100001), 0.1);
}

// The formulas of Megatron-LM's OptimizerParamScheduler, written out.
TEST(LearningRateTest, MegatronsStableRate) {
  const double peak = 3e-4, floor = 1e-5;
  const int64_t warmup = 100, end = 2000, decay = 400;
  const std::pair<const char *, double (*)(double)> styles[] = {
      {"", [](double ratio) { return 2.0 * std::pow(0.5, ratio) - 1.0; }},
      {"exponential", [](double ratio) { return 2.0 * std::pow(0.5, ratio) - 1.0; }},
      {"linear", [](double ratio) { return 1.0 - ratio; }},
      {"cosine", [](double ratio) { return 0.5 * (std::cos(std::acos(-1.0) * ratio) + 1.0); }},
      {"minus_sqrt", [](double ratio) { return 1.0 - std::sqrt(ratio); }}};
  for (const auto &[style, coefficient] : styles) {
    LearningRateOptions options = decaying("WSD", peak, floor, warmup, end);
    options.stableStyle = style;
    options.stableDecaySteps = decay;
    const LearningRateSchedule schedule = resolve(options);
    for (int64_t step = 1; step <= end + 5; ++step) {
      const double ratio = static_cast<double>(step - (end - decay)) / static_cast<double>(decay);
      const double expected = step <= warmup        ? peak * static_cast<double>(step) / 100.0
                              : step <= end - decay ? peak
                              : step > end          ? floor
                                                    : floor + coefficient(ratio) * (peak - floor);
      ASSERT_NEAR(schedule.at(step), expected, 1e-12 * peak) << style << " " << step;
    }
  }
}

TEST(LearningRateTest, StableRateInSamplesAndText) {
  LearningRateOptions options = decaying("WSD", 1, 0.5, 10, 100);
  options.stableStyle = "linear";
  options.stableDecaySamples = 321;
  const LearningRateSchedule schedule = resolve(options, 8);
  EXPECT_EQ(schedule.decayBegin, 59);
  EXPECT_EQ(schedule.at(59), 1);
  EXPECT_LT(schedule.at(60), 1);
  EXPECT_EQ(schedule.describe(), "linear from 1 to 0.5, warm-up 10 steps, stable until step 59, "
                                 "decay until step 100");
  EXPECT_EQ(resolve(decaying("linear", 1, 0.5, 10, 100)).describe(),
            "linear from 1 to 0.5, warm-up 10 steps, decay until step 100");
}

TEST(LearningRateTest, StableRatesAreComplete) {
  auto error = [](const char *style, const char *end, int64_t steps, int64_t samples) {
    LearningRateOptions options = decaying(style, 1, 0, 10, 100);
    options.stableStyle = end;
    options.stableDecaySteps = steps;
    options.stableDecaySamples = samples;
    return std::string(resolveSchedule(options, 1, 8, 0).status().message());
  };
  EXPECT_EQ(error("WSD", "", 0, 0), "--lr-decay-style=WSD: give one of --lr-wsd-decay-steps and "
                                    "--lr-wsd-decay-samples, the length of the decay");
  EXPECT_EQ(error("WSD", "", 5, 5), error("WSD", "", 0, 0));
  EXPECT_EQ(error("WSD", "constant", 5, 0), "--lr-wsd-decay-style=constant: expected linear, "
                                            "cosine, exponential or minus_sqrt");
  EXPECT_EQ(error("WSD", "", 91, 0), "--lr-wsd-decay-steps=91: expected at most the 90 steps of "
                                     "the decay after the warm-up");
  EXPECT_EQ(error("WSD", "", 90, 0), "");
  EXPECT_EQ(error("linear", "", 5, 0),
            "--lr-wsd-decay-style, --lr-wsd-decay-steps and --lr-wsd-decay-samples have no effect "
            "without --lr-decay-style=WSD");
}

TEST(LearningRateTest, LengthsFromSamplesAndFromTheRun) {
  LearningRateOptions options;
  options.style = "linear";
  options.warmupSamples = 81;
  options.decaySamples = 800;
  EXPECT_EQ(resolve(options).warmup, 11);
  EXPECT_EQ(resolve(options).decayEnd, 100);
  options.decaySamples = 0;
  EXPECT_EQ(resolve(options, 8, 500).decayEnd, 500);
}

TEST(LearningRateTest, EveryStyleStaysBetweenItsEnds) {
  for (const char *style : {"constant", "linear", "cosine", "inverse-square-root"}) {
    const bool decays = std::string(style) != "constant";
    const LearningRateSchedule schedule =
        resolve(decaying(style, 1, decays ? 0.25 : 0, 10, decays ? 50 : 0));
    double before = 2;
    for (int64_t step = 1; step < 80; ++step) {
      const double rate = schedule.at(step);
      EXPECT_TRUE(step <= 10 ? std::abs(rate - 0.1 * static_cast<double>(step)) < 1e-12
                             : rate >= 0.25 && rate <= before)
          << style << " " << step;
      before = step < 10 ? 2 : rate;
    }
  }
}

// With growing batches all lengths are in samples, and flags that count steps are errors.
TEST(LearningRateTest, Samples) {
  LearningRateOptions options = decaying("linear", 1e-3, 1e-4, 0, 0);
  options.warmupSamples = 100;
  options.decaySamples = 1100;
  const LearningRateSchedule schedule = *resolveSampleSchedule(options, 1, 0);
  EXPECT_TRUE(schedule.countsSamples);
  EXPECT_NEAR(schedule.at(50), 5e-4, 1e-15);
  EXPECT_NEAR(schedule.at(600), 5.5e-4, 1e-15);
  EXPECT_EQ(schedule.describe(),
            "linear from 0.001 to 0.0001, warm-up 100 samples, decay until sample 1100");
  options.decaySamples = 0;
  EXPECT_EQ(resolveSampleSchedule(options, 1, 2100)->decayEnd, 2100);
  EXPECT_TRUE(absl::StrContains(resolveSampleSchedule(options, 1, 0).status().message(),
                                "give --lr-decay-samples or --train-samples"));
  options.warmupSamples = 0;
  options.warmupSteps = 10;
  EXPECT_EQ(resolveSampleSchedule(options, 1, 2100).status().message(),
            "--warmup=10 counts steps, which have different sizes with --rampup-batch-size; give "
            "--lr-warmup-samples");
}

TEST(LearningRateTest, ErrorsNameTheFlag) {
  auto expect = [](const LearningRateOptions &options, const char *expected) {
    const absl::Status status = resolveSchedule(options, 1e-3, 8, 0).status();
    EXPECT_TRUE(absl::StrContains(status.message(), expected)) << status;
  };
  expect(decaying("exponential", 1, 0, 0, 10), "--lr-decay-style=exponential: expected constant");
  expect(decaying("linear", 1, 2, 0, 10), "--min-lr=2: expected at most the peak");
  expect(decaying("linear", 1, 0, 10, 10), "--lr-decay-steps=10: expected more than --warmup=10");
  expect(decaying("linear", 1, 0, 0, 0), "--lr-decay-style=linear needs a length");
  expect(decaying("constant", 1, 0, 0, 10), "have no effect with a constant learning rate");
  expect(decaying("constant", 1, 0.5, 0, 0), "--min-lr has no effect");
  LearningRateOptions twice = decaying("linear", 1, 0, 5, 10);
  twice.warmupFraction = 0.5;
  expect(twice, "--lr-warmup-fraction: give one of them");
  twice = decaying("linear", 1, 0, 5, 10);
  twice.totalSteps = 10;
  expect(twice, "--total-steps: give one of them");
}

} // namespace
} // namespace st
