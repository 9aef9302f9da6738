#include "lib/Runtime/Training/StepLog.h"

#include "lib/Support/Files.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <filesystem>
#include <gtest/gtest.h>

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

  // What is printed for four steps of a run of four.
  std::string print(const LogOptions &options) {
    char *text = nullptr;
    size_t size = 0;
    std::FILE *out = open_memstream(&text, &size), *null = std::fopen("/dev/null", "w");
    auto log = StepLog::open(options, /*appends=*/false, out, null);
    EXPECT_TRUE(log.ok()) << log.status();
    (*log)->begin({4, 8, 128});
    for (int64_t step = 1; step <= 4; ++step)
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
            "4.000000E+00 | grad norm: 1.500 |\n");
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
                                "/nonexistent/x: cannot make the folder"));
}

// The record that TensorFlow's own writer makes of an empty string.
TEST(EventFileTest, RecordsHaveMaskedChecksums) {
  EXPECT_EQ(frameRecord(""), std::string("\0\0\0\0\0\0\0\0\x29\x03\x98\x07\xd8\xea\x82\xa2", 16));
}

} // namespace
} // namespace st
