#include "lib/Runtime/Training/Trainer.h"
#include "ToyProgram.h"
#include "lib/Runtime/Json.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/Support/AtomicFile.h"
#include "lib/Support/Files.h"
#include "lib/Support/Safetensors.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

namespace st {
namespace {

namespace fs = std::filesystem;

class TrainerTest : public testing::Test {
protected:
  void SetUp() override {
    const testing::TestInfo *info = testing::UnitTest::GetInstance()->current_test_info();
    folder = absl::StrCat(testing::TempDir(), "/trainer-", info->name());
    fs::remove_all(folder);
    fs::create_directory(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string &name) const { return absl::StrCat(folder, "/", name); }

  // Runs and stores the output.
  absl::Status run(const proto::Executable &program, const TrainOptions &options,
                   int64_t nanAt = 1 << 30) {
    char *text = nullptr;
    size_t size = 0;
    std::FILE *out = open_memstream(&text, &size);
    ToyClient client(nanAt);
    std::unique_ptr<Communicator> communicator = createInProcessCommunicator();
    std::FILE *progress = std::fopen("/dev/null", "w");
    absl::Status status = train(program, client, *communicator, options, out, progress);
    std::fclose(progress);
    std::fclose(out);
    printed = text;
    free(text);
    return status;
  }

  // The lines of a step, without the host's time.
  std::vector<std::string> steps() const {
    std::vector<std::string> lines;
    for (absl::string_view line : absl::StrSplit(printed, '\n'))
      if (absl::StartsWith(line, "step "))
        lines.push_back(std::string(line.substr(0, line.find("  host "))));
    return lines;
  }

  void expectError(const proto::Executable &program, const TrainOptions &options,
                   absl::string_view expected) {
    absl::Status status = run(program, options);
    EXPECT_TRUE(absl::StrContains(status.message(), expected)) << status;
    EXPECT_FALSE(absl::StrContains(status.message(), "\n"));
  }

  std::string folder, printed;
};

TrainOptions makeOptions(int64_t steps) {
  TrainOptions options;
  options.steps = steps;
  return options;
}

std::string content(const std::string &path) { return *readFile(path, 1 << 20); }

TEST_F(TrainerTest, PrintsAndWritesMetrics) {
  TrainOptions options = makeOptions(3);
  options.log.metrics = path("metrics");
  options.trace = path("trace");
  options.report = path("report");
  proto::Executable program = makeToyProgram(2, 2);
  ASSERT_TRUE(run(program, options).ok());
  ASSERT_EQ(steps().size(), 3u);
  EXPECT_TRUE(absl::StartsWith(steps()[0], "step 1  loss "));
  EXPECT_TRUE(absl::EndsWith(steps()[0], "  sim 12.35 ms"));
  EXPECT_TRUE(absl::StrContains(printed, "avg_step_fps simulated 81, host "));
  EXPECT_TRUE(absl::StrContains(printed, "peak memory of each device"));
  std::vector<std::string> lines = absl::StrSplit(content(options.log.metrics), '\n');
  ASSERT_EQ(lines.size(), 4u);
  auto fields = *parseJsonObject(lines[1], "metrics");
  EXPECT_EQ(findField(fields, "step")->number_value(), 2);
  EXPECT_EQ(findField(fields, "lr")->number_value(), 0.25);
  EXPECT_EQ(findField(fields, "sim_ms")->number_value(), 12.345678901);
  EXPECT_TRUE(absl::StrContains(content(options.trace),
                                "\"ts\":1.500000,\"dur\":2.000000,\"name\":\"a \\\"kernel\\\"\""));
  EXPECT_TRUE(parseJsonObject(content(options.trace), "trace").ok());
  const auto report = *parseJsonObject(content(options.report), "report");
  EXPECT_EQ(findField(report, "sim_ms")->number_value(), 12.345678901);
}

TEST_F(TrainerTest, LayoutsAndMicroBatchesGiveTheSame) {
  ASSERT_TRUE(run(makeToyProgram(1, 1), makeOptions(4)).ok());
  std::vector<std::string> expected = steps();
  for (auto [rows, columns, micro] : {std::tuple{2, 1, 1}, {4, 3, 2}, {1, 1, 4}}) {
    ASSERT_TRUE(run(makeToyProgram(rows, columns, micro), makeOptions(4)).ok());
    EXPECT_EQ(steps(), expected);
  }
  TrainOptions other = makeOptions(4);
  other.seed = 1;
  ASSERT_TRUE(run(makeToyProgram(1, 1), other).ok());
  EXPECT_NE(steps(), expected);
}

TEST_F(TrainerTest, ResumesExactlyInAnyLayout) {
  TrainOptions all = makeOptions(6);
  all.seed = 9;
  all.save = path("all");
  ASSERT_TRUE(run(makeToyProgram(2, 2), all).ok());
  std::vector<std::string> expected = steps();

  TrainOptions half = makeOptions(3);
  half.seed = 9;
  half.save = path("half");
  ASSERT_TRUE(run(makeToyProgram(2, 2), half).ok());
  for (auto [rows, columns] : {std::pair{2, 2}, {1, 1}, {8, 1}, {1, 12}}) {
    TrainOptions rest = makeOptions(3);
    rest.resume = path("half");
    rest.save = path("rest");
    ASSERT_TRUE(run(makeToyProgram(rows, columns), rest).ok());
    EXPECT_EQ(steps(), (std::vector<std::string>{expected.begin() + 3, expected.end()}));
    for (const char *file :
         {"model.safetensors", "optimizer.safetensors", "trainer_state.json", "config.json"})
      EXPECT_EQ(content(path("rest/") + file), content(path("all/") + file)) << file;
  }
}

TEST_F(TrainerTest, SavesDuringStepsEqualSavesBetweenThem) {
  const auto saveEach = [&](const std::string &name, bool isAsync, std::optional<int64_t> memory) {
    TrainOptions options = makeOptions(5);
    options.save = path(name);
    options.saving.interval = 1;
    options.saving.isAsync = isAsync;
    options.saving.memory = memory;
    options.saving.shardBytes = 200;
    EXPECT_TRUE(run(makeToyProgram(2, 2), options).ok());
    return steps();
  };
  const std::vector<std::string> losses = saveEach("between", false, std::nullopt);
  for (auto [name, memory] :
       {std::pair{"during", std::optional<int64_t>()}, {"waiting", 0}, {"copied", 1 << 20}}) {
    EXPECT_EQ(saveEach(name, true, memory), losses);
    for (int step = 1; step <= 5; ++step)
      for (const char *file :
           {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
            "model.safetensors.index.json", "optimizer.safetensors", "trainer_state.json"}) {
        const std::string of = absl::StrCat("/step-000000", step, "/", file);
        EXPECT_EQ(content(path(name + of)), content(path("between" + of))) << name << of;
      }
  }
}

TEST_F(TrainerTest, ResumesShardsInAnyLayoutAndReplacesThem) {
  TrainOptions all = makeOptions(6);
  all.save = path("all");
  ASSERT_TRUE(run(makeToyProgram(2, 2), all).ok());
  TrainOptions half = makeOptions(3);
  half.save = path("half");
  half.saving.shardBytes = 1; // a file a tensor
  ASSERT_TRUE(run(makeToyProgram(2, 2), half).ok());
  EXPECT_FALSE(exists(path("half/model.safetensors")));
  for (auto [rows, columns] : {std::pair{1, 1}, {8, 1}}) {
    TrainOptions rest = makeOptions(3);
    rest.resume = path("half");
    rest.save = path("rest");
    ASSERT_TRUE(run(makeToyProgram(rows, columns), rest).ok());
    for (const char *file : {"model.safetensors", "optimizer.safetensors", "trainer_state.json"})
      EXPECT_EQ(content(path("rest/") + file), content(path("all/") + file)) << file;
  }
  // In its own folder: no file of the old checkpoint stays.
  TrainOptions rest = makeOptions(3);
  rest.resume = rest.save = path("half");
  ASSERT_TRUE(run(makeToyProgram(2, 2), rest).ok());
  EXPECT_EQ(content(path("half/model.safetensors")), content(path("all/model.safetensors")));
  EXPECT_FALSE(exists(path("half/model.safetensors.index.json")));
  EXPECT_FALSE(exists(path("half/model-00001-of-00002.safetensors")));
}

TEST_F(TrainerTest, NamesADamagedShardOrIndex) {
  TrainOptions options = makeOptions(1);
  options.save = path("saved");
  options.saving.shardBytes = 1;
  ASSERT_TRUE(run(makeToyProgram(2, 2), options).ok());
  TrainOptions next = makeOptions(1);
  next.resume = path("saved");
  for (const char *file : {"model-00002-of-00002.safetensors", "model.safetensors.index.json"}) {
    const std::string name = path("saved/") + file, before = content(name);
    std::string damaged = before;
    damaged[damaged.rfind('0') == std::string::npos ? damaged.size() - 1 : damaged.rfind('0')] ^= 1;
    ASSERT_TRUE(writeFileAtomically(name, damaged).ok());
    expectError(makeToyProgram(2, 2), next, file);
    fs::remove(name);
    expectError(makeToyProgram(2, 2), next, file);
    ASSERT_TRUE(writeFileAtomically(name, before).ok());
  }
  EXPECT_TRUE(run(makeToyProgram(2, 2), next).ok());
}

TEST_F(TrainerTest, AFailedSaveEndsTheRun) {
  TrainOptions options = makeOptions(50);
  options.save = path("saved");
  options.saving.interval = 2;
  fs::create_directory(path("saved"));
  // A folder with the name of a file that the save of step 2 writes.
  fs::create_directories(path("saved/step-0000002/model.safetensors.next"));
  const absl::Status status = run(makeToyProgram(2, 2), options);
  EXPECT_TRUE(absl::StrContains(status.message(), "step-0000002/model.safetensors.next")) << status;
  EXPECT_FALSE(exists(path("saved/step-0000002/trainer_state.json")));
}

TEST_F(TrainerTest, NoStepsSaveTheInitialModel) {
  TrainOptions options = makeOptions(0);
  options.save = path("initial");
  ASSERT_TRUE(run(makeToyProgram(1, 3), options).ok());
  auto file = *SafetensorsReader::open(path("initial/model.safetensors"));
  ASSERT_EQ(file->tensors().size(), 2u);
  EXPECT_EQ(file->find("w")->shape, (std::vector<int64_t>{8, 12}));
  EXPECT_EQ(file->metadata().at("format"), "pt");
  EXPECT_EQ(printed, "");
}

TEST_F(TrainerTest, ANanEndsTheRun) {
  TrainOptions options = makeOptions(5);
  options.save = path("save");
  options.log.metrics = path("metrics");
  absl::Status status = run(makeToyProgram(1, 1), options, /*nanAt=*/3);
  EXPECT_EQ(status.message(), "step 3: the loss is NaN");
  EXPECT_EQ(steps().size(), 2u);
  EXPECT_FALSE(fs::exists(options.save));
}

TEST_F(TrainerTest, BadOptionsAndPaths) {
  proto::Executable program = makeToyProgram(1, 1);
  auto with = [&](auto change) {
    TrainOptions options = makeOptions(1);
    change(options);
    return options;
  };
  expectError(program, with([](TrainOptions &o) { o.steps = -1; }), "--steps");
  expectError(program, with([](TrainOptions &o) { o.rate.warmupSteps = -1; }), "--warmup");
  expectError(program, with([](TrainOptions &o) { o.rate.warmupSteps = o.rate.totalSteps = 3; }),
              "--total-steps=3: expected more than --warmup=3");
  expectError(program, with([](TrainOptions &o) { o.rate.peak = NAN; }), "--lr");
  expectError(program, with([](TrainOptions &o) { o.data = "text:/nonexistent"; }),
              "/nonexistent: cannot read");
  proto::Executable still = makeToyProgram(1, 1);
  still.mutable_groups(0)->mutable_inputs()->DeleteSubrange(1, 1);
  expectError(still, with([](TrainOptions &o) { o.rate.peak = 1; }), "reads no learning rate");
  still.mutable_groups(0)->mutable_inputs()->DeleteSubrange(2, 1);
  expectError(still, with([](TrainOptions &o) { o.data = "synthetic"; }), "reads no batches");
  for (auto member : {&TrainOptions::trace, &TrainOptions::save, &TrainOptions::report})
    expectError(program, with([&](TrainOptions &o) { o.*member = "/nonexistent/x"; }),
                "/nonexistent/x: cannot");
  expectError(program, with([&](TrainOptions &o) {
                o.save = path("save");
                o.log.metrics = "/nonexistent/x";
              }),
              "/nonexistent/x: cannot write");
  EXPECT_TRUE(fs::is_empty(folder));
}

class DamagedCheckpointTest : public TrainerTest {
protected:
  void SetUp() override {
    TrainerTest::SetUp();
    TrainOptions options = makeOptions(2);
    options.save = path("c");
    ASSERT_TRUE(run(makeToyProgram(2, 1), options).ok());
  }
  void expectResumeError(absl::string_view expected,
                         const proto::Executable &program = makeToyProgram(1, 2)) {
    TrainOptions options = makeOptions(1);
    options.resume = path("c");
    expectError(program, options, expected);
  }
  void write(const std::string &name, absl::string_view text) {
    ASSERT_TRUE(writeFileAtomically(path("c/" + name), text).ok());
  }
};

TEST_F(DamagedCheckpointTest, FilesAreMissingOrCut) {
  for (std::string name : {"model.safetensors", "optimizer.safetensors", "trainer_state.json"}) {
    std::string whole = content(path("c/" + name));
    for (size_t size = 0; size + 2 < whole.size(); size += 1 + size / 8) {
      write(name, whole.substr(0, size));
      expectResumeError("c/" + name);
    }
    fs::remove(path("c/" + name));
    expectResumeError("c/" + name + ": cannot read");
    write(name, whole);
  }
  TrainOptions options = makeOptions(1);
  options.resume = path("c");
  EXPECT_TRUE(run(makeToyProgram(1, 2), options).ok());
  options.resume = path("nowhere");
  expectError(makeToyProgram(1, 2), options, "nowhere/trainer_state.json: cannot read");
}

TEST_F(DamagedCheckpointTest, BitsAreFlipped) {
  for (std::string name :
       {"model.safetensors", "optimizer.safetensors", "config.json", "trainer_state.json"}) {
    std::string whole = content(path("c/" + name));
    for (size_t byte = 0; byte < whole.size(); byte += 7) {
      std::string bad = whole;
      bad[byte] ^= 16;
      write(name, bad);
      expectResumeError("c/" + name);
    }
    write(name, whole);
  }
}

TEST_F(DamagedCheckpointTest, TheModelIsAnother) {
  proto::Executable other = makeToyProgram(1, 2);
  other.mutable_groups(0)->mutable_states(2)->mutable_global()->set_shape(0, 6);
  expectResumeError("model.safetensors: tensor \"b\" is f32[12], the model's is f32[6]", other);
  other = makeToyProgram(1, 2);
  other.mutable_groups(0)->mutable_states(2)->set_name("c");
  expectResumeError("tensor \"c\" is missing", other);
  other = makeToyProgram(1, 2);
  other.mutable_groups(0)->mutable_states()->RemoveLast();
  expectResumeError("tensor 'b' is not one of the model's", other);
}

TEST_F(DamagedCheckpointTest, TheStateIsNonsense) {
  for (absl::string_view bad :
       {"{}", "{\"format\": 1, \"step\": -1, \"examples\": 0, \"seed\": 0}",
        "{\"format\": 1, \"step\": 1.5, \"examples\": 0, \"seed\": 0}",
        "{\"format\": 1, \"step\": 1, \"examples\": 0, \"seed\": 4294967296}",
        "{\"format\": 2, \"step\": 1, \"examples\": 0, \"seed\": 0}", "[]",
        "{\"format\": \"1\"}"}) {
    write("trainer_state.json", bad);
    expectResumeError("c/trainer_state.json: ");
  }
}

TEST_F(DamagedCheckpointTest, CheckpointsAreMixed) {
  TrainOptions options = makeOptions(1);
  options.save = path("other");
  ASSERT_TRUE(run(makeToyProgram(2, 1), options).ok());
  fs::copy_file(path("other/model.safetensors"), path("c/model.safetensors"),
                fs::copy_options::overwrite_existing);
  expectResumeError("model.safetensors: tensor \"b\" is damaged");
}

} // namespace
} // namespace st
