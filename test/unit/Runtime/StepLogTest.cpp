#include "lib/Runtime/Training/Log/StepLog.h"

#include "lib/Support/Files.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <map>

namespace st {
namespace {

namespace fs = std::filesystem;

StepReport report(int64_t step, float loss) {
  StepReport report;
  report.step = step;
  report.loss = loss;
  report.learningRate = 1e-4;
  report.simulatedPicoseconds = 2'000'000'000;
  report.metrics = {{"grad_norm", 1.5f}};
  return report;
}

class StepLogTest : public testing::Test {
protected:
  void SetUp() override {
    folder = absl::StrCat(testing::TempDir(), "/steplog-",
                          testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder);
    fs::create_directory(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  // The output for four steps of a run of four steps.
  std::string print(const LogOptions &options, const LoggedRun &run = {4, 8, 128, {}, ""}) {
    char *text = nullptr;
    size_t size = 0;
    std::FILE *out = open_memstream(&text, &size), *null = std::fopen("/dev/null", "w");
    auto log = StepLog::open(options, /*appends=*/false, out, null);
    EXPECT_TRUE(log.ok()) << log.status();
    (*log)->begin(run);
    for (int64_t step = 1; step <= run.lastStep; ++step)
      EXPECT_TRUE((*log)->write(report(step, static_cast<float>(step)), 8 * step).ok());
    log->reset();
    std::fclose(out);
    std::fclose(null);
    const std::string printed(text, size);
    std::free(text);
    return printed;
  }

  std::string folder;
};

// In the form that lib/Frontend/Megatron reads.
TEST_F(StepLogTest, MegatronsLineHasMeansOfItsInterval) {
  LogOptions options;
  options.style = "megatron";
  options.interval = 3;
  EXPECT_EQ(print(options),
            " iteration        3/       4 | consumed samples:           24 | elapsed time per "
            "iteration (ms): 2.0 | learning rate: 1.000E-04 | global batch size:     8 | lm loss: "
            "2.000000E+00 | grad norm: 1.500 |\n"
            " iteration        4/       4 | consumed samples:           32 | elapsed time per "
            "iteration (ms): 2.0 | learning rate: 1.000E-04 | global batch size:     8 | lm loss: "
            "4.000000E+00 | grad norm: 1.500 |\n"
            "(over 4 iterations = 32 samples)\n"
            "0.25 ms per sample\n");
}

TEST_F(StepLogTest, MegatronsTimersFollowItsLineAndMemoryComesOnce) {
  LogOptions options;
  options.style = "megatron";
  options.interval = 50;
  const std::string printed =
      print(options, {150, 8, 128, {{"forward-compute", 1.5}, {"optimizer", 0.25}}, "DTU mem\n"});
  const std::vector<std::string> lines = absl::StrSplit(printed, '\n');
  const std::string timers =
      "time (ms) | forward-compute: 1.50 | optimizer: 0.25 | batch-generator: 0.00";
  ASSERT_EQ(lines.size(), 12u) << printed;
  EXPECT_EQ(lines[1], timers);
  EXPECT_EQ(lines[2], "DTU mem");
  EXPECT_EQ(lines[4], timers);
  EXPECT_EQ(lines[5], "(over 100 iterations = 800 samples)");
  EXPECT_EQ(lines[6], "0.25 ms per sample");
  EXPECT_EQ(lines[8], timers);
  EXPECT_EQ(lines[9], "(over 50 iterations = 400 samples)");
}

// Two stages of one rank; the last one's forward tasks wait for messages, its update for others.
TEST(MegatronLogTest, TimersAddUpToTheStepOfTheLastRank) {
  proto::Executable program;
  StepTimeline timeline;
  timeline.ranks.resize(2);
  for (int64_t i = 0; i < 2; ++i) {
    proto::Group &group = *program.add_groups();
    group.set_first_rank(i);
    group.add_device_ids(i);
    for (const char *phase : {"forward", "backward", "update"})
      group.add_tasks()->set_phase(phase);
    for (int64_t task : {0, 1, 0, 1, 2})
      group.add_schedule()->set_task(task);
  }
  constexpr int64_t kMs = 1'000'000'000;
  // Launch, compute, collective, transfer, wait.
  const StepTimeline::Sums sums[] = {{1 * kMs, 10 * kMs, 2 * kMs, 3 * kMs, 4 * kMs},
                                     {0, 20 * kMs, 0, 0, 0},
                                     {0, 11 * kMs, 0, 1 * kMs, 0},
                                     {0, 21 * kMs, 0, 0, 0},
                                     {0, 8 * kMs, 5 * kMs, 0, 6 * kMs}};
  int64_t time = 0;
  for (const StepTimeline::Sums &each : sums) {
    int64_t end = time;
    for (int64_t part : each)
      end += part;
    timeline.ranks[1].runs.push_back({time, end, each});
    time = end;
  }
  StepTrace trace;
  trace.rows = {{0, "", ""}, {1, "", ""}};
  trace.labels = {"loop optimizer/scale/w", "loop optimizer/clip/w", "loop optimizer/w",
                  "all_reduce optimizer/scale/w"};
  const int64_t update = time - 19 * kMs;
  for (int32_t row : {0, 1})
    for (int32_t label : {0, 1, 2, 3})
      trace.spans.push_back({row, label, update + label, label == 2 ? 2 : 1});
  const StepTimers timers = megatronTimers(program, timeline, trace);
  const std::map<std::string, double> found(timers.begin(), timers.end());
  const std::map<std::string, double> expected = {{"forward-compute", 24},
                                                  {"forward-recv", 7},
                                                  {"backward-compute", 41},
                                                  {"backward-send", 0},
                                                  {"backward-send-forward-recv", 1},
                                                  {"backward-params-all-reduce", 5},
                                                  {"backward-embedding-all-reduce", 6},
                                                  {"optimizer-copy-to-main-grad", 0},
                                                  {"optimizer-unscale-and-check-inf", 2},
                                                  {"optimizer-clip-main-grad", 2},
                                                  {"optimizer-copy-main-to-model-params", 0},
                                                  {"optimizer", 8}};
  EXPECT_EQ(found, expected);
  EXPECT_EQ(printTimers({{"optimizer", 0.125}}, 1.62),
            "time (ms) | optimizer: 0.12 | batch-generator: 1.62\n");
}

TEST_F(StepLogTest, AnIntervalLeavesLinesOut) {
  LogOptions options;
  options.interval = 3;
  const std::string printed = print(options);
  EXPECT_TRUE(absl::StartsWith(printed, "step 3  loss 3  ")) << printed;
  EXPECT_TRUE(absl::StrContains(printed, "\nstep 4  loss 4  ")) << printed;
}

TEST_F(StepLogTest, BadFlags) {
  LogOptions options;
  options.style = "wandb";
  EXPECT_EQ(StepLog::open(options, false, stdout, stderr).status().message(),
            "--log-style=wandb: expected st or megatron");
  options = LogOptions();
  options.interval = 0;
  EXPECT_EQ(StepLog::open(options, false, stdout, stderr).status().message(),
            "--log-interval=0: expected 1 or more");
  options = LogOptions();
  options.tensorboard = "/nonexistent/x";
  EXPECT_TRUE(absl::StrContains(StepLog::open(options, false, stdout, stderr).status().message(),
                                "/nonexistent/x: cannot create the folder"));
}

// The record that TensorFlow's own writer makes for an empty string.
TEST(EventFileTest, RecordsHaveMaskedChecksums) {
  EXPECT_EQ(frameRecord(""), std::string("\0\0\0\0\0\0\0\0\x29\x03\x98\x07\xd8\xea\x82\xa2", 16));
}

} // namespace
} // namespace st
