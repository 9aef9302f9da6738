// Queued work compared with a host and a device that run op by op, and rows that run by their own
// timers.
#include "lib/Planner/Step/QueuedWork.h"
#include "lib/Planner/Step/Predict.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>
#include <vector>

namespace st {
namespace {

double simulate(const std::vector<OpTime> &ops) {
  double host = 0, device = 0;
  for (const OpTime &op : ops) {
    host += op.host;
    device = std::max(device, host) + op.device;
  }
  return device;
}

TEST(QueuedWorkTest, SpanIsThatOfOpsSimulatedOneByOne) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> time(0, 10);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<OpTime> block, all;
    QueuedWork work;
    for (int i = 0; i < 6; ++i) {
      OpTime op;
      op.host = time(random);
      op.device = time(random);
      block.push_back(op);
      work += op;
    }
    EXPECT_NEAR(work.span, simulate(block), 1e-9);
    const int count = 1 + turn % 7;
    for (int i = 0; i < count; ++i)
      all.insert(all.end(), block.begin(), block.end());
    EXPECT_NEAR(work.repeated(count).span, simulate(all), 1e-9);
    QueuedWork twice = work;
    twice += work.repeated(count);
    all.insert(all.end(), block.begin(), block.end());
    EXPECT_NEAR(twice.span, simulate(all), 1e-9);
  }
}

/// Two stages, four micro-batches, 1F1B: the last stage ends a backward pass before the first one
/// does.
TEST(QueuedWorkTest, OwnTimersGiveTheDrainOfThePipeline) {
  MeasuredRow row;
  row.layout.stages = 2;
  row.layout.microBatches = 4;
  row.forwardMs = 40;
  row.backwardMs = 80;
  const PipelineOrder order = [](const Layout &layout, int64_t group) {
    std::vector<PipelineUnit> units;
    const int64_t warmUp = layout.stages - 1 - group;
    int64_t forward = 0, backward = 0;
    for (; forward < warmUp; ++forward)
      units.push_back({PipelineUnit::Forward, 0, forward});
    for (; backward < layout.microBatches; ++backward) {
      if (forward < layout.microBatches)
        units.push_back({PipelineUnit::Forward, 0, forward++});
      units.push_back({PipelineUnit::Backward, 0, backward});
    }
    return units;
  };
  StepEstimate step;
  step.timers.push_back({"optimizer", 5, 5, 5, 5});
  const std::optional<OwnTimers> own = simulateOwnTimers(row, step, order);
  ASSERT_TRUE(own);
  EXPECT_NEAR(own->drain, 20, 1e-9);
  EXPECT_NEAR(own->without, 10 + 4 * 30 + 5, 1e-9);
  row.forwardMs.reset();
  EXPECT_FALSE(simulateOwnTimers(row, step, order));
}

} // namespace
} // namespace st
