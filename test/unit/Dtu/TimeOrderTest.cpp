// Events at the same instant are ordered by named priorities, then by rank and instance
// (docs/dtu-isa.md, "Time"). In each test two request one memory at once, and the order decides.
#include "SimulatorFixture.h"

#include <fstream>
#include <sstream>

namespace st::dtu {
namespace {

constexpr int64_t kLaunch = 5000000, kSync = 50000, kDteLatency = 200000; // picoseconds, T10
/// Copies of 65536 bytes, for which L3 is by far the slowest.
constexpr int64_t kCopy = 8000000;

/// Runs a program twice in a row on each rank; L3 serves 65536 bytes in 8 us.
TimingResult timesOf(const Program &program, std::vector<RankConfig> configs) {
  proto::DtuDescription description = *builtinDtuDescription("dtu-t10");
  description.mutable_l3_gbytes_per_second()->set_value(8.192);
  auto simulator = Simulator::create(description, std::move(configs));
  EXPECT_TRUE(simulator.ok()) << simulator.status();
  absl::StatusOr<ProgramId> id = (*simulator)->load(program);
  EXPECT_TRUE(id.ok()) << id.status();
  std::vector<RankSchedule> schedules((*simulator)->numRanks(), RankSchedule(2, TaskRun{*id, 0}));
  absl::StatusOr<TimingResult> result = (*simulator)->time(schedules);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : TimingResult();
}

const std::string kCopyText = "copy dst=L2[0]{1} src=L3[0]{1} sizes=[65536] to=ui8 from=ui8\n";

/// Signals that take `count` times 50 ns, on ranks from `first` on.
std::string idle(int64_t count, int first = 0) {
  return absl::StrCat("loop reg=r4 start=", first, " limit=1+1*r3\nloop reg=r5 limit=", count,
                      "\nsignal sem=0\nend\nleave\nend\n");
}

/// Ranks whose queue idles, then copies.
Program copyProgram(const std::string &before) {
  return parseOrDie(
      absl::StrCat("program \"p\" semaphores=1 barriers=0 l1=0 l2=65536 l3=65536 table=0 {\n",
                   "stream dte first=0 count=1 {\n", before, kCopyText, "}\n}\n"));
}

TEST(TimeOrder, ArrivalsComeBeforeRunningTasks) {
  // 16384 bytes leave rank 0 after 2 us and arrive 0.8 us later, when rank 1 begins to receive and
  // its queue to copy.
  constexpr int64_t kArrival = 2800000;
  const std::string delay = idle(kArrival / kSync);
  Program program = parseOrDie(absl::StrCat(
      "program \"p\" semaphores=1 barriers=0 l1=0 l2=65536 l3=65536 table=0 {\n",
      "stream tx first=0 count=1 {\nloop reg=r4 start=1*r3 limit=1\nindex dst=r6 value=1\n",
      "send peer=r6 src=L3[0]{1} sizes=[16384] type=ui8\nend\n}\n",
      "stream rx first=0 count=1 {\nloop reg=r4 start=1 limit=1+1*r3\nloop reg=r5 limit=",
      kArrival / kSync, "\nsignal sem=0\nend\n",
      "recv peer=r6 dst=L3[0]{1} sizes=[16384] type=ui8\nend\n}\n",
      "stream dte first=0 count=1 {\n", delay, kCopyText, "}\n}\n"));
  std::vector<RankConfig> configs = rankConfigs(2, 65536);
  configs[1].deviceId = 5; // of another chip
  TimingResult result = timesOf(program, configs);
  // The message has arrived, so the receive requests L3 first: it is the lower instance.
  EXPECT_EQ(result.ranks[1].taskEnd[0], kLaunch + kArrival + kCopy / 4 + kCopy + kDteLatency);
}

TEST(TimeOrder, RunningTasksComeBeforeTasksThatBegin) {
  // Rank 0 begins its second task at the instant at which rank 1, which idles, begins to copy.
  constexpr int64_t kBegin = 2 * kLaunch + kCopy + kDteLatency;
  TimingResult result =
      timesOf(copyProgram(idle((kBegin - kLaunch) / kSync, 1)), rankConfigs(2, 65536));
  ASSERT_EQ(result.ranks[0].taskEnd[0] + kLaunch, kBegin);
  EXPECT_EQ(result.ranks[1].taskEnd[0], kBegin + kCopy + kDteLatency);
  EXPECT_EQ(result.ranks[0].taskEnd[1], kBegin + 2 * kCopy + kDteLatency);
}

TEST(TimeOrder, LowerRanksComeFirst) {
  std::vector<RankConfig> configs = rankConfigs(2, 65536);
  std::swap(configs[0].deviceId, configs[1].deviceId); // whatever their clusters
  TimingResult result = timesOf(copyProgram(""), configs);
  EXPECT_EQ(result.ranks[0].taskEnd[0], kLaunch + kCopy + kDteLatency);
  EXPECT_EQ(result.ranks[1].taskEnd[0], kLaunch + 2 * kCopy + kDteLatency);
}

TEST(TimeOrder, StreamsThatAreListedFirstComeFirst) {
  // The short copy first or second, on queues numbered the other way round.
  const std::string begin =
                        "program \"p\" semaphores=1 barriers=0 l1=0 l2=65536 l3=65536 table=0 {\n",
                    shortCopy = "copy dst=L2[0]{1} src=L3[0]{1} sizes=[8192] to=ui8 from=ui8\n",
                    after = "signal sem=0\nwait sem=0\n" + kCopyText;
  auto end = [&](const std::string &first, const std::string &second) {
    return timesOf(parseOrDie(absl::StrCat(begin, "stream dte first=3 count=1 {\n", first,
                                           "}\nstream dte first=1 count=1 {\n", second, "}\n}\n")),
                   rankConfigs(1, 65536))
        .ranks[0]
        .taskEnd[0];
  };
  // After the short copy its queue copies again: the later it is served, the later the program
  // ends.
  const int64_t both = kLaunch + kCopy / 8 + kCopy;
  EXPECT_EQ(end(shortCopy + after, kCopyText), both + kCopy + kDteLatency);
  EXPECT_EQ(end(kCopyText, shortCopy + after), both + kDteLatency + kSync + kCopy + kDteLatency);
}

/// The names, in this order, are the rows of one table of the document.
TEST(TimeOrder, TheDocumentNamesThePriorities) {
  std::ifstream file(ST_SOURCE_DIR "/docs/dtu-isa.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string document = text.str();
  size_t at = document.find("| priority | what happens |");
  ASSERT_NE(at, std::string::npos);
  for (const char *name : {"arrival", "continue", "begin-task"}) {
    at = document.find(absl::StrCat("\n| `", name, "` |"), at);
    ASSERT_NE(at, std::string::npos) << name;
  }
}

} // namespace
} // namespace st::dtu
