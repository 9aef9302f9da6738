// Waits of ranks for a GPU, and error messages of commands.
#include "backends/cuda/runtime/commands/Backoff.h"
#include "backends/cuda/runtime/commands/CommandText.h"
#include "backends/cuda/runtime/commands/GraphUse.h"
#include "backends/cuda/runtime/trial/OneByOne.h"

#include "gtest/gtest.h"

namespace st::cuda {
namespace {

/// Number of queries of a GPU within this many microseconds of pauses.
int64_t countQuestions(int64_t sharers, int64_t microseconds) {
  Backoff backoff(sharers);
  int64_t asked = 0;
  for (std::chrono::microseconds paused{0}; paused.count() < microseconds; ++asked)
    paused += backoff.next();
  return asked;
}

TEST(Backoff, ASingleWaiterAsksAgainAtOnce) {
  EXPECT_EQ(countQuestions(1, 1000000), 50000 * Backoff::kAloneAtOnce);
}

TEST(Backoff, SeveralAskLessAndLess) {
  EXPECT_LT(countQuestions(8, 100), 8 + 10);
  EXPECT_LT(countQuestions(8, 10000), 100);
  EXPECT_LT(countQuestions(8, 1000000), 1100);
}

TEST(Backoff, NobodySleepsForLongerThanAnEighthOfItsWait) {
  Backoff backoff(2);
  std::chrono::microseconds paused{0};
  for (int i = 0; i < 2000; ++i) {
    const std::chrono::microseconds pause = backoff.next();
    EXPECT_LE(pause, std::max(paused / 8, Backoff::kMin));
    EXPECT_LE(pause, Backoff::kMax);
    paused += pause;
  }
}

TEST(OneByOne, TheFirstFailureIsToldByAll) {
  OneByOne commands;
  commands.begin();
  const absl::Status first = absl::UnavailableError("kernel a"),
                     second = absl::UnavailableError("b");
  EXPECT_TRUE(commands.run(false, [] { return absl::OkStatus(); }).ok());
  EXPECT_EQ(commands.run(false, [&] { return first; }), first);
  EXPECT_EQ(commands.run(true, [&] { return second; }), first);
  bool wasRun = false;
  EXPECT_EQ(commands.run(false,
                         [&] {
                           wasRun = true;
                           return absl::OkStatus();
                         }),
            first);
  EXPECT_FALSE(wasRun);
  commands.begin();
  EXPECT_EQ(commands.run(true, [&] { return second; }), second);
}

TEST(GraphUse, SaysOnceHowManyCannotBeMade) {
  GraphUse graphs;
  graphs.count(absl::OkStatus(), "of 3 commands");
  EXPECT_EQ(graphs.takeReport(), "");
  graphs.count(absl::UnavailableError("no memory"), "of 4 commands");
  graphs.count(absl::UnavailableError("too late"), "of 5 commands");
  EXPECT_EQ(graphs.takeReport(),
            "graphs: 2 of 3 cannot be captured, so their commands are launched one by "
            "one; the first, of 4 commands: no memory");
  EXPECT_EQ(graphs.takeReport(), "");
}

TEST(CommandText, NamesPlacesOfARankAndAMicroBatch) {
  proto::CudaKernel kernel;
  kernel.set_name("loop_7");
  kernel.set_blocks(3);
  kernel.set_threads(256);
  kernel.add_argument_bytes(128);
  kernel.add_argument_bytes(64);
  proto::CudaCommand command;
  command.mutable_launch()->set_kernel(0);
  proto::CudaPlace &first = *command.mutable_launch()->add_arguments();
  first.set_offset(1000);
  first.set_slots(2);
  first.set_stride(128);
  proto::CudaPlace &second = *command.mutable_launch()->add_arguments();
  second.set_offset(16);
  second.set_slots(1);
  second.set_scratch(true);
  second.set_position(1);
  second.set_position_stride(64);
  const int64_t table[] = {0, 5};
  const CommandContext context{{&kernel, 1}, table, /*microBatch=*/3};
  EXPECT_EQ(labelOf(command, context), "loop_7");
  EXPECT_EQ(describe(command, context),
            "kernel loop_7 (3 blocks of 256 threads; arguments: arena + "
            "1128 of 128 bytes, scratch + 336 of 64 bytes)");
}

} // namespace
} // namespace st::cuda
