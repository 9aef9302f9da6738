// Replayed time: equality with the full simulation to the picosecond, and rejected programs.
#include "SimulatorFixture.h"

#include <map>
#include <numeric>

namespace st::dtu {
namespace {

/// Copies on the dte, after which tx sends to the rank in table entry 0.
std::string senderText(int64_t copies, int64_t base) {
  return absl::StrCat(
      "program \"sender\" semaphores=4 barriers=0 l1=0 l2=65536 l3=262144 table=2 {\n",
      " stream dte first=0 count=1 {\n  loop reg=r4 limit=", copies,
      "\n  copy dst=L2[0]{4} src=L3[", base, "+4*r4]{4} sizes=[4096]\n  end\n  signal sem=0\n }\n",
      " stream tx first=0 count=1 {\n  wait sem=0\n  table dst=r5 index=0\n",
      "  send peer=r5 src=L3[0]{1} sizes=[32768] type=ui8 channel=3\n }\n}\n");
}

/// Waits for a message from the rank in table entry 1, then copies.
std::string receiverText(int64_t copies) {
  return absl::StrCat(
      "program \"receiver\" semaphores=4 barriers=0 l1=0 l2=65536 l3=262144 table=2 {\n",
      " stream rx first=0 count=1 {\n  table dst=r5 index=1\n",
      "  recv peer=r5 dst=L3[65536]{1} sizes=[32768] type=ui8 channel=3\n", "  signal sem=0\n }\n",
      " stream dte first=0 count=1 {\n  wait sem=0\n  loop reg=r4 limit=", copies,
      "\n  copy dst=L2[0]{4} src=L3[4*r4]{4} sizes=[4096]\n  end\n }\n}\n");
}

/// Receives as receiverText does, while it copies, and waits for the message between copies.
std::string lateReceiverText(int64_t before, int64_t after) {
  auto copies = [](int64_t count) {
    return absl::StrCat("  loop reg=r4 limit=", count,
                        "\n  copy dst=L2[0]{4} src=L3[4*r4]{4} sizes=[4096]\n  end\n");
  };
  return absl::StrCat(
      "program \"late\" semaphores=4 barriers=0 l1=0 l2=65536 l3=262144 table=2 {\n",
      " stream rx first=0 count=1 {\n  table dst=r5 index=1\n",
      "  recv peer=r5 dst=L3[65536]{1} sizes=[32768] type=ui8 channel=3\n", "  signal sem=0\n }\n",
      " stream dte first=0 count=1 {\n", copies(before), "  wait sem=0\n", copies(after),
      " }\n}\n");
}

/// Both of a pair send to each other and receive.
std::string exchangeText() {
  return R"(program "exchange" semaphores=4 barriers=0 l1=0 l2=65536 l3=262144 table=2 {
 stream tx first=0 count=1 {
  table dst=r4 index=0
  send peer=r4 src=L3[0]{1} sizes=[16384] type=ui8
 }
 stream rx first=0 count=1 {
  table dst=r4 index=0
  recv peer=r4 dst=L3[65536]{1} sizes=[16384] type=ui8
 }
})";
}

struct Machine {
  std::unique_ptr<Simulator> simulator;
  std::vector<RankSchedule> schedules;
};

/// Groups of `size` ranks, each rank on a separate chip. Rank r of a group sends to rank r of the
/// next one and receives from that of the previous one, or has its neighbour in the group as a
/// peer.
std::vector<RankConfig> groupsOf(int64_t groups, int64_t size, bool neighbours = false) {
  std::vector<RankConfig> ranks;
  for (int64_t i = 0; i < groups * size; ++i) {
    RankConfig config;
    config.deviceId = 5 * i;
    config.rankInGroup = i % size;
    config.arenaBytes = 262144;
    config.table = neighbours ? std::vector<int64_t>{i ^ 1, i ^ 1}
                              : std::vector<int64_t>{(i + size) % (groups * size),
                                                     (i + (groups - 1) * size) % (groups * size)};
    ranks.push_back(config);
  }
  return ranks;
}

/// The log of replayed time: all of each rank's time, a path without gaps, and each link's bytes.
void expectCompleteLog(const StepLog &log, const TimingResult &timing) {
  for (size_t rank = 0; rank < log.sums.size(); ++rank) {
    int64_t sum = 0;
    for (const StepLog::Sums &entry : log.sums[rank])
      sum = std::accumulate(entry.begin(), entry.end(), sum);
    EXPECT_EQ(sum, timing.ranks[rank].finish) << rank;
  }
  int64_t time = 0;
  for (const StepLog::Visit &visit : log.path) {
    EXPECT_EQ(visit.start, time);
    EXPECT_EQ(std::accumulate(visit.sums.begin(), visit.sums.end(), int64_t(0)),
              visit.end - visit.start);
    time = visit.end;
  }
  EXPECT_EQ(time, timing.total);
  std::map<std::string, int64_t> bytes;
  for (const StepLog::Traffic &traffic : log.traffic)
    bytes[traffic.link] += traffic.bytes;
  for (const LinkTiming &link : timing.links)
    EXPECT_EQ(bytes[link.name], link.bytes) << link.name;
}

void expectSameWork(const TimingResult &once, const TimingResult &each) {
  EXPECT_EQ(once.serialSum, each.serialSum);
  EXPECT_EQ(once.rooflineBound, each.rooflineBound);
  ASSERT_EQ(once.ranks.size(), each.ranks.size());
  for (size_t rank = 0; rank < once.ranks.size(); ++rank) {
    EXPECT_EQ(once.ranks[rank].dteBusy, each.ranks[rank].dteBusy) << rank;
    EXPECT_EQ(once.ranks[rank].l3Bytes, each.ranks[rank].l3Bytes) << rank;
    EXPECT_EQ(once.ranks[rank].l3BurstBytes, each.ranks[rank].l3BurstBytes) << rank;
    EXPECT_EQ(once.ranks[rank].messages, each.ranks[rank].messages) << rank;
    EXPECT_EQ(once.ranks[rank].sentBytes, each.ranks[rank].sentBytes) << rank;
    EXPECT_EQ(once.ranks[rank].receivedBytes, each.ranks[rank].receivedBytes) << rank;
    EXPECT_EQ(once.ranks[rank].instructions, each.ranks[rank].instructions) << rank;
  }
  ASSERT_EQ(once.links.size(), each.links.size());
  for (size_t link = 0; link < once.links.size(); ++link) {
    EXPECT_EQ(once.links[link].bytes, each.links[link].bytes) << once.links[link].name;
    EXPECT_EQ(once.links[link].busy, each.links[link].busy) << once.links[link].name;
  }
}

/// Replays the schedules and compares everything with the full simulation, including times.
TimingResult expectExact(const Machine &machine) {
  StepLog log, ofEach;
  absl::StatusOr<TimingResult> each = machine.simulator->time(machine.schedules, nullptr, &ofEach),
                               once = machine.simulator->replayTime(machine.schedules, &log);
  EXPECT_TRUE(each.ok()) << each.status();
  EXPECT_TRUE(once.ok()) << once.status();
  if (!each.ok() || !once.ok())
    return {};
  expectSameWork(*once, *each);
  expectCompleteLog(log, *once);
  expectCompleteLog(ofEach, *each);
  EXPECT_EQ(once->total, each->total);
  for (size_t rank = 0; rank < once->ranks.size(); ++rank) {
    EXPECT_EQ(once->ranks[rank].taskStart, each->ranks[rank].taskStart) << rank;
    EXPECT_EQ(once->ranks[rank].taskEnd, each->ranks[rank].taskEnd) << rank;
    EXPECT_EQ(log.sums[rank], ofEach.sums[rank]) << rank;
  }
  return *once;
}

ProgramId loadOrDie(Simulator &simulator, const std::string &text) {
  absl::StatusOr<ProgramId> id = simulator.load(parseOrDie(text));
  EXPECT_TRUE(id.ok()) << id.status();
  return id.value_or(0);
}

TEST(Replay, RanksThatExchangeInPairsAreTimedOnce) {
  Machine machine{makeSimulator(groupsOf(1, 8, /*neighbours=*/true)), {}};
  ProgramId exchange = loadOrDie(*machine.simulator, exchangeText());
  machine.schedules.assign(8, {{exchange, 0}, {exchange, 1}, {exchange, 2}});
  // Chips 2k and 2k + 1 are in one group of four, so all four pairs are alike.
  EXPECT_EQ(expectExact(machine).simulatedTasks, 2);
}

/// Sixteen ranks in four groups of chips; each sends to the rank at distance `distance`.
Machine ringOf(int64_t distance) {
  std::vector<RankConfig> ranks = groupsOf(1, 16);
  for (int64_t i = 0; i < 16; ++i)
    ranks[static_cast<size_t>(i)].table = {(i + distance) % 16, (i + 16 - distance) % 16};
  Machine machine{makeSimulator(std::move(ranks)), {}};
  ProgramId program =
      loadOrDie(*machine.simulator,
                R"(program "ring" semaphores=4 barriers=0 l1=0 l2=65536 l3=262144 table=2 {
 stream tx first=0 count=1 {
  table dst=r4 index=0
  loop reg=r5 limit=3
  send peer=r4 src=L3[0]{1} sizes=[16384] type=ui8
  end
 }
 stream rx first=0 count=1 {
  table dst=r4 index=1
  loop reg=r5 limit=3
  recv peer=r4 dst=L3[65536]{1} sizes=[16384] type=ui8
  end
 }
})");
  machine.schedules.assign(16, {{program, 0}});
  return machine;
}

/// The same, where each rank forwards what it received: most wait for a late message.
Machine passingCircle(int64_t distance) {
  Machine machine = ringOf(distance);
  ProgramId program =
      loadOrDie(*machine.simulator,
                R"(program "passing" semaphores=4 barriers=0 l1=0 l2=65536 l3=262144 table=2 {
 stream tx first=0 count=1 {
  table dst=r4 index=0
  send peer=r4 src=L3[0]{1} sizes=[16384] type=ui8
  loop reg=r5 limit=8
  wait sem=0
  send peer=r4 src=L3[0]{1} sizes=[16384] type=ui8
  end
 }
 stream rx first=0 count=1 {
  table dst=r4 index=1
  loop reg=r5 limit=9
  recv peer=r4 dst=L3[65536]{1} sizes=[16384] type=ui8
  signal sem=0
  end
 }
})");
  machine.schedules.assign(16, {{program, 0}});
  return machine;
}

/// The ranks of a group end together in the replay. Returns the number of simulated tasks.
int64_t expectSameTotal(const Machine &machine) {
  StepLog log, ofEach;
  absl::StatusOr<TimingResult> each = machine.simulator->time(machine.schedules, nullptr, &ofEach),
                               once = machine.simulator->replayTime(machine.schedules, &log);
  EXPECT_TRUE(each.ok()) << each.status();
  EXPECT_TRUE(once.ok()) << once.status();
  if (!each.ok() || !once.ok())
    return 0;
  expectSameWork(*once, *each);
  expectCompleteLog(log, *once);
  expectCompleteLog(ofEach, *each);
  EXPECT_EQ(once->total, each->total);
  return once->simulatedTasks;
}

TEST(Replay, RanksOfARingAreTimedBySegments) {
  // One group of chips represents the others.
  for (int64_t distance : {1, 3, 15})
    EXPECT_EQ(expectSameTotal(ringOf(distance)), 4) << distance;
}

TEST(Replay, ForwardedMessagesOfARingAreTimedBySegments) {
  for (int64_t distance : {1, 3, 15})
    EXPECT_GT(expectSameTotal(passingCircle(distance)), 0) << distance;
}

TEST(Replay, ARingWhoseSegmentsMeetOnALinkRunsAllRanks) {
  // A quarter of a cable's traffic comes from two groups before.
  EXPECT_EQ(expectSameTotal(ringOf(5)), 4 + 16);
}

/// Ranks of `chips` chips of one group, four a chip, pass messages on to the rank at distance
/// `distance` while it copies. In between, each sends to a rank of another group over the cable
/// that the chips share. The peers of a rank are loaded before each message.
Machine chipsOf(int64_t chips, int64_t distance) {
  const int64_t count = 4 * chips;
  std::vector<RankConfig> ranks;
  for (int64_t i = 0; i < 2 * count; ++i) {
    const int64_t own = i % count, first = i - own;
    RankConfig config;
    config.deviceId = 5 * (4 * (i / count) + own / 4) + own % 4;
    config.rankInGroup = own;
    config.arenaBytes = 262144;
    config.table = {first + (own + distance) % count, first + (own + count - distance) % count,
                    (i + count) % (2 * count)};
    ranks.push_back(config);
  }
  Machine machine{makeSimulator(std::move(ranks)), {}};
  ProgramId passing = loadOrDie(
                *machine.simulator,
                R"(program "passing" semaphores=4 barriers=0 l1=0 l2=65536 l3=262144 table=3 {
 stream dte first=0 count=2 {
  loop reg=r4 limit=300
  copy dst=L2[0]{4} src=L3[4*r4]{4} sizes=[4096]
  end
  signal sem=1
 }
 stream tx first=0 count=1 {
  loop reg=r5 limit=3
  loop reg=r6 limit=5
  table dst=r4 index=0
  send peer=r4 src=L3[0]{1} sizes=[16384] type=ui8
  wait sem=0
  end
  table dst=r4 index=2
  send peer=r4 src=L3[0]{1} sizes=[32768] type=ui8 channel=3
  end
  wait sem=1 count=2
  table dst=r4 index=2
  send peer=r4 src=L3[0]{1} sizes=[32768] type=ui8 channel=3
 }
 stream rx first=0 count=1 {
  loop reg=r5 limit=15
  table dst=r4 index=1
  recv peer=r4 dst=L3[65536]{1} sizes=[16384] type=ui8
  signal sem=0
  end
 }
})"),
            receiving = loadOrDie(
                *machine.simulator,
                R"(program "receiving" semaphores=0 barriers=0 l1=0 l2=0 l3=262144 table=3 {
 stream rx first=0 count=1 {
  loop reg=r5 limit=4
  table dst=r4 index=2
  recv peer=r4 dst=L3[65536]{1} sizes=[32768] type=ui8 channel=3
  end
 }
})");
  machine.schedules.assign(static_cast<size_t>(2 * count), {{receiving, 0}});
  std::fill_n(machine.schedules.begin(), count, RankSchedule{{passing, 0}});
  return machine;
}

TEST(Replay, ChipsOfAGroupDoTheSameUntilTheyShareTheCable) {
  for (int64_t chips : {2, 4})
    for (int64_t distance : {1, 2, 4, 5}) {
      const Machine machine = chipsOf(chips, distance);
      // With a log, the ranks of all chips run from the start.
      StepLog log;
      absl::StatusOr<TimingResult> each = machine.simulator->time(machine.schedules, nullptr),
                                   all = machine.simulator->replayTime(machine.schedules, &log),
                                   once = machine.simulator->replayTime(machine.schedules);
      ASSERT_TRUE(each.ok()) << each.status();
      ASSERT_TRUE(all.ok()) << all.status();
      ASSERT_TRUE(once.ok()) << once.status();
      expectSameWork(*once, *each);
      EXPECT_EQ(once->total, all->total);
      for (size_t rank = 0; rank < once->ranks.size(); ++rank) {
        EXPECT_EQ(once->ranks[rank].taskEnd, all->ranks[rank].taskEnd)
            << chips << " chips, distance " << distance << ", rank " << rank;
        EXPECT_EQ(once->ranks[rank].txBusy, all->ranks[rank].txBusy) << rank;
        EXPECT_EQ(once->ranks[rank].rxBusy, all->ranks[rank].rxBusy) << rank;
      }
      EXPECT_LT(once->simulatedInstructions, all->simulatedInstructions);
    }
}

TEST(Replay, RanksSendWhileOthersOfTheirGroupWait) {
  // In each group a rank waits for a rank of the other group that sends later.
  std::vector<RankConfig> ranks = groupsOf(2, 2);
  for (size_t i = 0; i < 4; ++i) {
    const bool sends = i == 1 || i == 2;
    ranks[i].table = {static_cast<int64_t>(i ^ 2), sends, !sends};
  }
  Machine machine{makeSimulator(std::move(ranks)), {}};
  ProgramId program =
      loadOrDie(*machine.simulator,
                R"(program "across" semaphores=4 barriers=0 l1=0 l2=65536 l3=262144 table=3 {
 stream dte first=0 count=1 {
  loop reg=r4 limit=20
  copy dst=L2[0]{4} src=L3[4*r4]{4} sizes=[4096]
  end
  signal sem=0
 }
 stream tx first=0 count=1 {
  wait sem=0
  table dst=r4 index=0
  table dst=r5 index=1
  loop reg=r6 limit=1*r5
  send peer=r4 src=L3[0]{1} sizes=[16384] type=ui8
  end
 }
 stream rx first=0 count=1 {
  table dst=r4 index=0
  table dst=r5 index=2
  loop reg=r6 limit=1*r5
  recv peer=r4 dst=L3[65536]{1} sizes=[16384] type=ui8
  end
 }
})");
  machine.schedules.assign(4, {{program, 0}});
  StepLog log, ofEach;
  absl::StatusOr<TimingResult> each = machine.simulator->time(machine.schedules, nullptr, &ofEach),
                               once = machine.simulator->replayTime(machine.schedules, &log);
  ASSERT_TRUE(each.ok()) << each.status();
  ASSERT_TRUE(once.ok()) << once.status();
  expectSameWork(*once, *each);
  expectCompleteLog(log, *once);
  expectCompleteLog(ofEach, *each);
  EXPECT_GE(once->total, each->total);
}

TEST(Replay, APipelineWaitsForItsMessages) {
  for (int64_t copies : {1, 40}) {
    Machine machine{makeSimulator(groupsOf(2, 1)), {}};
    ProgramId send = loadOrDie(*machine.simulator, senderText(20, 0));
    ProgramId receive = loadOrDie(*machine.simulator, receiverText(copies));
    machine.schedules = {{{send, 0}, {send, 1}, {send, 2}},
                         {{receive, 0}, {receive, 1}, {receive, 2}}};
    EXPECT_EQ(expectExact(machine).simulatedTasks, 2) << copies;
  }
}

TEST(Replay, AGroupContinuesTogether) {
  // Three ranks send over one cable: the replay waits for the last message before it releases any
  // receiver, which takes no longer in total.
  Machine machine{makeSimulator(groupsOf(2, 3)), {}};
  ProgramId send = loadOrDie(*machine.simulator, senderText(20, 0));
  ProgramId receive = loadOrDie(*machine.simulator, receiverText(1));
  machine.schedules.assign(3, {{send, 0}, {send, 1}, {send, 2}, {send, 3}});
  machine.schedules.resize(6, {{receive, 0}, {receive, 1}, {receive, 2}, {receive, 3}});
  StepLog log, ofEach;
  absl::StatusOr<TimingResult> each = machine.simulator->time(machine.schedules, nullptr, &ofEach),
                               once = machine.simulator->replayTime(machine.schedules, &log);
  ASSERT_TRUE(each.ok() && once.ok()) << once.status();
  expectSameWork(*once, *each);
  expectCompleteLog(log, *once);
  expectCompleteLog(ofEach, *each);
  EXPECT_EQ(once->total, each->total);
}

// A task that waits for its message continues from the time at which it needs the message, not from
// the time at which it begins to receive.
TEST(Replay, ATaskNeedsAMessageLaterThanItReceives) {
  for (int64_t before : {0, 60}) {
    Machine machine{makeSimulator(groupsOf(2, 1)), {}};
    ProgramId send = loadOrDie(*machine.simulator, senderText(200, 0));
    ProgramId receive = loadOrDie(*machine.simulator, lateReceiverText(before, 20));
    machine.schedules = {{{send, 0}}, {{receive, 0}}};
    auto sender = machine.simulator->timeTasks(0, 1, {{send, 0}}),
         receiver = machine.simulator->timeTasks(1, 1, {{receive, 0}});
    ASSERT_TRUE(sender.ok() && receiver.ok());
    const LoneTask::Message &message = sender->front().messages.front();
    const LoneTask &task = receiver->front();
    EXPECT_EQ(sender->front().need, 0) << "it receives nothing";
    EXPECT_LT(task.need, task.duration);
    if (before > 0)
      EXPECT_GT(task.need, task.messages.front().time);
    ASSERT_GT(message.time + message.underway, task.duration);
    absl::StatusOr<TimingResult> step = machine.simulator->time(machine.schedules);
    ASSERT_TRUE(step.ok()) << step.status();
    EXPECT_EQ(step->ranks[1].finish, message.time + message.underway + task.duration - task.need)
        << before;
  }
}

TEST(Replay, ProgramsThatDifferInPlaceAreOne) {
  Machine machine{makeSimulator(groupsOf(2, 1)), {}};
  ProgramId a = loadOrDie(*machine.simulator, senderText(7, 0));
  ProgramId b = loadOrDie(*machine.simulator, senderText(7, 128));
  machine.schedules = {{{a, 0}}, {{b, 0}}};
  EXPECT_EQ(expectExact(machine).simulatedTasks, 1);
}

/// A program of one instruction.
std::string oneText(const std::string &engine, const std::string &instruction) {
  return absl::StrCat("program \"one\" semaphores=0 barriers=0 l1=65536 l2=65536 l3=262144 ",
                      "table=0 {\n stream ", engine, " first=0 count=1 {\n  ", instruction,
                      "\n }\n}\n");
}

TEST(Replay, StridesThatCostTimeAreTimedApart) {
  auto tasksOf = [](const std::string &engine, const std::string &one, const std::string &other) {
    Machine machine{makeSimulator(groupsOf(2, 1)), {}};
    ProgramId a = loadOrDie(*machine.simulator, oneText(engine, one));
    ProgramId b = loadOrDie(*machine.simulator, oneText(engine, other));
    machine.schedules = {{{a, 0}}, {{b, 0}}};
    return expectExact(machine).simulatedTasks;
  };
  const std::string row = "copy dst=L2[0]{4} src=L3[0]{4} sizes=[1024]",
                    column = "copy dst=L2[0]{4} src=L3[0]{256} sizes=[1024]",
                    spread = "copy dst=L2[0]{64} src=L3[0]{4} sizes=[1024]",
                    neg = "vector op=neg dst=f32:L1[0]{0,1} rows=1 cols=64 a=f32:L1[8192]{0,";
  EXPECT_EQ(tasksOf("dte", row, column), 2);
  EXPECT_EQ(tasksOf("dte", row, spread), 1); // L2 moves bytes
  EXPECT_EQ(tasksOf("core", neg + "1}", neg + "32}"), 2);
  EXPECT_EQ(tasksOf("core", neg + "3}", neg + "33}"), 1); // no conflicts with either
}

/// A slot of a stash, in a register that is then a loop's counter.
std::string slotText(int64_t slots, int64_t copies) {
  return absl::StrCat(
      "program \"slot\" semaphores=1 barriers=0 l1=0 l2=65536 l3=262144 table=0 {\n",
      " stream dte first=0 count=1 {\n  index dst=r4 value=1*r2 modulo=", slots, " multiply=64\n",
      "  copy dst=L2[0]{4} src=L3[1*r4]{4} sizes=[4096]\n", "  index dst=r4 value=", copies,
      "\n  loop reg=r5 limit=1*r4\n",
      "  copy dst=L2[0]{4} src=L3[4*r5]{4} sizes=[4096]\n  end\n }\n}\n");
}

TEST(Replay, ValuesThatOnlyMakeAddressesDoNotCount) {
  for (bool equal : {true, false}) {
    Machine machine{makeSimulator(groupsOf(2, 1)), {}};
    ProgramId a = loadOrDie(*machine.simulator, slotText(3, 5));
    ProgramId b = loadOrDie(*machine.simulator, slotText(2, equal ? 5 : 6));
    machine.schedules = {{{a, 0}, {a, 1}}, {{b, 0}, {b, 1}}};
    EXPECT_EQ(expectExact(machine).simulatedTasks, equal ? 1 : 2);
  }
}

TEST(Replay, SizesThatFollowFromTheRankAreTimedApart) {
  Machine machine{makeSimulator(groupsOf(1, 4)), {}};
  // Rank r copies (r + 1) * (micro-batch + 1) tiles.
  ProgramId program =
      loadOrDie(*machine.simulator,
                R"(program "ragged" semaphores=1 barriers=0 l1=0 l2=65536 l3=262144 table=0 {
 stream dte first=0 count=1 {
  loop reg=r4 limit=1+1*r3
  loop reg=r5 limit=1+1*r2
  copy dst=L2[0]{4} src=L3[0]{4} sizes=[1024]
  end
  end
 }
})");
  machine.schedules.assign(4, {{program, 0}, {program, 1}});
  StepLog log, ofEach;
  absl::StatusOr<TimingResult> each = machine.simulator->time(machine.schedules, nullptr, &ofEach),
                               once = machine.simulator->replayTime(machine.schedules, &log);
  ASSERT_TRUE(each.ok() && once.ok()) << once.status();
  expectSameWork(*once, *each);
  expectCompleteLog(log, *once);
  expectCompleteLog(ofEach, *each);
  EXPECT_EQ(once->total, each->total);
  EXPECT_EQ(once->simulatedTasks, 8);
}

TEST(Replay, AMessageThatNeverComesIsADeadlock) {
  Machine machine{makeSimulator(groupsOf(2, 1)), {}};
  ProgramId receive = loadOrDie(*machine.simulator, receiverText(1));
  machine.schedules = {{}, {{receive, 0}}};
  absl::StatusOr<TimingResult> once = machine.simulator->replayTime(machine.schedules);
  ASSERT_FALSE(once.ok());
  EXPECT_EQ(once.status().message(),
            "deadlock in replayed time: rank 1 waits for a message from rank 0");
}

TEST(Replay, TimeThatDependsOnDataIsRefused) {
  Machine machine{makeSimulator(groupsOf(1, 1)), {}};
  ProgramId loads = loadOrDie(*machine.simulator,
                              R"(program "loads" semaphores=1 barriers=0 l1=0 l2=0 l3=64 table=0 {
 stream dte first=0 count=1 {
  load dst=r4 address=L3[0] type=i32
 }
})");
  machine.schedules = {{{loads, 0}}};
  absl::StatusOr<TimingResult> once = machine.simulator->replayTime(machine.schedules);
  ASSERT_FALSE(once.ok());
  EXPECT_EQ(once.status().message(),
            "the time of program 'loads' depends on data; its tasks cannot "
            "be timed once for all");
}

} // namespace
} // namespace st::dtu
