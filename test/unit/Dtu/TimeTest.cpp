// Simulated time: hand-computed durations, contention, bounds, determinism, and the effect of each
// figure of the description.
#include "SimulatorFixture.h"

#include "lib/Timing/DtuCosts.h"

#include "absl/strings/match.h"

#include <cmath>
#include <functional>

namespace st::dtu {
namespace {

constexpr int64_t kLaunch = 5000000, kSync = 50000, kDteLatency = 200000; // picoseconds, T10

using Change = std::function<void(proto::DtuDescription &)>;

absl::StatusOr<TimingResult> timeOf(const Program &program, int64_t ranks = 1,
                                    const Change &change = nullptr, Trace *trace = nullptr,
                                    std::vector<RankConfig> configs = {}, int tasks = 1) {
  proto::DtuDescription description = *builtinDtuDescription("dtu-t10");
  if (change)
    change(description);
  if (configs.empty())
    configs = rankConfigs(ranks, program.l3Bytes, program.hostBytes);
  auto simulator = Simulator::create(description, configs);
  if (!simulator.ok())
    return simulator.status();
  absl::StatusOr<ProgramId> id = (*simulator)->load(program);
  if (!id.ok())
    return id.status();
  std::vector<RankSchedule> schedules(configs.size(), RankSchedule(tasks, TaskRun{*id, 0}));
  return (*simulator)->time(schedules, trace);
}

int64_t totalOf(const Program &program, const Change &change = nullptr) {
  absl::StatusOr<TimingResult> result = timeOf(program, 1, change);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->total : 0;
}

/// Tiles of a matrix product through L1 on each core, double-buffered.
Program pipelineProgram(int64_t tiles) {
  return parseOrDie(
      absl::StrCat(R"(program "pipeline" semaphores=32 barriers=0 l1=131072 l2=0 l3=)",
                   tiles * 8 * 32768, R"( table=0 {
  stream dte first=0 count=8 {
    name "load"
    label 0
    signal sem=8+1*r1 count=2
    loop reg=r4 limit=)",
                   tiles, R"(
      index dst=r5 value=1*r4 modulo=2 multiply=32768
      wait sem=8+1*r1
      copy dst=L1[1*r5;1*r1]{4} src=L3[)",
                   32768 * 8, R"(*r4+32768*r1]{4} sizes=[8192]
      signal sem=1*r1
    end
  }
  stream core first=0 count=8 {
    name "multiply"
    label 0
    loop reg=r4 limit=)",
                   tiles, R"(
      index dst=r5 value=1*r4 modulo=2 multiply=32768
      wait sem=1*r1
      matmul c=L1[65536] a=L1[1*r5] b=L1[1*r5] m=64 n=64 k=64 ldc=64 lda=64 ldb=64 accumulate_if=r4
      signal sem=8+1*r1
    end
  }
})"));
}

Program exchangeProgram(int64_t bytes) {
  return parseOrDie(
      absl::StrCat("program \"exchange\" semaphores=0 barriers=0 l1=0 l2=0 l3=", 2 * bytes,
                   " table=1 {\n stream tx first=0 count=1 {\n  table dst=r4 index=0\n",
                   "  send peer=r4 src=L3[0]{1} sizes=[", bytes, "] type=ui8\n }\n",
                   " stream rx first=0 count=1 {\n  table dst=r4 index=0\n",
                   "  recv peer=r4 dst=L3[", bytes, "]{1} sizes=[", bytes, "] type=ui8\n }\n}\n"));
}

std::vector<RankConfig> pair(int64_t deviceA, int64_t deviceB, int64_t bytes) {
  std::vector<RankConfig> configs = rankConfigs(2, bytes);
  configs[0].deviceId = deviceA;
  configs[1].deviceId = deviceB;
  configs[0].table = {1};
  configs[1].table = {0};
  return configs;
}

TEST(Time, AnEmptyTaskCostsItsLaunch) {
  EXPECT_EQ(totalOf(streamProgram("core", "", 64)), kLaunch);
}

TEST(Time, ACopyTakesItsSlowestPart) {
  // 64 KiB at the engine's 78.08 GB/s; L3, L2 and L1 are faster.
  DtuCosts costs(*builtinDtuDescription("dtu-t10"));
  std::string text = "copy dst=L2[0]{4} src=L3[0]{4} sizes=[16384]";
  EXPECT_EQ(totalOf(streamProgram("dte", text, 65536)),
            kLaunch + kDteLatency + costs.dteBytes(65536));
  EXPECT_EQ(costs.dteBytes(65536), 839345);
  // A broadcast reads its source once, and takes the same time on the writing side.
  text = "copy dst=L2[0]{4} src=L3[0]{0} sizes=[16384]";
  absl::StatusOr<TimingResult> result = timeOf(streamProgram("dte", text, 65536));
  EXPECT_EQ(result->ranks[0].l3Bytes, 4);
  EXPECT_EQ(result->ranks[0].l2Bytes, 65536);
}

/// A copy of a mebibyte to the host, and one from it on another queue.
Program hostProgram(bool hasOut, bool hasIn) {
  std::string text =
      "program \"host\" semaphores=0 barriers=0 l1=0 l2=0 l3=2097152 host=2097152 table=0 {\n";
  if (hasOut)
    text += "stream dte first=8 count=1 {\ncopy dst=host[0]{1} src=L3[0]{1} sizes=[1048576] to=ui8 "
            "from=ui8\n}\n";
  if (hasIn)
    text += "stream dte first=9 count=1 {\ncopy dst=L3[1048576]{1} src=host[1048576]{1} "
            "sizes=[1048576] to=ui8 "
            "from=ui8\n}\n";
  return parseOrDie(text + "}\n");
}

TEST(Time, AChipsClustersShareItsLinkToTheHostEachWay) {
  constexpr int64_t kHostLatency = 1000000, bytes = 1 << 20;
  DtuCosts costs(*builtinDtuDescription("dtu-t10"));
  const int64_t one = costs.hostBytes(bytes), ends = kLaunch + kDteLatency + kHostLatency;
  EXPECT_EQ(one, 33288127); // at 31.5 GB/s
  EXPECT_EQ(totalOf(hostProgram(true, false)), ends + one);
  EXPECT_EQ(totalOf(hostProgram(true, true)), ends + one);
  absl::StatusOr<TimingResult> four = timeOf(hostProgram(true, false), 4);
  EXPECT_EQ(four->total, ends + 4 * one);
  EXPECT_EQ(four->rooflineBound, costs.hostBytes(4 * bytes));
  EXPECT_EQ(four->ranks[3].toHostBytes, bytes);
  EXPECT_EQ(four->ranks[3].fromHostBytes, 0);
  ASSERT_EQ(four->links.size(), 1);
  EXPECT_EQ(four->links[0].name, "chip 0 -> host");
  EXPECT_EQ(four->links[0].bytes, 4 * bytes);
  // The fifth rank is on a separate chip.
  EXPECT_EQ(timeOf(hostProgram(true, true), 5)->total, ends + 4 * one);
}

TEST(Time, SignalsAndBarriersCostSync) {
  EXPECT_EQ(totalOf(streamProgram("core", "signal\nwait", 64)), kLaunch + kSync);
  EXPECT_EQ(totalOf(streamProgram("core", "barrier\nbarrier id=1", 64)), kLaunch + 2 * kSync);
}

/// Cores wait for semaphore 0. Each does so after `delays` signals of its own, and takes `counts`;
/// core `busy` then takes five more. A queue gives `given`, from the fourth signal on.
Program waitersProgram(const std::vector<int> &delays, const std::vector<int> &counts, int busy,
                       const std::vector<int> &given) {
  const std::string idle = "signal sem=1\n";
  std::string text = R"(program "p" semaphores=2 barriers=0 l1=0 l2=0 l3=64 table=0 {)";
  for (size_t core = 0; core < delays.size(); ++core) {
    absl::StrAppend(&text, "\nstream core first=", core, " count=1 {\n");
    for (int i = 0; i < delays[core]; ++i)
      text += idle;
    absl::StrAppend(&text, "wait count=", counts[core], "\n");
    for (int i = 0; i < 5 && static_cast<int>(core) == busy; ++i)
      text += idle;
    text += "}";
  }
  absl::StrAppend(&text, "\nstream dte first=0 count=1 {\n", idle, idle, idle);
  for (int count : given)
    absl::StrAppend(&text, "signal count=", count, "\n");
  return parseOrDie(text + "}\n}\n");
}

TEST(Time, SemaphoresLetGoInTheOrderOfWaiting) {
  // Core 2 waits first and takes the first signals.
  EXPECT_EQ(totalOf(waitersProgram({2, 1, 0}, {1, 1, 1}, 2, {1, 1, 1})), kLaunch + 9 * kSync);
  EXPECT_EQ(totalOf(waitersProgram({2, 1, 0}, {1, 1, 1}, 1, {1, 1, 1})), kLaunch + 10 * kSync);
  EXPECT_EQ(totalOf(waitersProgram({2, 1, 0}, {1, 1, 1}, 0, {1, 1, 1})), kLaunch + 11 * kSync);
}

TEST(Time, SemaphoresLetGoThoseBehindOneWhoWantsMore) {
  // The signals for core 0 have not arrived when core 1 takes its part.
  EXPECT_EQ(totalOf(waitersProgram({0, 1}, {3, 1}, 1, {2, 2})), kLaunch + 9 * kSync);
  // Core 1 arrives with the second signal or before it, and takes its part of the first at once.
  EXPECT_EQ(totalOf(waitersProgram({0, 5}, {3, 1}, 0, {2, 1, 1})), kLaunch + 11 * kSync);
}

TEST(Time, TilesTakeWhatTheCostModelSays) {
  DtuCosts costs(*builtinDtuDescription("dtu-t10"));
  std::string matmul = "matmul c=L1[0] a=L1[16384] b=L1[32768] m=60 n=64 k=64 ldc=64 lda=64 ldb=64";
  EXPECT_EQ(totalOf(streamProgram("core", matmul, 64)), kLaunch + costs.matmul(60, 64, 64, false));
  std::string exp = "vector op=exp dst=f32:L1[0]{64,1} a=f32:L1[0]{64,1} rows=16 cols=64";
  EXPECT_EQ(totalOf(streamProgram("core", exp, 64)),
            kLaunch + costs.vector(16, 64, 4, true, BankSteps::ofDense(64, 4)));
}

TEST(Time, ConflictsOfBanksCostWhatTheWorstOperandDoes) {
  DtuCosts costs(*builtinDtuDescription("dtu-t10"));
  auto cycles = [&](const std::string &vector) {
    const int64_t time = totalOf(streamProgram("core", vector, 64)) - kLaunch;
    return std::llround(static_cast<double>(time) / costs.cycle) - 16;
  };
  // Four vectors with words in one bank, in all banks, and in some.
  for (auto [stride, each] :
       {std::pair{64, 32}, {32, 32}, {33, 1}, {1, 1}, {0, 1}, {2, 2}, {12, 4}})
    EXPECT_EQ(cycles(absl::StrCat("vector op=add dst=f32:L1[0]{0,1} a=f32:L1[0]{0,1} ",
                                  "b=f32:L1[4096]{0,", stride, "} rows=1 cols=128")),
              4 * each)
        << stride;
  // A tile of few columns is processed along its rows if their distance is an odd number of words.
  const std::string narrow = " rows=64 cols=8";
  EXPECT_EQ(cycles("vector op=neg dst=f32:L1[0]{8,1} a=f32:L1[0]{8,1}" + narrow), 64);
  EXPECT_EQ(cycles("vector op=neg dst=f32:L1[0]{9,1} a=f32:L1[0]{9,1}" + narrow), 16);
  // The sum of the rows is one word, whatever the distance of its columns.
  EXPECT_EQ(cycles("vector op=row_sum dst=f32:L1[0]{1,32} a=f32:L1[4096]{32,1} rows=4 cols=32"), 4);
  // Slow ops read the next operands meanwhile.
  EXPECT_EQ(cycles("vector op=exp dst=f32:L1[0]{0,1} a=f32:L1[4096]{0,4} rows=1 cols=64"), 16);
}

TEST(Time, DeviceMemoryMovesWholeBursts) {
  DtuCosts costs(*builtinDtuDescription("dtu-t10"));
  struct Case {
    std::string side;
    int64_t bytes, occupied;
  };
  for (const Case &c :
       {Case{"L3[0]{4} sizes=[8192]", 32768, 32768},        // one row
        Case{"L3[0]{256} sizes=[1024]", 4096, 32768},       // a column: a burst an element
        Case{"L3[0]{12} sizes=[1024]", 4096, 12288},        // neighbours share bursts
        Case{"L3[0]{4,256} sizes=[64,128]", 32768, 32768},  // transposed: all is read
        Case{"L3[0]{256,4} sizes=[128,9]", 4608, 128 * 64}, // rows of a burst and a bit
        Case{"L3[0]{40,4} sizes=[100,9]", 3600, 4000},      // rows nearly side by side
        Case{"L3[0]{0,4} sizes=[100,9]", 36, 64}}) {        // the same row again
    absl::StatusOr<TimingResult> result = timeOf(
        streamProgram("dte",
                      absl::StrCat("copy dst=L2[0]{", absl::StrContains(c.side, ",") ? "36,4" : "4",
                                   "} src=", c.side),
                      262144));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->ranks[0].l3Bytes, c.bytes) << c.side;
    EXPECT_EQ(result->ranks[0].l3BurstBytes, c.occupied) << c.side;
    EXPECT_EQ(result->total, kLaunch + kDteLatency +
                                 std::max({costs.l3Bytes(c.occupied), costs.dteBytes(c.bytes),
                                           costs.dteBytes(result->ranks[0].l2Bytes)}))
        << c.side;
    EXPECT_LE(result->rooflineBound, result->total);
  }
  // Selected rows share none; another burst size changes the expected figures.
  const std::string gather = "gather dst=L2[0] table=L3[0] index=L2[4096] dst_stride=40 "
                             "table_stride=40 count=50 elements=10 rows=64";
  EXPECT_EQ(timeOf(streamProgram("dte", gather, 4096))->ranks[0].l3BurstBytes, 50 * 64);
  auto wide = [](auto &d) { d.mutable_l3_burst_bytes()->set_value(128); };
  EXPECT_EQ(timeOf(streamProgram("dte", gather, 4096), 1, wide)->ranks[0].l3BurstBytes, 50 * 128);
}

TEST(Time, CopiesShareTheMemory) {
  // Ten engines of 78 GB/s need more than the 512 GB/s of L3.
  Program program =
      parseOrDie(R"(program "p" semaphores=0 barriers=0 l1=0 l2=2621440 l3=2621440 table=0 {
  stream dte first=0 count=10 {
    copy dst=L2[262144*r1]{4} src=L3[262144*r1]{4} sizes=[65536]
  }
})");
  DtuCosts costs(*builtinDtuDescription("dtu-t10"));
  absl::StatusOr<TimingResult> result = timeOf(program);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->total, kLaunch + kDteLatency + 10 * costs.l3Bytes(262144));
  EXPECT_EQ(result->rooflineBound, costs.l3Bytes(2621440));
  // Four clusters of a chip share it too; a cluster of another chip does not.
  std::vector<RankConfig> configs = rankConfigs(5, program.l3Bytes);
  EXPECT_EQ(timeOf(program, 5, nullptr, nullptr, configs)->total,
            kLaunch + kDteLatency + 40 * costs.l3Bytes(262144));
  EXPECT_EQ(timeOf(program, 5)->ranks[4].finish, result->total);
}

TEST(Time, DoubleBufferingHidesWhatIsShorter) {
  Program program = pipelineProgram(50);
  absl::StatusOr<TimingResult> result = timeOf(program);
  ASSERT_TRUE(result.ok()) << result.status();
  int64_t perTile = result->ranks[0].matrixBusy / 8 / 50;
  EXPECT_GT(result->total, 50 * perTile);
  EXPECT_LT(result->total, kLaunch + 52 * (perTile + 3 * kSync + 700000));
  EXPECT_LE(result->rooflineBound, result->total);
  EXPECT_LE(result->total, result->serialSum);
  EXPECT_EQ(result->ranks[0].macsF32, 50 * 8 * 64 * 64 * 64);
}

TEST(Time, MessagesTakeTheirPath) {
  // On one chip, between chips of a group, between groups.
  struct Case {
    int64_t device, latency;
    double gbytes;
  };
  constexpr int64_t bytes = 1000000;
  DtuCosts costs(*builtinDtuDescription("dtu-t10"));
  for (Case c : {Case{1, 300000, 128}, Case{5, 800000, 25}, Case{20, 1500000, 25}}) {
    Program program = exchangeProgram(bytes);
    absl::StatusOr<TimingResult> result =
        timeOf(program, 2, nullptr, nullptr, pair(0, c.device, 2 * bytes));
    ASSERT_TRUE(result.ok()) << result.status();
    int64_t moving = DtuCosts::scale(bytes, 1000 / c.gbytes);
    // The receiver writes the message at the rate of an engine.
    EXPECT_EQ(result->total, kLaunch + moving + c.latency + costs.dteBytes(bytes) + kSync);
    EXPECT_EQ(result->ranks[0].sentBytes, bytes);
    EXPECT_EQ(result->ranks[1].peakLandingBytes, bytes);
    EXPECT_LE(result->total, result->serialSum);
  }
}

TEST(Time, MessagesQueueOnAPort) {
  // Two clusters of chip 0 send to chip 1: the pair of chips has one link each way.
  constexpr int64_t bytes = 1000000;
  Program program = exchangeProgram(bytes);
  std::vector<RankConfig> configs = rankConfigs(4, 2 * bytes);
  for (int64_t i = 0; i < 4; ++i) {
    configs[i].deviceId = i < 2 ? i : 3 + i;
    configs[i].table = {(i + 2) % 4};
  }
  absl::StatusOr<TimingResult> one = timeOf(program, 2, nullptr, nullptr, pair(0, 5, 2 * bytes));
  absl::StatusOr<TimingResult> two = timeOf(program, 4, nullptr, nullptr, configs);
  EXPECT_EQ(two->total - one->total, DtuCosts::scale(bytes, 40.0));
  bool found = false;
  for (const LinkTiming &link : two->links)
    if (link.name == "chip 0 -> chip 1") {
      found = true;
      EXPECT_EQ(link.bytes, 2 * bytes);
    }
  EXPECT_TRUE(found);
}

TEST(Time, RanksOnOneDeviceShareItsEngines) {
  Program program =
      streamProgram("core",
                    "loop reg=r4 limit=100\n matmul c=L1[0] a=L1[16384] b=L1[32768] m=64 n=64 k=64 "
                    "ldc=64 lda=64 ldb=64\nend",
                    64);
  std::vector<RankConfig> configs = rankConfigs(2, 64);
  int64_t apart = timeOf(program, 2, nullptr, nullptr, configs)->total;
  configs[1].deviceId = 0;
  int64_t together = timeOf(program, 2, nullptr, nullptr, configs)->total;
  EXPECT_EQ(together - kLaunch, 2 * (apart - kLaunch));
}

TEST(Time, HalvedFiguresLengthenWhatUsesThem) {
  auto halve = [](proto::Figure *figure) { figure->set_value(figure->value() / 2); };
  Program pipeline = pipelineProgram(20);
  int64_t base = totalOf(pipeline);
  EXPECT_GT(totalOf(pipeline, [&](auto &d) { halve(d.mutable_fp32_macs_per_core_cycle()); }), base);
  EXPECT_GT(totalOf(pipeline, [&](auto &d) { halve(d.mutable_l3_gbytes_per_second()); }), base);
  EXPECT_GT(totalOf(pipeline, [&](auto &d) { halve(d.mutable_clock_ghz()); }), base);
  EXPECT_EQ(totalOf(pipeline, [&](auto &d) { halve(d.mutable_chip_gbytes_per_second()); }), base);
  Program exchange = exchangeProgram(100000);
  auto exchangeTime = [&](const Change &change) {
    return timeOf(exchange, 2, change, nullptr, pair(0, 5, 200000))->total;
  };
  EXPECT_GT(exchangeTime([&](auto &d) { halve(d.mutable_chip_gbytes_per_second()); }),
            exchangeTime(nullptr));
}

TEST(Time, TwoRunsAgreeToTheLastPicosecondAndTheTraceFits) {
  Program program = pipelineProgram(30);
  Trace trace;
  absl::StatusOr<TimingResult> first = timeOf(program, 8, nullptr, &trace, {}, 3);
  absl::StatusOr<TimingResult> second = timeOf(program, 8, nullptr, nullptr, {}, 3);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->total, second->total);
  EXPECT_EQ(first->instructions, second->instructions);
  for (int64_t r = 0; r < 8; ++r) {
    EXPECT_EQ(first->ranks[r].taskEnd, second->ranks[r].taskEnd);
    EXPECT_EQ(first->ranks[r].taskEnd.size(), 3u);
    EXPECT_EQ(first->ranks[r].taskStart[0], 0);
  }
  // Eight dte queues and eight cores per rank, one span per task.
  EXPECT_EQ(trace.tracks.size(), 8u * 16);
  EXPECT_EQ(trace.spans.size(), 3u * 8 * 16);
  EXPECT_EQ(trace.labels, std::vector<std::string>({"load", "multiply"}));
  int64_t end = 0;
  for (size_t i = 0; i < trace.spans.size(); ++i) {
    const TraceSpan &span = trace.spans[i];
    EXPECT_LE(span.busy, span.duration);
    if (i && trace.spans[i - 1].track == span.track) {
      EXPECT_GE(span.start, end);
    }
    end = span.start + span.duration;
    EXPECT_LE(end, first->total);
  }
}

TEST(Time, DeadlocksAndFaultsAreErrors) {
  EXPECT_EQ(timeOf(streamProgram("core", "wait sem=3", 64)).status().message(),
            "deadlock in simulated time: 1 of 1 ranks wait forever; "
            "rank 0 in program 'p': core 0 at instruction 0 waits for semaphore 3");
  EXPECT_EQ(
      timeOf(streamProgram("core", "index dst=r4 value=77\nwait sem=1*r4", 64)).status().message(),
      "rank 0, program 'p', stream 0 (core), instruction 1 (wait sem=1*r4), core 0: "
      "semaphore 77, but the program has only 8");
}

} // namespace
} // namespace st::dtu
