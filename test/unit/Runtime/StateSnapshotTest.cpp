#include "lib/Runtime/State/StateSnapshot.h"
#include "ToyProgram.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

namespace st {
namespace {

class StateSnapshotTest : public testing::Test {
protected:
  void SetUp() override {
    states = *collectStates(program);
    ASSERT_TRUE(initializeStates(states, executable, 3, 1).ok());
    before = readAll();
  }

  /// Every replica of every state, from the arenas.
  std::vector<std::vector<uint8_t>> readAll() {
    std::vector<std::vector<uint8_t>> all;
    forEachReplica([&](const StateReplica &replica, int64_t bytes) {
      all.emplace_back(bytes);
      EXPECT_TRUE(
          executable.arena(replica.rank)->read(replica.offset, absl::MakeSpan(all.back())).ok());
    });
    return all;
  }

  void forEachReplica(const std::function<void(const StateReplica &, int64_t)> &body) {
    for (const StateTensor &tensor : states)
      for (const StateBlock &block : tensor.blocks)
        for (const StateReplica &replica : block.replicas)
          body(replica, block.block.numBytes());
  }

  /// Reads and releases every replica of the snapshot.
  void expectAsBefore(StateSnapshot &snapshot) {
    size_t i = 0;
    forEachReplica([&](const StateReplica &replica, int64_t bytes) {
      const uint8_t *found = snapshot.pin(replica);
      EXPECT_EQ(std::memcmp(found, before[i++].data(), bytes), 0) << replica.rank;
      snapshot.release(replica);
    });
  }

  /// A step that changes all states.
  void step() {
    for (int64_t rank = 0; rank < executable.numRanks(); ++rank) {
      const float values[] = {0.5f, 1.0f};
      const proto::Group &group = program.groups(0);
      for (int i : {1, 2}) {
        absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>(&values[i - 1]), 4);
        ASSERT_TRUE(executable.arena(rank)->write(group.inputs(i).offset(), bytes).ok());
      }
    }
    ASSERT_TRUE(executable.launchStep().wait().ok());
  }

  proto::Executable program = makeToyProgram(2, 2);
  ToyExecutable executable{program, 1 << 30};
  std::vector<StateTensor> states;
  std::vector<std::vector<uint8_t>> before;
};

TEST_F(StateSnapshotTest, CopiesWhatAnUpdateChanges) {
  auto snapshot = *StateSnapshot::take(states, executable, 1 << 20);
  EXPECT_EQ(snapshot->maxCopied(), 0);
  step();
  EXPECT_NE(readAll(), before);
  int64_t bytes = 0;
  forEachReplica([&](const StateReplica &, int64_t size) { bytes += size; });
  EXPECT_EQ(snapshot->maxCopied(), bytes);
  expectAsBefore(*snapshot);
}

TEST_F(StateSnapshotTest, CopiesOnlyWhatIsNotReadYet) {
  auto snapshot = *StateSnapshot::take(states, executable);
  expectAsBefore(*snapshot);
  step();
  EXPECT_EQ(snapshot->maxCopied(), 0);
}

TEST_F(StateSnapshotTest, UpdatesWaitWithoutMemory) {
  for (int64_t memory : {0, 100, 250}) {
    before = readAll();
    auto snapshot = *StateSnapshot::take(states, executable, memory);
    std::thread training([&] { step(); });
    expectAsBefore(*snapshot);
    training.join();
    EXPECT_LE(snapshot->maxCopied(), memory);
    EXPECT_NE(readAll(), before);
  }
}

TEST_F(StateSnapshotTest, AStoppedReaderHoldsNothingUp) {
  auto snapshot = *StateSnapshot::take(states, executable, 0);
  std::thread training([&] { step(); });
  snapshot->stop();
  training.join();
}

TEST_F(StateSnapshotTest, CopiesAllOfDevicesThatDoNotTell) {
  executable.hasUpdates = false;
  auto snapshot = *StateSnapshot::take(states, executable, 0);
  step();
  expectAsBefore(*snapshot);
}

} // namespace
} // namespace st
