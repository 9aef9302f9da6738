// Several ranks: collectives written as sends and receives, the same bits for any number of host
// threads, and reported deadlocks.
#include "SimulatorFixture.h"

#include <random>
#include <set>

namespace st::dtu {
namespace {

/// Ring all-reduce of ranks * chunk floats: reduce-scatter, then all-gather. The
/// rank table holds the neighbours and, a step each, the chunks to send and receive.
Program ringAllReduce(int64_t ranks, int64_t chunk) {
  int64_t bytes = chunk * 4;
  auto phase = [&](const char *what, const char *field, const std::string &reduce, int64_t table) {
    return absl::StrCat("    loop reg=r5 limit=", ranks - 1, "\n      table dst=r6 index=", table,
                        "+1*r5\n      ", what, " peer=r4 ", field, "=L3[", bytes, "*r6]{4} sizes=[",
                        chunk, "]", reduce, "\n");
  };
  return parseOrDie(absl::StrCat(
      "program \"ring\" semaphores=1 barriers=0 l1=0 l2=0 l3=", ranks * bytes, " table=",
      2 + 4 * (ranks - 1), " {\n  stream tx first=0 count=1 {\n    table dst=r4 index=0\n",
      "    signal\n", // the first chunk is there already
      "    loop reg=r5 limit=", 2 * (ranks - 1), "\n      wait\n      table dst=r6 index=2+1*r5\n",
      "      send peer=r4 src=L3[", bytes, "*r6]{4} sizes=[", chunk, "]\n    end\n  }\n",
      "  stream rx first=0 count=1 {\n    table dst=r4 index=1\n",
      phase("recv", "dst", " reduce=sum", 2 + 2 * (ranks - 1)), "      signal\n    end\n",
      phase("recv", "dst", "", 2 + 3 * (ranks - 1)), "      signal\n    end\n  }\n}\n"));
}

std::vector<RankConfig> ringRanks(int64_t ranks, int64_t bytes) {
  std::vector<RankConfig> configs = rankConfigs(ranks, bytes);
  for (int64_t r = 0; r < ranks; ++r) {
    std::vector<int64_t> &table = configs[r].table;
    table = {(r + 1) % ranks, (r + ranks - 1) % ranks};
    for (int64_t step = 0; step < 2 * (ranks - 1); ++step)
      table.push_back((r - step + 2 * ranks) % ranks); // sent
    for (int64_t step = 0; step < 2 * (ranks - 1); ++step)
      table.push_back((r - step - 1 + 2 * ranks) % ranks); // received
  }
  return configs;
}

struct RingRun {
  absl::Status status;
  std::vector<std::vector<float>> memory;
};

RingRun runRing(int64_t ranks, int64_t chunk, SimulatorOptions options, int times = 1) {
  RingRun run;
  auto simulator = makeSimulator(ringRanks(ranks, ranks * chunk * 4), options);
  absl::StatusOr<ProgramId> id = simulator->load(ringAllReduce(ranks, chunk));
  EXPECT_TRUE(id.ok()) << id.status();
  std::mt19937 random(11);
  for (int64_t r = 0; r < ranks; ++r) {
    float *data = reinterpret_cast<float *>(simulator->memory(r));
    for (int64_t i = 0; i < ranks * chunk; ++i)
      data[i] = std::uniform_real_distribution<float>(-1, 1)(random);
  }
  std::vector<RankSchedule> schedules(ranks, RankSchedule(times, TaskRun{*id, 0}));
  run.status = simulator->execute(schedules);
  for (int64_t r = 0; r < ranks; ++r) {
    float *data = reinterpret_cast<float *>(simulator->memory(r));
    run.memory.emplace_back(data, data + ranks * chunk);
  }
  return run;
}

TEST(Network, RingAllReduceSumsOnEveryRank) {
  constexpr int64_t ranks = 8, chunk = 100;
  std::vector<double> expected(ranks * chunk, 0);
  std::mt19937 random(11);
  for (int64_t r = 0; r < ranks; ++r)
    for (double &sum : expected)
      sum += std::uniform_real_distribution<float>(-1, 1)(random);
  RingRun run = runRing(ranks, chunk, {});
  ASSERT_TRUE(run.status.ok()) << run.status;
  for (int64_t r = 0; r < ranks; ++r)
    for (int64_t i = 0; i < ranks * chunk; ++i)
      ASSERT_NEAR(run.memory[r][i], expected[i], 1e-5);
}

TEST(Network, AnyNumberOfHostThreadsGivesTheSameBits) {
  SimulatorOptions one, two, many;
  one.hostThreads = 1;
  two.hostThreads = 2;
  many.hostThreads = 16;
  RingRun reference = runRing(16, 333, one, 5);
  ASSERT_TRUE(reference.status.ok()) << reference.status;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(runRing(16, 333, two, 5).memory, reference.memory);
    EXPECT_EQ(runRing(16, 333, many, 5).memory, reference.memory);
  }
}

TEST(Network, EveryLostMessageIsNoticed) {
  constexpr int64_t ranks = 4, chunk = 8;
  RingRun reference = runRing(ranks, chunk, {});
  for (int64_t source = 0; source < ranks; ++source)
    for (int64_t index = 0; index < 2 * (ranks - 1); ++index) {
      SimulatorOptions options;
      options.dropMessages = {{source, index}};
      RingRun run = runRing(ranks, chunk, options);
      EXPECT_TRUE(!run.status.ok() || run.memory != reference.memory);
    }
}

TEST(Network, ADeadlockNamesWhatEachRankWaitsFor) {
  SimulatorOptions options;
  options.dropMessages = {{0, 0}};
  RingRun run = runRing(2, 4, options);
  std::string message(run.status.message());
  EXPECT_EQ(message, "deadlock: 1 of 2 ranks wait forever; "
                     "rank 1 in program 'ring' (entry 0 of its schedule): rx 0 at instruction 8 "
                     "waits for a message from rank 0 on channel 0");
}

TEST(Network, MessagesMustFitAndBeReceived) {
  auto run = [](const char *rank0, const char *rank1) {
    auto simulator = makeSimulator(rankConfigs(2, 64));
    std::vector<RankSchedule> schedules;
    for (const char *text : {rank0, rank1}) {
      absl::StatusOr<ProgramId> id = simulator->load(parseOrDie(absl::StrCat(
          "program \"p\" semaphores=0 barriers=0 l1=0 l2=0 l3=64 table=0 {\n", text, "\n}\n")));
      EXPECT_TRUE(id.ok()) << id.status();
      schedules.push_back({{*id, 0}});
    }
    return std::string(simulator->execute(schedules).message());
  };
  const char *send = "stream tx first=0 count=1 {\n index dst=r4 value=1\n"
                     " send peer=r4 src=L3[0]{4} sizes=[4]\n}";
  EXPECT_EQ(run(send, ""), "rank 1 never received 1 messages from rank 0 on channel 0");
  EXPECT_NE(run(send, "stream rx first=0 count=1 {\n recv dst=L3[0]{4} sizes=[5]\n}")
                .find("message of 16 bytes from rank 0, but the receive expects 20"),
            std::string::npos);
}

TEST(Network, BarriersAndSemaphoresOrderTheEnginesOfACluster) {
  // A counter in L3 goes through the L1 of each core in turn; each adds 1.
  Program program =
      parseOrDie(R"(program "chain" semaphores=25 barriers=1 l1=64 l2=0 l3=64 table=0 {
  stream dte first=0 count=8 {
    wait sem=1*r1
    copy dst=L1[0;1*r1]{4} src=L3[0]{4} sizes=[1]
    signal sem=9+1*r1
    wait sem=17+1*r1
    copy dst=L3[0]{4} src=L1[0;1*r1]{4} sizes=[1]
    signal sem=1+1*r1
    barrier participants=16
  }
  stream core first=0 count=8 {
    wait sem=9+1*r1
    vector op=fill dst=f32:L1[4]{0,1} rows=1 cols=1 value=0x3f800000
    vector op=add dst=f32:L1[0]{0,1} a=f32:L1[0]{0,1} b=f32:L1[4]{0,1} rows=1 cols=1
    signal sem=17+1*r1
    barrier participants=16
  }
  stream tx first=0 count=1 {
    signal
  }
})");
  std::vector<float> memory(16, 5.0f);
  ASSERT_TRUE(runOn(program, memory).ok());
  EXPECT_EQ(memory[0], 13.0f);
}

TEST(Network, ShuffledRunsShowAMissingSemaphore) {
  auto results = [](const char *sync) {
    // A core doubles what a copy brings; without the wait it may be early.
    std::string text =
        absl::StrCat(R"(program "race" semaphores=2 barriers=0 l1=8 l2=0 l3=64 table=0 {
  stream dte first=0 count=1 {
    fill dst=L1[0]{4} sizes=[1] value=0x3f800000
    copy dst=L1[0]{4} src=L3[0]{4} sizes=[1]
    signal
    wait sem=1
    copy dst=L3[0]{4} src=L1[0]{4} sizes=[1]
  }
  stream core first=0 count=1 {
    )",
                     sync, R"(
    vector op=add dst=f32:L1[0]{0,1} a=f32:L1[0]{0,1} b=f32:L1[0]{0,1} rows=1 cols=1
    signal sem=1
  }
})");
    std::set<float> seen;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      std::vector<float> memory(16, 5.0f);
      SimulatorOptions options;
      options.shuffleSeed = seed;
      EXPECT_TRUE(runOn(parseOrDie(text), memory, options).ok());
      seen.insert(memory[0]);
    }
    return seen;
  };
  EXPECT_EQ(results("wait"), std::set<float>({10.0f}));
  EXPECT_GT(results("").size(), 1u);
  SimulatorOptions shuffled;
  shuffled.shuffleSeed = 9;
  EXPECT_EQ(runRing(8, 50, shuffled).memory, runRing(8, 50, {}).memory);
}

TEST(Network, SizesOfRanksAreChecked) {
  proto::DtuDescription t10 = *builtinDtuDescription("dtu-t10");
  std::vector<RankConfig> ranks = rankConfigs(1, int64_t(5) << 30);
  EXPECT_EQ(Simulator::create(t10, ranks).status().message(),
            "rank 0 needs 5368709120 bytes of device memory on device 0, but a cluster of "
            "dtu-t10 has 4294967296");
  ranks = rankConfigs(2, int64_t(3) << 30);
  ranks[1].deviceId = 0;
  EXPECT_FALSE(Simulator::create(t10, ranks).ok());
  ranks[1].deviceId = 4;
  EXPECT_EQ(Simulator::create(t10, ranks).status().message(),
            "device id 4 names no cluster: chip 0 of dtu-t10 has clusters 0 to 3");
}

} // namespace
} // namespace st::dtu
