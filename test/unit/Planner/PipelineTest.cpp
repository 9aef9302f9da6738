// Without messages every schedule has a closed form.

#include "lib/Planner/Step/Pipeline.h"
#include "lib/Driver/Planning/PlannedModels.h"

#include "gtest/gtest.h"

#include <random>

using namespace st;

static std::vector<GroupTimes> simulate(PipelineSchedule schedule, int64_t groups, int64_t chunks,
                                        int64_t microBatches, StageTimes times,
                                        double message = 0) {
  Layout layout;
  layout.stages = groups;
  layout.virtualStages = chunks;
  layout.microBatches = microBatches;
  layout.schedule = schedule;
  PipelineCosts costs;
  costs.stages.assign(groups, std::vector<StageTimes>(chunks, times));
  if (groups > 1)
    costs.links.assign(groups, {message, 0});
  return simulatePipeline(layout, costs, mlir::st::makePipelineOrder(), true);
}

static double end(const std::vector<GroupTimes> &groups) {
  double last = 0;
  for (const GroupTimes &group : groups)
    last = std::max(last, group.end);
  return last;
}

// (m + p - 1)(f + b): Narayanan et al., "Efficient large-scale language model training on GPU
// clusters", section 2.2.
TEST(Pipeline, ClosedForms) {
  const StageTimes times{10, 23, 0};
  for (int64_t groups : {1, 2, 3, 4, 8})
    for (int64_t microBatches : {1, 2, 4, 7, 8, 32}) {
      const double expected = static_cast<double>(microBatches + groups - 1) * 33;
      EXPECT_NEAR(end(simulate(PipelineSchedule::GPipe, groups, 1, microBatches, times)), expected,
                  1e-6);
      EXPECT_NEAR(
          end(simulate(PipelineSchedule::OneForwardOneBackward, groups, 1, microBatches, times)),
          expected, 1e-6);
    }
}

// With v stages per group the bubble shrinks by v: m v + p - 1 units of one stage.
TEST(Pipeline, Interleaved) {
  for (int64_t groups : {2, 4, 8})
    for (int64_t chunks : {2, 3, 4})
      for (int64_t rounds : {1, 2, 5}) {
        const int64_t microBatches = groups * rounds;
        const double expected = static_cast<double>(microBatches * chunks + groups - 1) * 30;
        EXPECT_NEAR(
            end(simulate(PipelineSchedule::Interleaved, groups, chunks, microBatches, {10, 20, 0})),
            expected, 1e-6)
            << groups << " groups, " << chunks << " chunks, " << microBatches << " micro-batches";
      }
}

// A group holds as many micro-batches as there are groups from it to the end.
TEST(Pipeline, InFlight) {
  const auto groups = simulate(PipelineSchedule::OneForwardOneBackward, 4, 1, 16, {10, 20, 0});
  for (int64_t group = 0; group < 4; ++group)
    EXPECT_EQ(groups[group].inFlight, 4 - group);
  for (const GroupTimes &group : simulate(PipelineSchedule::GPipe, 4, 1, 16, {10, 20, 0}))
    EXPECT_EQ(group.inFlight, 16);
}

// Work and waits fill a group's time up to its end.
TEST(Pipeline, WorkAndWaitsAddUp) {
  for (double message : {0.0, 3.0, 50.0})
    for (const GroupTimes &group :
         simulate(PipelineSchedule::OneForwardOneBackward, 4, 1, 9, {10, 20, 0}, message))
      EXPECT_NEAR(group.forward + group.backward + group.weight + group.forwardWait +
                      group.backwardWait + group.sending,
                  group.end, 1e-6);
}

// The closed form bounds each group's end for any times; equal stages without messages reach it.
TEST(Pipeline, BoundsItsPlay) {
  std::mt19937 random(1);
  auto draw = [&](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  };
  for (int round = 0; round < 300; ++round) {
    Layout layout;
    layout.stages = std::uniform_int_distribution<int64_t>(1, 8)(random);
    layout.microBatches = layout.stages * std::uniform_int_distribution<int64_t>(1, 5)(random);
    layout.schedule = static_cast<PipelineSchedule>(round % 4);
    if (layout.stages == 1)
      layout.schedule = PipelineSchedule::OneForwardOneBackward;
    layout.virtualStages = layout.schedule == PipelineSchedule::Interleaved ? 1 + round % 3 : 1;
    const bool splits = layout.schedule == PipelineSchedule::ZeroBubbleH1;
    PipelineCosts costs;
    for (int64_t group = 0; group < layout.stages; ++group) {
      costs.stages.emplace_back();
      for (int64_t chunk = 0; chunk < layout.virtualStages; ++chunk)
        costs.stages.back().push_back({draw(1, 10), draw(1, 20), splits ? draw(1, 10) : 0});
      if (layout.stages > 1) {
        const double message = draw(0, 5);
        costs.links.push_back({message, round % 2 == 0 ? message : 0});
      }
    }
    const PipelineOrder order = mlir::st::makePipelineOrder();
    const auto composed = simulatePipeline(layout, costs, order),
               bound = boundPipeline(layout, costs);
    PipelineMemo memo;
    for (int repeat = 0; repeat < 2; ++repeat)
      EXPECT_EQ(memo.simulate(layout, costs, order).back().end, composed.back().end);
    for (size_t group = 0; group < composed.size(); ++group) {
      EXPECT_LE(bound[group].end, composed[group].end * (1 + 1e-12))
          << printLayout(layout) << ", group " << group;
      EXPECT_NEAR(bound[group].forward, composed[group].forward, 1e-9);
      EXPECT_NEAR(bound[group].sending, composed[group].sending, 1e-9);
      EXPECT_EQ(memo.maxHeld(layout, order, static_cast<int64_t>(group)).forwardToBackward,
                composed[group].inFlight)
          << printLayout(layout);
    }
  }
  Layout layout;
  layout.stages = 6;
  layout.microBatches = 20;
  PipelineCosts costs;
  costs.stages.assign(6, {{10, 20, 0}});
  costs.links.assign(6, {0, 0});
  EXPECT_NEAR(boundPipeline(layout, costs).front().end, (20 + 6 - 1) * 30.0, 1e-9);
}
