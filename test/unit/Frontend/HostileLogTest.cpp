// Damaged logs and configurations: an error of one line, or the readable rest.
#include "RandomLog.h"
#include "TestInputs.h"
#include "lib/Frontend/DeepSpeed/DeepSpeedConfig.h"
#include "lib/Frontend/Megatron/Lint.h"
#include "lib/Frontend/Megatron/Megatron.h"

#include "gtest/gtest.h"

using namespace mlir::st;

namespace {

/// Returns true if a message is one readable line.
bool isOneLine(llvm::StringRef message) {
  constexpr size_t longest = 1000;
  return !message.empty() && message.size() <= longest &&
         llvm::none_of(message, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

void readLog(const std::string &text) {
  absl::StatusOr<MegatronLog> log = parseMegatronLog(text, "hostile.log");
  if (!log.ok()) {
    EXPECT_TRUE(isOneLine(log.status().message().data())) << log.status();
    return;
  }
  for (const LintFinding &finding : lintMegatronLog(*log))
    EXPECT_TRUE(isOneLine(printFinding(finding, "hostile.log")));
  absl::StatusOr<TrainingRun> run = buildTrainingRun(*log);
  if (!run.ok()) {
    EXPECT_TRUE(isOneLine(run.status().message().data())) << run.status();
  }
}

void readJson(const std::string &text) {
  TrainingRun run;
  absl::Status status = readDeepSpeedConfig(text, "hostile.json", run);
  if (!status.ok()) {
    EXPECT_TRUE(isOneLine(status.message().data())) << status;
  }
}

std::string mutate(std::string text, Draws &draws) {
  auto place = [&] { return size_t(draws.between(0, int64_t(text.size()))); };
  for (int64_t count = draws.between(1, 4); count > 0; --count) {
    switch (draws.between(0, 7)) {
    case 0:
      text.resize(place());
      break;
    case 1:
      if (size_t at = place(); at < text.size())
        text[at] = char(draws.between(0, 255));
      break;
    case 2:
      text.insert(place(), 1, '\0');
      break;
    case 3:
      text.insert(place(), draws.oneOf<std::string>({"9999999999999999999999", "-1", "1e999", "nan",
                                                     "\"", "'", "[", "Namespace(num_layers=", "$(",
                                                     "${", "A=(", "\\\n", "| iteration 1/"}));
      break;
    case 4:
      if (size_t from = place(), to = place(); from < to)
        text.erase(from, to - from);
      break;
    case 5: {
      size_t from = place();
      std::string piece = text.substr(from, size_t(draws.between(1, 400)));
      text.insert(place(), piece);
      break;
    }
    case 6:
      // Replaces a number of the text.
      if (size_t at = text.find_first_of("0123456789", place()); at != std::string::npos) {
        size_t end = text.find_first_not_of("0123456789", at);
        text.replace(at, end - at,
                     draws.oneOf<std::string>({"0", "7", "2147483647", "9223372036854775807",
                                               "9007199254740992", "1000000000000000"}));
      }
      break;
    case 7:
      if (size_t at = text.find('\n', place()); at != std::string::npos)
        text.erase(at, 1);
      break;
    }
  }
  return text;
}

TEST(HostileLogTest, MutatedLogs) {
  Draws draws(77);
  const std::string cases[] = {readTestInput("Megatron/megatron-bert-345m-1gpu.log"),
                               readTestInput("Megatron/megatron-bert-345m-32gpus.log")};
  for (int i = 0; i < 4000; ++i)
    readLog(mutate(i % 3 == 2 ? printRandomLog(draws, nullptr) : cases[i % 3], draws));
}

TEST(HostileLogTest, MutatedConfigurations) {
  Draws draws(78);
  const std::string json = readTestInput("DeepSpeed/bert-base.json");
  for (int i = 0; i < 4000; ++i)
    readJson(mutate(json, draws));
}

TEST(HostileLogTest, EveryTruncation) {
  const std::string log = readTestInput("Megatron/megatron-bert-345m-1gpu.log");
  for (size_t size = 0; size < log.size(); size += 7)
    readLog(log.substr(0, size));
  const std::string json = readTestInput("DeepSpeed/bert-base.json");
  for (size_t size = 0; size < json.size(); ++size)
    readJson(json.substr(0, size));
}

TEST(HostileLogTest, RandomBytes) {
  Draws draws(79);
  for (int i = 0; i < 500; ++i) {
    std::string bytes(size_t(draws.between(0, 3000)), ' ');
    for (char &byte : bytes)
      byte = char(draws.between(0, 255));
    readLog(bytes);
    readLog("python pretrain_gpt.py --" + bytes);
    readLog("------ arguments ------\n" + bytes);
    readJson(bytes);
    readJson("{\"" + bytes);
  }
}

std::string repeat(const std::string &piece, size_t bytes) {
  std::string text;
  while (text.size() < bytes)
    text += piece;
  return text;
}

TEST(HostileLogTest, LinesOfTenMegabytes) {
  constexpr size_t bytes = size_t(10) << 20;
  for (const char *piece : {"x", "$(", "A=$A$A ", "time (ms) | ", "1"}) {
    std::string line = repeat(piece, bytes);
    readLog(line);
    readLog("python pretrain_gpt.py --split " + line);
    readLog("------ arguments ------\n  split .... " + line + "\n--- end of arguments ---\n");
    readLog("Namespace(num_layers=" + line);
    readJson("{\"train_batch_size\": " + line);
  }
}

/// Input that a parser might read repeatedly.
TEST(HostileLogTest, RepeatedPieces) {
  constexpr size_t bytes = size_t(1) << 20;
  for (const char *piece : {" ", "'", "\"", "${", "(", "A=(", "A=\"", "--x ", "| iteration 1/", "[",
                            "[a]: ", "0: ", ".", ",", "\\", "#", "=", "a.py --b "}) {
    std::string line = repeat(piece, bytes);
    readLog(line);
    readLog("python pretrain_gpt.py --split " + line);
    readLog("Namespace(num_layers=" + line);
    readJson("{\"train_batch_size\": " + line);
  }
  for (const char *piece : {"A=\"\n", "A=(\n", "A=$A$A\n", "A=\"$A$A\"\n", "\\\n", "$(\n",
                            "a.py \\\n", "(over 1 iterations = 1 samples)\n", "1 ms per sample\n",
                            "{\"a\":\n", "\"a\": 1,\n", "B='\n"}) {
    std::string text = repeat(piece, bytes);
    readLog(text);
    readLog("python pretrain_gpt.py --num-layers 4 --global-batch-size 8\n" + text);
    readJson("{" + text);
  }
}

} // namespace
