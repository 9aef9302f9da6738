#include "lib/Runtime/MeasuredTimeline.h"
#include "lib/Runtime/StepPhases.h"
#include "lib/Runtime/Training/Log/MegatronLog.h"

#include <gtest/gtest.h>
#include <string>
#include <tuple>
#include <vector>

namespace st {
namespace {

// A device that runs a forward task and an update.
proto::Executable twoTasks() {
  proto::Executable program;
  proto::Group &group = *program.add_groups();
  group.add_device_ids(0);
  for (const char *phase : {"forward", "update"}) {
    group.add_schedule()->set_task(group.tasks_size());
    group.add_tasks()->set_phase(phase);
  }
  return program;
}

StepTrace traceOf(std::vector<std::tuple<int32_t, const char *, int64_t, int64_t>> spans) {
  StepTrace trace;
  trace.rows = {{0, "GPU 0", "tasks"}, {0, "GPU 0", "kernels"}, {0, "GPU 0", "transfers"}};
  for (const auto &[row, label, start, end] : spans) {
    trace.spans.push_back({row, static_cast<int32_t>(trace.labels.size()), start, end - start});
    trace.labels.push_back(label);
  }
  return trace;
}

TEST(MeasuredTimelineTest, ComputeHidesMessagesAndGapsAreLaunches) {
  const proto::Executable program = twoTasks();
  const StepTrace trace = traceOf({{0, "f", 10, 100},
                                   {0, "u", 110, 200},
                                   {1, "receive from rank 1", 10, 30},
                                   {1, "product", 40, 70},
                                   {1, "optimizer/clip", 120, 130},
                                   {1, "adam", 150, 190},
                                   {2, "all_reduce of 2 x 8 bytes", 60, 80}});
  const StepTimeline timeline = measuredTimeline(program, trace);
  ASSERT_EQ(timeline.ranks.size(), 1u);
  const PhaseTimes expected = {{"forward, launch", 40},  {"forward, wait", 20},
                               {"forward, compute", 30}, {"forward, collective", 10},
                               {"update, launch", 50},   {"update, compute", 50}};
  EXPECT_EQ(rankPhases(program, timeline, 0, 200), expected);
  const StepTimers timers = megatronTimers(program, timeline, trace);
  const auto timer = [&](const std::string &name) {
    for (const auto &[each, milliseconds] : timers)
      if (each == name)
        return milliseconds * 1e9;
    return -1.0;
  };
  EXPECT_DOUBLE_EQ(timer("forward-compute"), 80);
  EXPECT_DOUBLE_EQ(timer("optimizer"), 100);
  EXPECT_DOUBLE_EQ(timer("optimizer-clip-main-grad"), 20); // a fifth of the work
}

TEST(MeasuredTimelineTest, ARankWithoutItsTasksHasNoRuns) {
  const StepTimeline timeline = measuredTimeline(twoTasks(), traceOf({{0, "f", 0, 10}}));
  EXPECT_TRUE(timeline.ranks[0].runs.empty());
}

} // namespace
} // namespace st
