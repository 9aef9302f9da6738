// Periodic loops are not executed; their time is added. The result equals that of a traced run,
// which executes all trips, to the picosecond.
#include "SimulatorFixture.h"

#include <numeric>
#include <random>

namespace st::dtu {
namespace {

/// The counters of a rank's work, without times.
constexpr int64_t RankTiming::*kWorkFigures[] = {
    &RankTiming::matrixBusy,    &RankTiming::vectorBusy, &RankTiming::dteBusy,
    &RankTiming::txBusy,        &RankTiming::rxBusy,     &RankTiming::serialSum,
    &RankTiming::macsF32,       &RankTiming::macs16,     &RankTiming::vectorElements,
    &RankTiming::l1Bytes,       &RankTiming::l2Bytes,    &RankTiming::l3Bytes,
    &RankTiming::l3BurstBytes,  &RankTiming::l2Busy,     &RankTiming::sentBytes,
    &RankTiming::receivedBytes, &RankTiming::messages,   &RankTiming::instructions};

void expectEqualTimings(const TimingResult &added, const TimingResult &run) {
  EXPECT_EQ(added.total, run.total);
  EXPECT_EQ(added.serialSum, run.serialSum);
  EXPECT_EQ(added.rooflineBound, run.rooflineBound);
  EXPECT_EQ(added.instructions, run.instructions);
  ASSERT_EQ(added.ranks.size(), run.ranks.size());
  for (size_t rank = 0; rank < run.ranks.size(); ++rank) {
    const RankTiming &a = added.ranks[rank], &b = run.ranks[rank];
    for (int64_t RankTiming::*figure : {&RankTiming::finish, &RankTiming::peakLandingBytes})
      EXPECT_EQ(a.*figure, b.*figure) << rank;
    for (int64_t RankTiming::*figure : kWorkFigures)
      EXPECT_EQ(a.*figure, b.*figure) << rank;
    EXPECT_EQ(a.taskStart, b.taskStart) << rank;
    EXPECT_EQ(a.taskEnd, b.taskEnd) << rank;
  }
}

/// The activity of ranks is the same whether trips are run or added, and accounts for all of their
/// time.
void expectEqualLogs(const StepLog &added, const StepLog &run, const TimingResult &timing) {
  ASSERT_EQ(added.sums, run.sums);
  for (size_t rank = 0; rank < run.sums.size(); ++rank) {
    int64_t sum = 0;
    for (const StepLog::Sums &entry : run.sums[rank])
      sum = std::accumulate(entry.begin(), entry.end(), sum);
    EXPECT_EQ(sum, timing.ranks[rank].finish) << rank;
    ASSERT_EQ(added.segments[rank].size(), run.segments[rank].size()) << rank;
    for (size_t i = 0; i < run.segments[rank].size(); ++i) {
      const StepLog::Segment &a = added.segments[rank][i], &b = run.segments[rank][i];
      EXPECT_TRUE(a.start == b.start && a.end == b.end && a.kind == b.kind) << rank << ", " << i;
    }
  }
  ASSERT_EQ(added.path.size(), run.path.size());
  int64_t time = 0;
  for (size_t i = 0; i < run.path.size(); ++i) {
    const StepLog::Visit &visit = run.path[i];
    EXPECT_EQ(visit.start, time);
    EXPECT_EQ(std::accumulate(visit.sums.begin(), visit.sums.end(), int64_t(0)),
              visit.end - visit.start);
    EXPECT_EQ(added.path[i].rank, visit.rank);
    EXPECT_EQ(added.path[i].sums, visit.sums);
    time = visit.end;
  }
  EXPECT_EQ(time, timing.total);
}

/// Times schedules with and without a trace, and compares. Returns the share of instructions that
/// was simulated.
double simulatedPart(const Simulator &simulator, const std::vector<RankSchedule> &schedules) {
  Trace trace;
  StepLog ofRun, ofAdded;
  absl::StatusOr<TimingResult> run = simulator.time(schedules, &trace, &ofRun),
                               added = simulator.time(schedules),
                               logged = simulator.time(schedules, nullptr, &ofAdded);
  EXPECT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(added.ok()) << added.status();
  EXPECT_TRUE(logged.ok()) << logged.status();
  if (!run.ok() || !added.ok() || !logged.ok())
    return 1;
  expectEqualTimings(*logged, *run);
  expectEqualLogs(ofAdded, ofRun, *run);
  EXPECT_EQ(run->simulatedInstructions, run->instructions);
  expectEqualTimings(*added, *run);
  return static_cast<double>(added->simulatedInstructions) /
         static_cast<double>(added->instructions);
}

double simulatedPart(const std::string &text, int64_t ranks = 1) {
  const Program program = parseOrDie(text);
  auto simulator = makeSimulator(rankConfigs(ranks, program.l3Bytes));
  absl::StatusOr<ProgramId> id = simulator->load(program);
  EXPECT_TRUE(id.ok()) << id.status() << "\n" << text;
  return id.ok() ? simulatedPart(*simulator, std::vector<RankSchedule>(ranks, {{*id, 0}, {*id, 1}}))
                 : 1;
}

std::string program(const std::string &dte, const std::string &core, int64_t workers = 8) {
  return absl::StrCat("program \"loops\" semaphores=64 barriers=2 l1=65536 l2=65536 l3=65536 "
                      "table=0 {\n stream dte first=0 count=",
                      workers, " {\n", dte, " }\n stream core first=0 count=", workers, " {\n",
                      core, " }\n}\n");
}

/// A queue loads tiles and a core multiplies them; two are in L1 at a time.
std::string tiles(const std::string &loop, const std::string &size) {
  return program("signal sem=8+1*r1 count=2\n" + loop +
                     "wait sem=8+1*r1\ncopy dst=L1[0;1*r1]{256,4} src=L3[0]{256,4} sizes=[" + size +
                     ",64]\nsignal sem=1*r1\nend\n",
                 loop +
                     "wait sem=1*r1\nmatmul c=L1[32768] a=L1[0] b=L1[16384] m=64 n=64 k=64 ldc=64 "
                     "lda=64 ldb=64\nsignal sem=8+1*r1\nend\n");
}

TEST(PeriodicLoops, TripsThatAreAlikeAreAdded) {
  for (int64_t ranks : {1, 3, 4, 8})
    EXPECT_LT(simulatedPart(tiles("loop reg=r4 limit=4000\n", "64"), ranks), 0.1) << ranks;
}

TEST(PeriodicLoops, ARankOfTheChipHasEndedAllItsTasks) {
  const Program brief = parseOrDie(tiles("loop reg=r4 limit=2\n", "64"));
  const Program lasting = parseOrDie(tiles("loop reg=r4 limit=4000\n", "64"));
  auto simulator = makeSimulator(rankConfigs(2, lasting.l3Bytes));
  absl::StatusOr<ProgramId> first = simulator->load(brief), second = simulator->load(lasting);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_LT(simulatedPart(*simulator, {{{*first, 0}}, {{*second, 0}}}), 0.2);
}

TEST(PeriodicLoops, ARaggedEndIsRun) {
  // Among the last trips one is short and one moves nothing.
  const std::string loop = "loop reg=r4 limit=3202\nindex dst=r5 value=20*r4\n";
  EXPECT_LT(simulatedPart(tiles(loop, "min(20,64005-r5)"), 2), 0.1);
  // Each trip is shorter than the previous one, so no two are alike.
  EXPECT_EQ(simulatedPart(tiles("loop reg=r4 limit=60\n", "min(64,64-r4)")), 1);
}

TEST(PeriodicLoops, WorkersWithMoreTripsGoOn) {
  EXPECT_LT(simulatedPart(tiles("loop reg=r4 start=1*r1 limit=8005 step=8\n", "64"), 4), 0.2);
}

TEST(PeriodicLoops, FollowsSizesComputedFromCounters) {
  // Trips of three alternating sizes, and a size that changes every 256 trips.
  EXPECT_LT(simulatedPart(tiles("loop reg=r4 limit=6000\nindex dst=r5 value=1*r4 modulo=3\n",
                                "min(64,65-r5)")),
            0.1);
  const double part = simulatedPart(
      tiles("loop reg=r4 limit=2048\nindex dst=r5 value=1*r4 divide=256\n", "min(64,64-r5)"));
  EXPECT_LT(part, 0.5);
}

TEST(PeriodicLoops, RegistersThatDecideNothingMayHaveAnyValue) {
  // Within the inner loop no decision reads r5, so added trips of the outer loop leave it as it is,
  // but not the counter r7. r6 is part of an address only.
  const std::string loops = "loop reg=r4 limit=2000\nindex dst=r5 value=2000-1*r4\n"
                            "loop reg=r7 start=1*r5 limit=4+1*r5\n"
                            "index dst=r6 value=-1*r5+1*r7 modulo=2\n";
  const std::string text =
      program("signal sem=8+1*r1 count=2\n" + loops +
                  "wait sem=8+1*r1\ncopy dst=L1[256*r6;1*r1]{256,4} src=L3[0]{256,4} "
                  "sizes=[64,64]\nsignal sem=1*r1\nend\nend\n",
              loops + "wait sem=1*r1\nmatmul c=L1[32768] a=L1[256*r6] b=L1[24576] m=64 n=64 k=64 "
                      "ldc=64 lda=64 ldb=64\nsignal sem=8+1*r1\nend\nend\n");
  for (int64_t ranks : {1, 3})
    EXPECT_LT(simulatedPart(text, ranks), 0.1) << ranks;
}

TEST(PeriodicLoops, LoopsInLoopsAreAdded) {
  const std::string nest = "loop reg=r4 limit=100\nloop reg=r5 limit=";
  // Whole trips of the outer loop are added, and so are those of the inner one.
  auto text = [&](const std::string &inner) {
    std::string result = tiles(nest + inner + "\n", "64");
    for (size_t at = 0; (at = result.find("end\n", at)) != std::string::npos; at += 8)
      result.insert(at, "end\n");
    return result;
  };
  EXPECT_LT(simulatedPart(text("3")), 0.3);
  EXPECT_LT(simulatedPart(text("300")), 0.02);
  // The inner loop has one more trip each time, or none at first.
  EXPECT_LT(simulatedPart(text("1*r4")), 1);
  EXPECT_LT(simulatedPart(text("-20+2*r4")), 1);
}

/// Copies in a loop, and a queue that waits for messages of the rank in table entry 0, one after
/// another, and wakes a second loop for each.
std::string waitingText(int64_t trips, int64_t messages, int64_t bytes) {
  return absl::StrCat(
      "program \"waiting\" semaphores=64 barriers=0 l1=65536 l2=0 l3=65536 table=2 {\n",
      "stream dte first=0 count=3 {\nloop reg=r4 limit=", trips,
      "\ncopy dst=L1[0;1*r1]{4} src=L3[0]{4} sizes=[512]\nend\n}\n",
      "stream dte first=3 count=1 {\nloop reg=r4 limit=", messages, "\nwait sem=0\n",
      "copy dst=L1[0;3]{4} src=L3[0]{4} sizes=[8000]\nend\n}\n",
      "stream rx first=0 count=1 {\ntable dst=r5 index=0\nloop reg=r4 limit=", messages,
      "\nrecv peer=r5 dst=L3[0]{1} sizes=[", bytes, "] type=ui8\nsignal sem=0\nend\n}\n}\n");
}

/// Works for a while before each message to the rank in table entry 1.
std::string sendingText(int64_t trips, int64_t messages, int64_t bytes) {
  return absl::StrCat(
      "program \"sending\" semaphores=64 barriers=0 l1=65536 l2=0 l3=65536 table=2 {\n",
      "stream dte first=0 count=1 {\nloop reg=r4 limit=", messages, "\nloop reg=r5 limit=", trips,
      "\ncopy dst=L1[0]{4} src=L3[0]{4} sizes=[700]\nend\nsignal sem=0\nend\n}\n",
      "stream tx first=0 count=1 {\ntable dst=r5 index=1\nloop reg=r4 limit=", messages,
      "\nwait sem=0\nsend peer=r5 src=L3[0]{1} sizes=[", bytes, "] type=ui8\nend\n}\n}\n");
}

TEST(PeriodicLoops, TripsThatAMessageMeetsAreTakenBack) {
  // The ranks are on one chip, on two of a group, and on two groups; two others on the receiver's
  // chip compute all the time.
  for (int64_t device : {1, 5, 20})
    for (int64_t trips : {30, 31, 47, 500})
      for (int64_t bytes : {1000, 60000}) {
        std::vector<RankConfig> configs = rankConfigs(4, 65536);
        configs[3].deviceId = device;
        configs[0].deviceId = 0;
        configs[1].deviceId = 2;
        configs[2].deviceId = 3;
        for (RankConfig &config : configs)
          config.table = {3, 0};
        auto simulator = makeSimulator(configs);
        const ProgramId waits = *simulator->load(parseOrDie(waitingText(6000, 9, bytes))),
                        sends = *simulator->load(parseOrDie(sendingText(trips, 9, bytes))),
                        works = *simulator->load(parseOrDie(waitingText(5000, 0, bytes)));
        const double part =
            simulatedPart(*simulator, {{{waits, 0}}, {{works, 0}}, {{works, 0}}, {{sends, 0}}});
        // Near the receiver the sender's loop has other trips, and no state recurs.
        if (device > 4)
          EXPECT_LT(part, 0.3) << device << " " << trips << " " << bytes;
        ASSERT_FALSE(HasFailure()) << device << " " << trips << " " << bytes;
      }
}

TEST(PeriodicLoops, AMessageEndsASteadyState) {
  // Rank 1 computes while messages of rank 0 arrive, and receives them between trips.
  const Program sends =
      parseOrDie(R"(program "sends" semaphores=1 barriers=0 l1=0 l2=0 l3=65536 table=0 {
  stream tx first=0 count=1 {
    index dst=r5 value=1
    loop reg=r4 limit=40
      send peer=r5 src=L3[0]{1} sizes=[20000] type=ui8
    end
  }
})");
  const Program receives =
      parseOrDie(R"(program "receives" semaphores=64 barriers=0 l1=65536 l2=0 l3=65536 table=0 {
  stream dte first=0 count=1 {
    loop reg=r4 limit=8
      signal sem=0
      loop reg=r5 limit=200
        copy dst=L1[0]{4} src=L3[0]{4} sizes=[512]
      end
    end
  }
  stream rx first=0 count=1 {
    index dst=r6 value=0
    loop reg=r4 limit=8
      wait sem=0
      loop reg=r5 limit=5
        recv peer=r6 dst=L3[0]{1} sizes=[20000] type=ui8
      end
    end
  }
})");
  for (int64_t device : {1, 5}) {
    std::vector<RankConfig> configs = rankConfigs(2, 65536);
    configs[1].deviceId = device;
    auto simulator = makeSimulator(configs);
    const ProgramId a = *simulator->load(sends), b = *simulator->load(receives);
    EXPECT_LT(simulatedPart(*simulator, {{{a, 0}}, {{b, 0}}}), 1) << device;
  }
}

/// A sequence of kernels with random loops, sizes and steps.
class RandomLoops {
public:
  explicit RandomLoops(uint64_t seed) : engine(seed) {}

  int64_t below(int64_t n) { return static_cast<int64_t>(engine() % static_cast<uint64_t>(n)); }

  /// The same layer repeatedly, at other addresses. In each layer the ranks of a ring send to each
  /// other, and wait for the message in this layer or `late` layers later.
  std::string layers(int64_t count, int64_t late) {
    std::string dte, core, tx = "table dst=r5 index=0\n", rx = "table dst=r5 index=1\n";
    std::string layerDte, layerCore;
    for (int64_t kernels = 1 + below(2), first = 0; kernels > 0; --kernels, first += 16)
      kernel(first, layerDte, layerCore);
    const std::string bytes = absl::StrCat(1 + below(60000));
    for (int64_t i = 0; i < count + late; ++i) {
      if (i < count) {
        absl::StrAppend(&dte, moved(layerDte, 16 * i),
                        "loop reg=r20 start=1*r1 limit=1\nsignal sem=60\nend\n");
        absl::StrAppend(&core, layerCore);
        absl::StrAppend(&tx, "wait sem=60\nsend peer=r5 src=L3[0]{1} sizes=[", bytes,
                        "] type=ui8\n");
        absl::StrAppend(&rx, "recv peer=r5 dst=L3[0]{1} sizes=[", bytes,
                        "] type=ui8\nsignal sem=61\n");
      }
      if (i >= late)
        absl::StrAppend(&dte,
                        "loop reg=r20 start=1*r1 limit=1\nwait sem=61\nend\nbarrier participants=",
                        workers, "\n");
    }
    return absl::StrCat(
        "program \"layers\" semaphores=64 barriers=2 l1=65536 l2=65536 l3=131072 table=2 {\n"
        " stream dte first=0 count=",
        workers, " {\n", dte, " }\n stream core first=0 count=", workers, " {\n", core,
        " }\n stream tx first=0 count=1 {\n", tx, " }\n stream rx first=0 count=1 {\n", rx,
        " }\n}\n");
  }

  std::string text() {
    std::string dte, core;
    for (int64_t kernels = 1 + below(3), first = 0; kernels > 0; --kernels, first += 16)
      kernel(first, dte, core);
    return program(dte, core, 1 + below(8));
  }

private:
  std::mt19937_64 engine;
  int64_t workers = 8;

  static std::string moved(std::string text, int64_t offset) {
    for (size_t at = 0; (at = text.find("L3[0]", at)) != std::string::npos; at += 5)
      text.replace(at, 5, absl::StrCat("L3[", offset, "]"));
    return text;
  }

  /// Loops around a tile, as both engines run them; adds the "end" of each.
  std::string loops(std::string &ends) {
    std::string text;
    const bool nests = below(3) == 0;
    const int64_t outer = nests ? 2 + below(60) : 20 + below(600);
    absl::StrAppend(&text, "loop reg=r4 start=", below(2) ? "1*r1" : "0", " limit=", outer,
                    " step=", 1 + below(8), "\n");
    ends = "end\n";
    if (nests) {
      const int64_t kind = below(3);
      if (kind == 0)
        absl::StrAppend(&text, "index dst=r5 value=1*r4 modulo=", 2 + below(5), "\n");
      absl::StrAppend(&text, "loop reg=r6 limit=",
                      kind == 0   ? "1+2*r5"
                      : kind == 1 ? absl::StrCat(1 + below(60))
                                  : "-20+1*r4",
                      "\n");
      ends += "end\n";
      absl::StrAppend(&text, "index dst=r7 value=", 1 + below(3), "*r6+", below(3), "*r4\n");
    } else {
      absl::StrAppend(&text, "index dst=r7 value=", 1 + below(9), "*r4+", below(2), "*r2\n");
    }
    if (below(3) == 0)
      absl::StrAppend(&text, "index dst=r7 value=1*r7 divide=", 1 + below(9),
                      " modulo=", below(2) ? 0 : 1 + below(6), "\n");
    return text;
  }

  std::string size(int64_t most) {
    const int64_t tile = 1 + below(most);
    return below(3) ? absl::StrCat(tile) : absl::StrCat("min(", tile, ",", below(5000), "-r7)");
  }

  void kernel(int64_t first, std::string &dte, std::string &core) {
    std::string ends;
    const std::string around = loops(ends);
    const std::string full = absl::StrCat("sem=", first, "+1*r1\n"),
                      empty = absl::StrCat("sem=", first + 8, "+1*r1");
    const bool waits = below(3);
    if (waits)
      absl::StrAppend(&dte, "signal ", empty, " count=", 1 + below(3), "\n");
    absl::StrAppend(&dte, around);
    if (waits)
      absl::StrAppend(&dte, "wait ", empty, "\n");
    absl::StrAppend(&dte, "copy dst=L1[0;1*r1]{256,4} src=L", 2 + below(2), "[0]{256,4} sizes=[",
                    size(64), ",", size(64), "]\nsignal ", full, ends);
    absl::StrAppend(&core, around, "wait ", full);
    if (below(2))
      absl::StrAppend(&core, "matmul c=L1[32768] a=L1[0] b=L1[16384] m=", size(64), " n=", size(64),
                      " k=64 ldc=64 lda=64 ldb=64\n");
    else
      absl::StrAppend(&core, "vector op=exp dst=f32:L1[0]{64,1} a=f32:L1[0]{64,1} rows=", size(64),
                      " cols=64\n");
    if (waits)
      absl::StrAppend(&core, "signal ", empty, "\n");
    absl::StrAppend(&core, ends);
  }
};

TEST(PeriodicLoops, RandomLoopsTakeTheTimeOfTheirTrips) {
  double sum = 0;
  constexpr uint64_t kSeeds = 400;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    RandomLoops random(seed);
    const std::string text = random.text();
    sum += simulatedPart(text, 1 + random.below(5));
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed << "\n" << text;
      return;
    }
  }
  // Most of the instructions are added.
  EXPECT_LT(sum / kSeeds, 0.6);
}

TEST(PeriodicLoops, LayersThatAreAlikeTakeTheTimeOfEach) {
  double sum = 0;
  constexpr uint64_t kSeeds = 40;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    RandomLoops random(seed);
    const std::string text = random.layers(6, random.below(3));
    const int64_t count = 1 + random.below(8);
    std::vector<RankConfig> configs = rankConfigs(count, 131072);
    for (int64_t rank = 0; rank < count; ++rank)
      configs[rank].table = {(rank + 1) % count, (rank + count - 1) % count};
    auto simulator = makeSimulator(configs);
    absl::StatusOr<ProgramId> id = simulator->load(parseOrDie(text));
    ASSERT_TRUE(id.ok()) << id.status() << "\n" << text;
    sum += simulatedPart(*simulator, std::vector<RankSchedule>(count, {{*id, 0}, {*id, 1}}));
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed << "\n" << text;
      return;
    }
  }
  EXPECT_LT(sum / kSeeds, 0.6);
}

/// Two rings of `count` ranks, far apart.
std::vector<RankConfig> twoRings(int64_t count) {
  std::vector<RankConfig> configs;
  for (int64_t ring : {0, 1})
    for (RankConfig config : rankConfigs(count, 131072)) {
      const int64_t rank = config.rankInGroup;
      config.deviceId += 80 * ring;
      config.table = {ring * count + (rank + 1) % count, ring * count + (rank + count - 1) % count};
      configs.push_back(config);
    }
  return configs;
}

TEST(PeriodicLoops, LayersOfRanksThatExchangeAreReplayed) {
  double executed = 0, replayed = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RandomLoops random(1000 + seed);
    const int64_t late = random.below(3), count = 2 + random.below(7);
    auto simulator = makeSimulator(twoRings(count));
    std::vector<RankSchedule> schedules;
    // The second ring has the layers of the first one, but not as many.
    for (int64_t layers : {9, 7}) {
      absl::StatusOr<ProgramId> id =
          simulator->load(parseOrDie(RandomLoops(seed).layers(layers, late)));
      ASSERT_TRUE(id.ok()) << id.status();
      schedules.insert(schedules.end(), static_cast<size_t>(count), {{*id, 0}});
    }
    Trace trace;
    absl::StatusOr<TimingResult> run = simulator->time(schedules, &trace),
                                 skipping = simulator->time(schedules),
                                 once = simulator->replayTime(schedules);
    ASSERT_TRUE(run.ok() && skipping.ok() && once.ok()) << once.status();
    EXPECT_EQ(once->total, run->total) << seed;
    EXPECT_EQ(once->instructions, run->instructions) << seed;
    EXPECT_EQ(once->rooflineBound, run->rooflineBound) << seed;
    for (size_t rank = 0; rank < run->ranks.size(); ++rank)
      for (int64_t RankTiming::*figure : kWorkFigures)
        EXPECT_EQ(once->ranks[rank].*figure, run->ranks[rank].*figure) << seed << ", " << rank;
    executed += static_cast<double>(skipping->simulatedInstructions);
    replayed += static_cast<double>(once->simulatedInstructions);
  }
  EXPECT_LT(replayed, 0.7 * executed);
}

TEST(PeriodicLoops, AProgramContinuesWhereAnotherEnds) {
  // Few trips are alike. After each layer the queue copies alone, while the core has ended or waits
  // for the next one.
  auto layers = [](int64_t count) {
    const std::string loop = "loop reg=r4 limit=250\nindex dst=r5 value=1*r4 divide=4\n",
                      copy = "copy dst=L1[0]{256,4} src=L3[0]{256,4} sizes=[min(64,64-r5),64]\n";
    std::string dte, core;
    for (int64_t i = 0; i < count; ++i) {
      absl::StrAppend(&dte, loop, copy, "signal sem=0\nend\n", loop, copy, "end\n");
      absl::StrAppend(&core, loop, "wait sem=0\nmatmul c=L1[32768] a=L1[0] b=L1[16384] ",
                      "m=min(64,64-r5) n=64 k=64 ldc=64 lda=64 ldb=64\nend\n");
    }
    return parseOrDie(program(dte, core, 1));
  };
  auto simulator = makeSimulator(rankConfigs(4, 65536));
  const ProgramId ends = *simulator->load(layers(1)), continues = *simulator->load(layers(5));
  const RankSchedule schedule = {{ends, 0}, {continues, 0}, {ends, 0}};
  EXPECT_LT(simulatedPart(*simulator, {schedule, schedule, schedule, schedule}), 0.9);
}

/// Layers without equal trips, and a queue that copies whenever a message has arrived.
std::string layersWithMessages(int64_t layers, int64_t messages, int64_t bytes) {
  const std::string loop = "loop reg=r4 limit=60\nindex dst=r5 value=1*r4\n";
  std::string dte, core;
  for (int64_t i = 0; i < layers; ++i) {
    absl::StrAppend(&dte, loop, "wait sem=8+1*r1\ncopy dst=L1[0;1*r1]{256,4} src=L3[", 64 * i,
                    "]{256,4} sizes=[min(64,64-r5),64]\nsignal sem=1*r1\nend\n",
                    "barrier participants=8\n");
    absl::StrAppend(&core, i == 0 ? "signal sem=8+1*r1 count=2\n" : "", loop,
                    "wait sem=1*r1\nmatmul c=L1[32768] a=L1[0] b=L1[16384] m=min(64,64-r5) n=64 ",
                    "k=64 ldc=64 lda=64 ldb=64\nsignal sem=8+1*r1\nend\n");
  }
  return absl::StrCat(
      "program \"overlap\" semaphores=64 barriers=2 l1=65536 l2=65536 l3=131072 table=2 {\n",
      "stream dte first=0 count=8 {\n", dte, "}\nstream core first=0 count=8 {\n", core,
      "}\nstream dte first=8 count=1 {\nloop reg=r4 limit=", messages,
      "\nwait sem=61\ncopy dst=L1[0;3]{4} src=L3[0]{4} sizes=[8000]\nend\n}\n",
      "stream rx first=0 count=1 {\ntable dst=r5 index=0\nloop reg=r4 limit=", messages,
      "\nrecv peer=r5 dst=L3[0]{1} sizes=[", bytes, "] type=ui8\nsignal sem=61\nend\n}\n}\n");
}

TEST(PeriodicLoops, ALayerThatAMessageMeetsIsTakenBack) {
  double sum = 0;
  constexpr uint64_t kSeeds = 40;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    RandomLoops random(seed);
    const int64_t messages = 1 + random.below(8), bytes = 1 + random.below(60000),
                  trips = 1 + random.below(4000), late = 1 + random.below(8000);
    std::vector<RankConfig> configs = rankConfigs(3, 131072);
    configs[2].deviceId = random.below(2) ? 5 : 20;
    for (RankConfig &config : configs)
      config.table = {2, 0};
    auto simulator = makeSimulator(configs);
    const ProgramId receives =
                        *simulator->load(parseOrDie(layersWithMessages(20, messages, bytes))),
                    works = *simulator->load(parseOrDie(layersWithMessages(20, 0, bytes))),
                    waits = *simulator->load(parseOrDie(sendingText(late, 0, bytes))),
                    sends = *simulator->load(parseOrDie(sendingText(trips, messages, bytes)));
    sum += simulatedPart(*simulator, {{{receives, 0}}, {{works, 0}}, {{waits, 0}, {sends, 0}}});
    ASSERT_FALSE(HasFailure()) << seed;
  }
  EXPECT_LT(sum / kSeeds, 0.7);
}

} // namespace
} // namespace st::dtu
