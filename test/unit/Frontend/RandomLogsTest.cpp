// Counts the contradictions that lint finds in random logs, and its false alarms.
#include "RandomLog.h"
#include "lib/Frontend/Megatron/Lint.h"
#include "lib/Frontend/Megatron/Megatron.h"

#include "gtest/gtest.h"
#include <set>

using namespace mlir::st;

namespace {

constexpr int kLogs = 1000;

std::vector<LintFinding> lint(const std::string &text) {
  absl::StatusOr<MegatronLog> log = parseMegatronLog(text, "random.log");
  EXPECT_TRUE(log.ok()) << log.status() << "\n" << text;
  return log.ok() ? lintMegatronLog(*log) : std::vector<LintFinding>();
}

TEST(RandomLogsTest, CleanLogsRaiseNoAlarm) {
  Draws draws(2024);
  int alarms = 0;
  for (int i = 0; i < kLogs / 2; ++i) {
    std::string text = printRandomLog(draws, nullptr);
    std::vector<LintFinding> findings = lint(text);
    alarms += !findings.empty();
    for (const LintFinding &finding : findings)
      ADD_FAILURE() << printFinding(finding, "random.log") << "\n" << text;
    absl::StatusOr<MegatronLog> log = parseMegatronLog(text, "random.log");
    ASSERT_TRUE(log.ok()) << log.status();
    absl::StatusOr<TrainingRun> run = buildTrainingRun(*log);
    ASSERT_TRUE(run.ok()) << run.status() << "\n" << text;
    EXPECT_EQ(run->globalBatch, run->microBatch * run->accumulation * run->dataParallel);
    EXPECT_EQ(run->worldSize, run->tensorParallel * run->pipelineParallel * run->dataParallel);
  }
  EXPECT_LE(alarms, kLogs / 2 / 100);
}

TEST(RandomLogsTest, ContradictionsAreNamed) {
  Draws draws(4202);
  std::set<std::string> known;
  for (llvm::StringRef id : lintIds())
    known.insert(id.str());
  int named = 0, others = 0;
  for (int i = 0; i < kLogs / 2; ++i) {
    const Plant &plant = plants()[size_t(i) % plants().size()];
    ASSERT_TRUE(known.count(plant.id)) << plant.id;
    std::string text = printRandomLog(draws, &plant);
    bool isNamed = false;
    for (const LintFinding &finding : lint(text)) {
      isNamed |= finding.id == plant.id;
      others += finding.id != plant.id;
      EXPECT_FALSE(finding.values.empty()) << finding.id;
      EXPECT_FALSE(finding.lines.empty()) << finding.id;
    }
    named += isNamed;
    if (!isNamed)
      std::printf("not named: %s\n", plant.id);
  }
  std::printf("%d of %d contradictions named, %d findings beside them\n", named, kLogs / 2, others);
  EXPECT_GE(named * 100, kLogs / 2 * 95);
}

} // namespace
