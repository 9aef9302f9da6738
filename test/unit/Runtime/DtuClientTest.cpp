// Whole runs of a hand-assembled program on simulated clusters, through the
// client and, as a training binary, through the runner.
#include "lib/Runtime/Program/Payload.h"
#include "lib/Runtime/Program/ValidateExecutable.h"
#include "lib/Runtime/Training/Trainer.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backends/dtu/isa/Binary.h"
#include "backends/dtu/isa/Text.h"
#include "lib/Runtime/Json.h"
#include "lib/Runtime/State/NormalInit.h"
#include "lib/Support/Files.h"
#include "lib/Support/Safetensors.h"
#include "lib/Timing/DtuDescription.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

namespace st {
namespace {

namespace fs = std::filesystem;

// Gradient descent on half the sum of squares of w; each of two ranks holds four elements. The loss
// is all-reduced: each sends its part (at 320) and adds the other's to its own (at 256).
constexpr char kStep[] = R"(
program "step" semaphores=4 barriers=0 l1=1024 l2=0 l3=384 table=1 {
  stream dte first=0 count=1 {
    copy dst=L1[0]{4} src=L3[0]{4} sizes=[4]
    copy dst=L1[64]{4} src=L3[128]{4} sizes=[1]
    signal sem=0
    wait sem=1
    copy dst=L3[0]{4} src=L1[256]{4} sizes=[4]
    copy dst=L3[256]{4} src=L1[192]{4} sizes=[1]
    copy dst=L3[320]{4} src=L1[192]{4} sizes=[1]
    signal sem=2
    signal sem=3
  }
  stream core first=0 count=1 {
    name "descend"
    label 0
    wait sem=0
    vector op=mul dst=f32:L1[128]{4,1} a=f32:L1[0]{4,1} b=f32:L1[0]{4,1} rows=1 cols=4
    vector op=row_sum dst=f32:L1[192]{1,0} a=f32:L1[128]{4,1} rows=1 cols=4
    vector op=mul dst=f32:L1[256]{4,1} a=f32:L1[0]{4,1} b=f32:L1[64]{0,0} rows=1 cols=4
    vector op=sub dst=f32:L1[256]{4,1} a=f32:L1[0]{4,1} b=f32:L1[256]{4,1} rows=1 cols=4
    signal sem=1
  }
  stream tx first=0 count=1 {
    table dst=r4
    wait sem=2
    send peer=r4 src=L3[320]{4} sizes=[1]
  }
  stream rx first=0 count=1 {
    table dst=r4
    wait sem=3
    recv peer=r4 dst=L3[256]{4} sizes=[1] reduce=sum
  }
}
)";

proto::Executable makeProgram() {
  proto::Executable program;
  program.set_format_version(kExecutableFormatVersion);
  program.set_target("dtu");
  *program.mutable_dtu() = *builtinDtuDescription("dtu-t10");
  program.set_micro_batches(1);
  program.mutable_optimizer()->set_learning_rate(0.25);
  proto::Group &group = *program.add_groups();
  group.set_name("group0");
  group.add_stages(0);
  group.set_arena_bytes(384);
  group.set_table_size(1);
  for (int64_t rank : {0, 1}) {
    group.add_device_ids(rank);
    group.add_rank_tables(1 - rank);
  }
  absl::StatusOr<dtu::Program> step = dtu::parseProgram(kStep);
  EXPECT_TRUE(step.ok()) << step.status();
  group.add_tasks()->set_program(dtu::encode(*step));
  group.add_schedule();

  proto::State &w = *group.add_states();
  w.set_name("w");
  w.set_role("parameter");
  w.mutable_global()->set_element(proto::F32);
  w.mutable_global()->add_shape(8);
  w.mutable_slice()->add_counts(2);
  w.mutable_slice()->add_parts(0);
  w.mutable_slice()->add_parts(1);
  w.mutable_init()->set_kind(proto::Initializer::NORMAL);
  w.mutable_init()->set_stddev(1);
  proto::Input &rate = *group.add_inputs();
  rate.set_name("learning_rate");
  rate.set_role("scalar");
  rate.mutable_global()->set_element(proto::F32);
  rate.set_micro_dim(-1);
  rate.set_offset(128);
  proto::Output &loss = *group.add_outputs();
  loss.set_name("loss");
  loss.set_role("loss");
  loss.mutable_global()->set_element(proto::F32);
  loss.set_offset(256);
  return program;
}

class DtuClientTest : public testing::Test {
protected:
  void SetUp() override {
    const testing::TestInfo *info = testing::UnitTest::GetInstance()->current_test_info();
    folder = absl::StrCat(testing::TempDir(), "/dtu-", info->name());
    fs::remove_all(folder);
    fs::create_directory(folder);
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string path(const std::string &name) const { return absl::StrCat(folder, "/", name); }

  absl::Status run(const proto::Executable &program, const TrainOptions &options,
                   const ClientOptions &clientOptions = {}) {
    std::unique_ptr<Client> client = createDtuClient(clientOptions);
    std::unique_ptr<Communicator> communicator = createInProcessCommunicator();
    std::FILE *null = std::fopen("/dev/null", "w");
    absl::Status status = train(program, *client, *communicator, options, null, null);
    std::fclose(null);
    return status;
  }

  std::string folder;
};

TEST_F(DtuClientTest, TrainsAsByHand) {
  TrainOptions options;
  options.steps = 3;
  options.seed = 11;
  options.log.metrics = path("metrics");
  options.save = path("save");
  options.report = path("report");
  absl::Status status = run(makeProgram(), options);
  ASSERT_TRUE(status.ok()) << status;

  std::vector<float> w(8);
  fillNormal({11, 0}, 0, 1, w.data(), 8);
  std::vector<std::string> lines = absl::StrSplit(*readFile(options.log.metrics, 1 << 20), '\n');
  for (int step = 0; step < 3; ++step) {
    double loss = 0;
    for (float &value : w) {
      loss += static_cast<double>(value) * value;
      value -= value * 0.25f;
    }
    auto fields = *parseJsonObject(lines[step], "metrics");
    EXPECT_NEAR(findField(fields, "loss")->number_value(), loss, 1e-5 * loss);
    EXPECT_GT(findField(fields, "sim_ms")->number_value(), 0);
  }
  auto file = *SafetensorsReader::open(path("save/model.safetensors"));
  EXPECT_EQ(std::memcmp(file->find("w")->data.data(), w.data(), 32), 0);
  auto report = *parseJsonObject(*readFile(options.report, 1 << 20), "report");
  EXPECT_EQ(findField(report, "messages")->number_value(), 2);
  EXPECT_LE(findField(report, "roofline_ms")->number_value(),
            findField(report, "sim_ms")->number_value());
}

TEST_F(DtuClientTest, TimingOnlyTakesNoData) {
  TrainOptions options;
  options.timingOnly = true;
  options.trace = path("trace");
  ClientOptions client;
  client.timingOnly = true;
  ASSERT_TRUE(run(makeProgram(), options, client).ok());
  std::string trace = *readFile(options.trace, 1 << 20);
  EXPECT_TRUE(absl::StrContains(trace, "rank 1 /device:XLA_DTU:1"));
  EXPECT_TRUE(absl::StrContains(trace, "\"descend\""));
}

TEST_F(DtuClientTest, ALostMessageIsAnError) {
  for (int64_t message : {0, 1}) {
    ClientOptions client;
    client.dropMessage = message;
    EXPECT_FALSE(run(makeProgram(), TrainOptions(), client).ok());
  }
  ClientOptions client;
  client.dropMessage = 2;
  EXPECT_EQ(run(makeProgram(), TrainOptions(), client).message(),
            "there is no message 2 to drop: a step sends 2");
}

TEST_F(DtuClientTest, BadProgramsAreErrors) {
  auto expectError = [&](auto spoil) {
    proto::Executable program = makeProgram();
    spoil(program, *program.mutable_groups(0));
    if (validateExecutable(program).ok()) {
      EXPECT_FALSE(run(program, TrainOptions()).ok());
    }
  };
  using Program = proto::Executable;
  using Group = proto::Group;
  expectError([](Program &, Group &g) { g.mutable_tasks(0)->set_program("nonsense"); });
  expectError([](Program &, Group &g) { g.mutable_tasks(0)->mutable_program()->pop_back(); });
  expectError([](Program &, Group &g) { g.set_device_ids(0, 4); }); // no cluster
  expectError([](Program &, Group &g) { g.set_device_ids(0, -7); });
  expectError([](Program &, Group &g) { g.set_arena_bytes(320); });   // the program uses more
  expectError([](Program &, Group &g) { g.set_rank_tables(0, 99); }); // no such peer
  expectError([](Program &p, Group &) { p.mutable_dtu()->Clear(); });
  expectError([](Program &p, Group &) { p.mutable_dtu()->set_cores_per_cluster(0); });
}

// The runner is next to this test's binary.
class RunnerTest : public DtuClientTest {
protected:
  void SetUp() override {
    DtuClientTest::SetUp();
    std::string runner = fs::read_symlink("/proc/self/exe").parent_path() / "st-runner";
    ASSERT_TRUE(writeTrainingBinary(runner, path("toy"), makeProgram().SerializeAsString()).ok());
  }

  // The exit code; `out` and `err` get what it printed.
  int runBinary(const std::string &flags) {
    const std::string command =
        absl::StrCat(path("toy"), " ", flags, " >", path("out"), " 2>", path("err"));
    const int code = std::system(command.c_str());
    out = *readFile(path("out"), 1 << 20);
    err = *readFile(path("err"), 1 << 20);
    return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
  }
  void expectError(const std::string &flags, absl::string_view expected) {
    EXPECT_EQ(runBinary(flags), 1) << flags;
    EXPECT_TRUE(absl::StrContains(err, absl::StrCat("toy: error: ", expected))) << err;
  }

  std::string out, err;
};

TEST_F(RunnerTest, Trains) {
  ASSERT_EQ(runBinary("--steps=2 --lr 0.5 --seed=1 --timing-only=false"), 0) << err;
  EXPECT_TRUE(absl::StartsWith(out, "step 1  loss "));
  EXPECT_TRUE(absl::StrContains(out, "\nstep 2  loss "));
  EXPECT_TRUE(absl::StrContains(out, "avg_step_fps simulated "));
  ASSERT_EQ(runBinary("--timing-only"), 0) << err;
  EXPECT_TRUE(absl::StartsWith(out, "avg_step_fps simulated "));
}

TEST_F(RunnerTest, HelpListsItsOwnFlags) {
  ASSERT_EQ(runBinary("--help"), 0);
  for (const char *flag : {"--steps", "--host-isa", "--total-steps", "--drop-message",
                           "(also --max-steps, --train-iters)"})
    EXPECT_TRUE(absl::StrContains(out, flag)) << out;
  for (const char *flag : {"flagfile", "undefok", "stderr", "host_isa"})
    EXPECT_FALSE(absl::StrContains(out, flag)) << out;
  EXPECT_EQ(err, "");
}

TEST_F(RunnerTest, BadFlagsAreOneLine) {
  expectError("--fly", "unknown flag --fly; --help lists the flags\n");
  expectError("--flagfile=x", "unknown flag --flagfile");
  expectError("--total_stepz=3", "unknown flag --total_stepz; did you mean --total-steps?\n");
  expectError("--save-total-limits=3",
              "unknown flag --save-total-limits; did you mean --save-total-limit?\n");
  expectError("--steps=many", "--steps=many: expected an integer below 9223372036854775808\n");
  expectError("--steps", "--steps needs a value\n");
  expectError("file", "unexpected argument \"file\"\n");
  expectError("--host-isa=z80", "");
  expectError("--host-threads=-1", "--host-threads=-1: expected 0 to 1024\n");
}

TEST_F(RunnerTest, DamagedBinariesAreOneLine) {
  const std::string good = *readFile(path("toy"), 1 << 30);
  auto write = [&](const std::string &content) {
    ASSERT_TRUE(writeFileAtomically(path("toy"), content, 0755).ok());
  };
  write(good.substr(0, good.size() - 1));
  expectError("", absl::StrCat(fs::canonical(path("toy")).string(), ": no training program"));
  std::string flipped = good;
  flipped[good.size() - 100] ^= 1;
  write(flipped);
  expectError("", absl::StrCat(fs::canonical(path("toy")).string(),
                               ": damaged training binary: the training program does not match"));
  proto::Executable other = makeProgram();
  other.set_target("abacus");
  write(
      appendPayload(*readFile(fs::canonical("/proc/self/exe").parent_path() / "st-runner", 1 << 30),
                    other.SerializeAsString()));
  expectError("", "this runner has no target \"abacus\"\n");
}

} // namespace
} // namespace st
