#include "lib/Runtime/State/States.h"
#include "ToyProgram.h"
#include "lib/Runtime/Parallel.h"
#include "lib/Runtime/State/NormalInit.h"
#include "lib/Runtime/State/ParameterNorm.h"
#include "lib/Runtime/State/StateRows.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <optional>

namespace st {
namespace {

// The complete w, from the blocks of all ranks.
std::vector<float> gatherW(const proto::Executable &program, ToyExecutable &executable) {
  std::vector<float> global(96, NAN);
  const proto::State &state = program.groups(0).states(0);
  for (int64_t rank = 0; rank < executable.numRanks(); ++rank) {
    auto *arena = static_cast<ToyBuffer *>(executable.arena(rank));
    const float *local = arena->at<float>(state.offset());
    forEachRun(blockOf(state.global(), state.slice(), rank),
               [&](int64_t to, int64_t from, int64_t count) {
                 std::copy_n(local + from, count, global.begin() + to);
               });
  }
  return global;
}

std::vector<float> initialW(int64_t rows, int64_t columns, uint32_t seed, int threads,
                            std::optional<int64_t> zeroRow = std::nullopt) {
  proto::Executable program = makeToyProgram(rows, columns);
  if (zeroRow)
    program.mutable_groups(0)->mutable_states(0)->mutable_init()->set_zero_row(*zeroRow);
  ToyExecutable executable(program, 0);
  EXPECT_TRUE(initializeStates(*collectStates(program), executable, seed, threads).ok());
  auto *arena = static_cast<ToyBuffer *>(executable.arena(executable.numRanks() - 1));
  EXPECT_EQ(*arena->at<float>(program.groups(0).states(2).offset() + 44), 1.0f);
  return gatherW(program, executable);
}

TEST(StatesTest, InitialValuesDependOnSeedAlone) {
  std::vector<float> full = initialW(1, 1, 5, 1);
  for (auto [rows, columns] : {std::pair{2, 1}, {1, 4}, {4, 3}, {8, 12}})
    EXPECT_EQ(initialW(rows, columns, 5, 3), full) << rows << "x" << columns;
  EXPECT_NE(initialW(1, 1, 6, 1), full);
  std::vector<float> expected(96);
  fillNormal({5, 0}, 0, 0.02f, expected.data(), 96);
  EXPECT_EQ(full, expected);
}

TEST(StatesTest, OneRowStartsAsZero) {
  std::vector<float> expected = initialW(1, 1, 5, 1);
  std::fill_n(expected.begin() + 3 * 12, 12, 0.0f);
  for (auto [rows, columns] : {std::pair{1, 1}, {2, 1}, {1, 4}, {4, 3}})
    EXPECT_EQ(initialW(rows, columns, 5, 2, 3), expected) << rows << "x" << columns;
}

TEST(StatesTest, TheNormOfParametersCountsEachElementOnce) {
  double expected = 12; // of b, which is all ones
  for (float value : initialW(1, 1, 5, 1))
    expected += static_cast<double>(value) * value;
  for (auto [rows, columns] : {std::pair{1, 1}, {2, 1}, {4, 3}}) {
    proto::Executable program = makeToyProgram(rows, columns);
    ToyExecutable executable(program, 0);
    const std::vector<StateTensor> states = *collectStates(program);
    ASSERT_TRUE(initializeStates(states, executable, 5, 1).ok());
    EXPECT_DOUBLE_EQ(*parameterNorm(states, executable), std::sqrt(expected));
  }
}

TEST(StatesTest, MissingPartsAreAnError) {
  proto::Executable program = makeToyProgram(2, 1);
  program.mutable_groups(0)->mutable_states(0)->mutable_slice()->set_parts(2, 0);
  EXPECT_EQ(collectStates(program).status().message(),
            "invalid training program: no ranks together hold all of state \"w\"");
}

TEST(StatesTest, ReplicasShareABlock) {
  proto::Executable program = makeToyProgram(2, 3);
  std::vector<StateTensor> states = *collectStates(program);
  ASSERT_EQ(states.size(), 3u);
  EXPECT_EQ(states[0].state->name(), "b");
  ASSERT_EQ(states[0].blocks.size(), 1u);
  EXPECT_EQ(states[0].blocks[0].replicas.size(), 6u);
  EXPECT_EQ(states[1].blocks.size(), 6u);
}

TEST(StatesTest, NamedRowsAreTensors) {
  const std::vector<float> full = initialW(1, 1, 5, 1);
  for (auto [rows, columns] : {std::pair{1, 1}, {2, 1}, {1, 4}, {4, 3}}) {
    proto::Executable program = makeToyProgram(rows, columns);
    proto::State &state = *program.mutable_groups(0)->mutable_states(0);
    state.set_name("w.*.up");
    state.set_has_named_rows(true);
    ToyExecutable executable(program, 0);
    const std::vector<StateTensor> states = splitNamedRows(*collectStates(program));
    ASSERT_TRUE(initializeStates(states, executable, 5, 2).ok());
    EXPECT_EQ(gatherW(program, executable), full) << rows << "x" << columns;
    int64_t count = 0;
    for (const StateTensor &tensor : states) {
      if (tensor.state->name() != "w." + std::to_string(count) + ".up")
        continue;
      EXPECT_EQ(tensor.shape, std::vector<int64_t>{12});
      const std::vector<uint8_t> bytes = *readState(tensor, executable);
      EXPECT_EQ(std::memcmp(bytes.data(), full.data() + 12 * count, 48), 0);
      ++count;
    }
    EXPECT_EQ(count, 8);
  }
}

TEST(NormalInitTest, MomentsAndTails) {
  constexpr int64_t kCount = 1 << 22;
  std::vector<float> values(kCount);
  fillNormal({1, 2}, 0, 1, values.data(), kCount);
  double sums[5] = {};
  double largest = 0;
  for (float value : values) {
    double power = 1;
    for (double &sum : sums) {
      sum += power;
      power *= value;
    }
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  // Five standard errors of each moment of four million normal numbers.
  EXPECT_NEAR(sums[1] / kCount, 0, 5 * std::sqrt(1.0 / kCount));
  EXPECT_NEAR(sums[2] / kCount, 1, 5 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(sums[3] / kCount, 0, 5 * std::sqrt(15.0 / kCount));
  EXPECT_NEAR(sums[4] / kCount, 3, 5 * std::sqrt(96.0 / kCount));
  EXPECT_GT(largest, 4.5);
  EXPECT_LT(largest, 5.8);
}

TEST(NormalInitTest, IsBoxMuller) {
  for (uint64_t i : {uint64_t{0}, uint64_t{1}, uint64_t{12345}, (uint64_t{1} << 33) + 7}) {
    float value;
    fillNormal({3, 4}, i, 2, &value, 1);
    ThreefryPair bits =
        threefry2x32({3, 4}, {static_cast<uint32_t>(i >> 32), static_cast<uint32_t>(i)});
    double u = ((bits.x0 >> 9) + 0.5) / (1 << 23), t = (bits.x1 >> 8) / 16777216.0;
    EXPECT_NEAR(value, 2 * std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * t), 4e-6);
  }
}

TEST(NormalInitTest, PiecesEqualTheFullTensor) {
  std::vector<float> full(1000), pieces(1000);
  const uint64_t first = (uint64_t{1} << 32) - 300;
  fillNormal({9, 9}, first, 1, full.data(), 1000);
  for (int64_t begin = 0, size = 1; begin < 1000; begin += size, size = size * 3 % 50 + 1)
    fillNormal({9, 9}, first + begin, 1, pieces.data() + begin,
               std::min<int64_t>(size, 1000 - begin));
  EXPECT_EQ(full, pieces);
}

TEST(ParallelTest, EachIndexOnce) {
  for (int threads : {1, 2, 7}) {
    std::vector<std::atomic<int>> counts(100);
    EXPECT_TRUE(parallelFor(threads, 100, [&](int64_t i) { ++counts[i]; }).ok());
    for (std::atomic<int> &count : counts)
      EXPECT_EQ(count, 1);
    EXPECT_TRUE(parallelFor(threads, 0, [&](int64_t) { FAIL(); }).ok());
  }
}

} // namespace
} // namespace st
