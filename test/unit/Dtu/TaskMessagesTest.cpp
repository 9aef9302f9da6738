// The messages of a task for each rank: peers that follow from the rank's number and its table.
#include "SimulatorFixture.h"

#include "backends/dtu/simulator/replay/TaskMessages.h"

namespace st::dtu {
namespace {

/// Sends to three members of a ring from the rank's own position on, and receives from the rank
/// four places later. The table holds the position and the four members.
const char *const kRing =
    R"(program "ring" semaphores=1 barriers=0 l1=0 l2=0 l3=65536 table=5 {
 stream tx first=0 count=1 {
  table dst=r4 index=0
  loop reg=r5 limit=3
  index dst=r6 value=1*r4+1*r5 modulo=4
  table dst=r7 index=1+1*r6
  send peer=r7 src=L3[0]{1} sizes=[1024] type=ui8
  wait sem=0
  end
 }
 stream rx first=0 count=1 {
  index dst=r8 value=4+1*r3
  recv peer=r8 dst=L3[32768]{1} sizes=[512] type=ui8 channel=3
 }
})";

std::unique_ptr<DecodedProgram> decodeText(const std::string &text) {
  return decodeProgram(parseOrDie(text), hostKernels(HostIsa::Baseline));
}

RankConfig rankOf(int64_t number, std::vector<int64_t> table) {
  RankConfig config;
  config.rankInGroup = number;
  config.table = std::move(table);
  return config;
}

TEST(TaskMessages, PeersFollowFromTheRank) {
  const std::unique_ptr<DecodedProgram> program = decodeText(kRing);
  MessageScripts scripts;
  std::vector<TaskMessages> ofRank;
  for (int64_t rank = 0; rank < 4; ++rank) {
    absl::StatusOr<TaskMessages> found =
        scripts.messagesOf(*program, rankOf(rank, {rank, 10, 11, 12, 13}), /*microBatch=*/0);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->peers, (std::vector<int64_t>{10 + rank, 10 + (rank + 1) % 4,
                                                  10 + (rank + 2) % 4, 4 + rank}));
    EXPECT_EQ(found->channels, (std::vector<int64_t>{0, 3}));
    ofRank.push_back(*std::move(found));
  }
  const MessageScript &script = *ofRank[0].script;
  ASSERT_EQ(script.steps.size(), 7u);
  EXPECT_EQ(script.txSteps, 6u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(script.steps[2 * i], (MessageScript::Step{Opcode::Send, uint32_t(i), 0, 1024}));
    EXPECT_EQ(script.steps[2 * i + 1].opcode, Opcode::Wait);
  }
  EXPECT_EQ(script.steps[6], (MessageScript::Step{Opcode::Recv, 3, 1, 512}));
  for (const TaskMessages &messages : ofRank)
    EXPECT_EQ(messages.script, ofRank[0].script);
}

TEST(TaskMessages, EqualPeersHaveOneNumber) {
  const std::unique_ptr<DecodedProgram> program = decodeText(kRing);
  MessageScripts scripts;
  absl::StatusOr<TaskMessages> apart = scripts.messagesOf(*program, rankOf(0, {0, 7, 8, 9, 7}), 0),
                               equal = scripts.messagesOf(*program, rankOf(1, {3, 7, 8, 9, 7}), 0);
  ASSERT_TRUE(apart.ok()) << apart.status();
  ASSERT_TRUE(equal.ok()) << equal.status();
  EXPECT_EQ(apart->peers, (std::vector<int64_t>{7, 8, 9, 4}));
  EXPECT_EQ(equal->peers, (std::vector<int64_t>{7, 8, 5})); // members 3, 0 and 1
  EXPECT_NE(apart->script, equal->script);
  EXPECT_EQ(equal->script->steps[2].peer, 0u);
  EXPECT_EQ(equal->script->steps[4].peer, 1u);
  ASSERT_EQ(equal->script->sent.size(), 2u);
  EXPECT_EQ(equal->script->sent[0].count, 2);
}

TEST(TaskMessages, CountsFromTheTableAreReadForEachRank) {
  const std::unique_ptr<DecodedProgram> program =
      decodeText(R"(program "count" semaphores=0 barriers=0 l1=0 l2=0 l3=65536 table=2 {
 stream tx first=0 count=1 {
  table dst=r4 index=0
  table dst=r5 index=1
  loop reg=r6 limit=1*r5
  send peer=r4 src=L3[0]{1} sizes=[1024] type=ui8
  end
 }
})");
  MessageScripts scripts;
  for (int64_t count : {0, 1, 3}) {
    absl::StatusOr<TaskMessages> found =
        scripts.messagesOf(*program, rankOf(0, {6, count}), /*microBatch=*/0);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->script->steps.size(), static_cast<size_t>(count));
  }
}

TEST(TaskMessages, AnEntryBeyondTheTableIsAnError) {
  const std::unique_ptr<DecodedProgram> program = decodeText(kRing);
  MessageScripts scripts;
  EXPECT_TRUE(scripts.messagesOf(*program, rankOf(0, {0, 1, 2, 3, 4}), 0).ok());
  absl::StatusOr<TaskMessages> found = scripts.messagesOf(*program, rankOf(3, {3, 1, 2, 3}), 0);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().message(), "entry 4 of a rank table with 4 entries");
}

} // namespace
} // namespace st::dtu
