// Finds planted races and deadlocks, and accepts the same programs once corrected.
#include "backends/dtu/isa/order/ProgramOrder.h"
#include "backends/dtu/isa/StridedBytes.h"
#include "backends/dtu/isa/Text.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace st::dtu {
namespace {

constexpr int64_t kLimit = 1'000'000;

absl::StatusOr<ProgramOrder> prove(const std::string &streams) {
  absl::StatusOr<Program> program = parseProgram(
      "program \"p\" semaphores=4 barriers=1 l1=4096 l2=4096 l3=65536 host=65536 table=1 {\n" +
      streams + "}\n");
  if (!program.ok())
    return program.status();
  return proveOrder(*program, {0, 0, {1}}, kLimit);
}

void expectError(const std::string &streams, const std::string &what) {
  absl::StatusOr<ProgramOrder> order = prove(streams);
  ASSERT_FALSE(order.ok());
  EXPECT_NE(order.status().message().find(what), absl::string_view::npos) << order.status();
}

/// A queue that loads two tiles in turn and a core that uses them, each slot after its last use.
std::string doubleBuffered(int slots, int first) {
  return "stream dte first=0 count=1 {\n"
         "  loop reg=r4 limit=8 step=1\n"
         "    wait sem=1\n"
         "    index dst=r5 value=1*r4 modulo=" +
         std::to_string(slots) +
         " multiply=256\n"
         "    copy dst=L1[1*r5;0]{4} src=L3[256*r4]{4} sizes=[64]\n"
         "    signal sem=0\n"
         "  end\n"
         "}\n"
         "stream core first=0 count=1 {\n"
         "  signal sem=1 count=" +
         std::to_string(first) +
         "\n"
         "  loop reg=r4 limit=8 step=1\n"
         "    wait sem=0\n"
         "    index dst=r5 value=1*r4 modulo=" +
         std::to_string(slots) +
         " multiply=256\n"
         "    vector op=neg dst=f32:L1[1024]{64,1} a=f32:L1[1*r5]{64,1} rows=1 cols=64\n"
         "    signal sem=1\n"
         "  end\n"
         "}\n";
}

TEST(ProgramOrder, DoubleBufferOfAsManySlotsAsAreFree) {
  absl::StatusOr<ProgramOrder> order = prove(doubleBuffered(2, 2));
  EXPECT_TRUE(order.ok()) << order.status();
}

TEST(ProgramOrder, OneSlotLessIsARace) {
  expectError(doubleBuffered(2, 3), "of L1 of core 0, and program 'p'");
  expectError(doubleBuffered(1, 2), "no synchronisation orders them");
}

TEST(ProgramOrder, ReadsOfTheHostFollowItsWrites) {
  auto streams = [](const std::string &signal, const std::string &wait) {
    return "stream dte first=0 count=1 {\n  copy dst=host[0]{4} src=L3[0]{4} sizes=[64]\n" +
           signal + "}\nstream dte first=1 count=1 {\n" + wait +
           "  copy dst=L3[256]{4} src=host[128]{4} sizes=[64]\n}\n";
  };
  EXPECT_TRUE(prove(streams("  signal sem=0\n", "  wait sem=0\n")).ok());
  expectError(streams("", ""), "of host, and program 'p'");
}

TEST(ProgramOrder, WithoutAFreeSlotBothWait) { expectError(doubleBuffered(2, 0), "waits forever"); }

TEST(ProgramOrder, QueuesOnTheSameBytes) {
  std::string streams = "stream dte first=0 count=2 {\n"
                        "  fill dst=L3[STEP*r1]{4} sizes=[64]\n"
                        "}\n";
  auto with = [&](const std::string &step) {
    std::string text = streams;
    return text.replace(text.find("STEP"), 4, step);
  };
  EXPECT_TRUE(prove(with("256")).ok());
  expectError(with("252"), "bytes 252 to 507 of L3, and program 'p'");
}

TEST(ProgramOrder, InterleavedColumnsAreApart) {
  EXPECT_TRUE(prove("stream dte first=0 count=2 {\n"
                    "  fill dst=L3[64*r1]{128,4} sizes=[16,16]\n"
                    "}\n")
                  .ok());
  expectError("stream dte first=0 count=2 {\n"
              "  fill dst=L3[64*r1]{128,4} sizes=[16,17]\n"
              "}\n",
              "of L3");
}

TEST(ProgramOrder, ABarrierOrdersAndNeedsAllThatCome) {
  std::string text = "stream dte first=0 count=2 {\n"
                     "  fill dst=L3[256*r1]{4} sizes=[64]\n"
                     "  barrier participants=2\n"
                     "  copy dst=L3[1024+512*r1]{4} src=L3[0]{4} sizes=[128]\n"
                     "}\n";
  EXPECT_TRUE(prove(text).ok());
  std::string without = text;
  without.erase(without.find("  barrier"), without.find("  copy") - without.find("  barrier"));
  expectError(without, "no synchronisation orders them");
  std::string three = text;
  three.replace(three.find("count=2"), 7, "count=4");
  expectError(three, "and program 'p'");
}

TEST(ProgramOrder, ASemaphoreOfSeveralSignallersTellsNothing) {
  expectError("stream dte first=0 count=2 {\n"
              "  signal sem=0\n"
              "}\n"
              "stream core first=0 count=1 {\n"
              "  wait sem=0 count=2\n"
              "}\n",
              "semaphore 0 is signalled by dte 0 and by dte 1");
}

/// The source of a send may be overwritten only after the send.
TEST(ProgramOrder, ASendUnderWay) {
  auto program = [](const std::string &done) {
    return std::string("stream dte first=0 count=1 {\n"
                       "  fill dst=L3[0]{4} sizes=[64]\n"
                       "  signal sem=0\n") +
           (done.empty() ? "" : "  wait sem=1\n") +
           "  fill dst=L3[0]{4} sizes=[64]\n"
           "}\n"
           "stream tx first=0 count=1 {\n"
           "  wait sem=0\n"
           "  table dst=r4 index=0\n"
           "  send peer=r4 src=L3[0]{4} sizes=[64]\n" +
           done + "}\n";
  };
  absl::StatusOr<ProgramOrder> order = prove(program("  signal sem=1\n"));
  ASSERT_TRUE(order.ok()) << order.status();
  ASSERT_EQ(order->events.size(), 1u);
  EXPECT_TRUE(order->events[0].isSend);
  EXPECT_EQ(order->events[0].bytes, 256);
  expectError(program(""), "stream 1 (tx)");
}

/// A rank receives where it sent from. The other rank orders the two transfers.
TEST(ProgramOrder, AReturnIsLeftToTheCaller) {
  absl::StatusOr<ProgramOrder> order = prove("stream tx first=0 count=1 {\n"
                                             "  table dst=r4 index=0\n"
                                             "  send peer=r4 src=L3[0]{4} sizes=[64]\n"
                                             "}\n"
                                             "stream rx first=0 count=1 {\n"
                                             "  table dst=r4 index=0\n"
                                             "  recv peer=r4 dst=L3[0]{4} sizes=[64]\n"
                                             "}\n");
  ASSERT_TRUE(order.ok()) << order.status();
  ASSERT_EQ(order->returns.size(), 1u);
  EXPECT_EQ(order->returns[0].sends, 1u);
  EXPECT_EQ(order->returns[0].receives, 1u);
}

/// Returns the verdict on loops of many trips, which are proven without visiting every trip.
bool proveLoops(const std::string &streams, int64_t maxWork = 2000) {
  absl::StatusOr<Program> program = parseProgram(
      "program \"p\" semaphores=8 barriers=1 l1=8192 l2=4096 l3=10000000 host=0 table=1 {\n" +
      streams + "}\n");
  EXPECT_TRUE(program.ok()) << program.status();
  const RunView view = {0, 0, {1}};
  absl::StatusOr<ProgramOrder> every = proveOrder(*program, view, kLimit, /*everyTrip=*/true);
  absl::StatusOr<ProgramOrder> order = proveOrder(*program, view, kLimit);
  EXPECT_EQ(every.ok(), order.ok()) << every.status() << "\n" << order.status();
  if (!every.ok() || !order.ok())
    return false;
  EXPECT_LT(order->executed, maxWork);
  EXPECT_GT(every->executed, maxWork);
  EXPECT_EQ(every->events.size(), order->events.size());
  return true;
}

/// A loader, a core and a storer with two double buffers. `loaded` and `stored` count their
/// initially free slots. Tiles move from addresses at `from` to addresses at `to`.
std::string pipelined(int loaded, int stored, int from, int to, int trips, int stride = 256) {
  auto number = [](int value) { return std::to_string(value); };
  const std::string loop = "  loop reg=r4 limit=" + number(trips) +
                           " step=1\n    index dst=r5 value=1*r4 modulo=2 multiply=256\n";
  return "stream dte first=0 count=1 {\n" + loop +
         "    wait sem=1\n    copy dst=L1[1*r5;0]{4} src=L3[" + number(from) +
         "+256*r4]{4} sizes=[64]\n    signal sem=0\n  end\n}\n"
         "stream core first=0 count=1 {\n  signal sem=1 count=" +
         number(loaded) + "\n" + loop +
         "    wait sem=0\n    wait sem=3\n"
         "    vector op=neg dst=f32:L1[1024+1*r5]{64,1} a=f32:L1[1*r5]{64,1} rows=1 cols=64\n"
         "    signal sem=1\n    signal sem=2\n  end\n}\n"
         "stream dte first=1 count=1 {\n  signal sem=3 count=" +
         number(stored) + "\n" + loop + "    wait sem=2\n    copy dst=L3[" + number(to) +
         (stride < 0 ? "" : "+") + number(stride) +
         "*r4]{4} src=L1[1024+1*r5;0]{4} sizes=[64]\n    signal sem=3\n  end\n}\n";
}

TEST(PeriodicOrder, PipelinesOfManyTrips) {
  EXPECT_TRUE(proveLoops(pipelined(2, 2, 0, 1000000, 2000)));
  EXPECT_FALSE(proveLoops(pipelined(3, 2, 0, 1000000, 2000)));
  EXPECT_FALSE(proveLoops(pipelined(2, 3, 0, 1000000, 2000)));
  EXPECT_FALSE(proveLoops(pipelined(0, 2, 0, 1000000, 2000)));
}

TEST(PeriodicOrder, InPlace) {
  EXPECT_TRUE(proveLoops(pipelined(2, 2, 0, 0, 2000)));
  // A tile is stored where one is loaded one or two trips later.
  EXPECT_FALSE(proveLoops(pipelined(2, 2, 0, 256, 2000)));
  EXPECT_FALSE(proveLoops(pipelined(2, 2, 0, 512, 2000)));
}

TEST(PeriodicOrder, AccessesThatOverlapAfterManyTrips) {
  // Stores to tiles that are loaded 4 trips later, when the store is over, or 3, when it is not.
  EXPECT_TRUE(proveLoops(pipelined(2, 2, 0, 256 * 4, 2000)));
  EXPECT_FALSE(proveLoops(pipelined(2, 2, 0, 256 * 3, 2000)));
  // Stores that move towards the loads, and meet them or not.
  EXPECT_FALSE(proveLoops(pipelined(2, 2, 0, 256 * 1500, 2000, -128)));
  EXPECT_TRUE(proveLoops(pipelined(2, 2, 0, 256 * 3000, 2000, -128)));
}

TEST(PeriodicOrder, QueuesThatNobodyOrders) {
  auto queues = [](int from) {
    return "stream dte first=0 count=1 {\n  loop reg=r4 limit=3000 step=1\n"
           "    copy dst=L3[256*r4]{4} src=L3[5000000]{4} sizes=[64]\n  end\n}\n"
           "stream dte first=1 count=1 {\n  loop reg=r4 limit=3000 step=1\n"
           "    copy dst=L3[9000000]{4} src=L3[" +
           std::to_string(from) + "+128*r4]{4} sizes=[64]\n  end\n}\n";
  };
  EXPECT_TRUE(proveLoops(queues(256 * 3000)));
  EXPECT_FALSE(proveLoops(queues(256 * 2999)));
}

TEST(PeriodicOrder, LoopsInLoops) {
  auto nest = [](int free) {
    return "stream dte first=0 count=1 {\n  loop reg=r4 limit=40 step=1\n    loop reg=r6 limit=30 "
           "step=1\n"
           "      wait sem=1\n      index dst=r5 value=1*r6+30*r4 modulo=2 multiply=256\n"
           "      copy dst=L1[1*r5;0]{4} src=L3[256*r6+10000*r4]{4} sizes=[64]\n      signal "
           "sem=0\n    end\n  end\n}\n"
           "stream core first=0 count=1 {\n  signal sem=1 count=" +
           std::to_string(free) +
           "\n  loop reg=r4 limit=40 step=1\n    loop reg=r6 limit=30 step=1\n      wait sem=0\n"
           "      index dst=r5 value=1*r6+30*r4 modulo=2 multiply=256\n"
           "      vector op=neg dst=f32:L1[1024]{64,1} a=f32:L1[1*r5]{64,1} rows=1 cols=64\n"
           "      signal sem=1\n    end\n    signal sem=2\n  end\n}\n"
           "stream dte first=1 count=1 {\n  loop reg=r4 limit=40 step=1\n    wait sem=2\n"
           "    copy dst=L3[2000000+256*r4]{4} src=L3[3000000]{4} sizes=[64]\n  end\n}\n";
  };
  EXPECT_TRUE(proveLoops(nest(2)));
  EXPECT_FALSE(proveLoops(nest(3)));
}

/// A pipeline of queues. Each one reads slots of a ring that the previous one fills, and may run a
/// fixed number of slots ahead of the next. Each one moves through L3 by its own strides.
std::string randomChain(std::mt19937 &random) {
  auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  const int links = 1 + below(3), outer = 1 + below(12), inner = 1 + below(12);
  std::vector<int> slots, free;
  for (int i = 0; i < links; ++i) {
    slots.push_back(1 + below(3));
    free.push_back(below(8) ? slots.back() : 1 + below(3));
  }
  auto slot = [&](int link) {
    return "L2[" + std::to_string(1024 * link) + "+1*r" + std::to_string(6 + link) + "]{4}";
  };
  std::string text;
  for (int i = 0; i <= links; ++i) {
    auto wait = [&](int semaphore) { text += "wait sem=" + std::to_string(semaphore) + "\n"; };
    auto signal = [&](int semaphore, int count) {
      text += "signal sem=" + std::to_string(semaphore) + " count=" + std::to_string(count) + "\n";
    };
    text += "stream dte first=" + std::to_string(i) + " count=1 {\n";
    if (i > 0)
      signal(2 * i - 1, free[i - 1]);
    text += "loop reg=r4 limit=" + std::to_string(outer) +
            " step=1\nloop reg=r5 limit=" + std::to_string(inner) + " step=1\n";
    for (int link = std::max(0, i - 1); link < std::min(links, i + 1); ++link)
      text += "index dst=r" + std::to_string(6 + link) + " value=" + std::to_string(inner) +
              "*r4+1*r5 modulo=" + std::to_string(slots[link]) + " multiply=256\n";
    auto far = [&](int place) {
      return "L3[" + std::to_string(200000 * place + 64 * below(40)) + "+" +
             std::to_string(64 * below(5)) + "*r5+" + std::to_string(64 * below(40)) + "*r4]{4}";
    };
    if (i > 0)
      wait(2 * i - 2);
    if (i < links)
      wait(2 * i + 1);
    text += "copy dst=" + (i < links ? slot(i) : far(below(3))) +
            " src=" + (i > 0 ? slot(i - 1) : far(below(3))) + " sizes=[" +
            std::to_string(16 + 16 * below(4)) + "]\n";
    if (i > 0)
      signal(2 * i - 1, 1);
    if (i < links)
      signal(2 * i, 1);
    text += "end\nend\n}\n";
  }
  return text;
}

TEST(PeriodicOrder, RandomChains) {
  std::mt19937 random(1);
  int proven = 0, refused = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string streams = randomChain(random);
    absl::StatusOr<Program> program = parseProgram(
        "program \"p\" semaphores=8 barriers=1 l1=8192 l2=4096 l3=10000000 host=0 table=1 {\n" +
        streams + "}\n");
    ASSERT_TRUE(program.ok()) << program.status() << streams;
    const RunView view = {0, 0, {1}};
    absl::Status every = proveOrder(*program, view, kLimit, /*everyTrip=*/true).status();
    absl::Status order = proveOrder(*program, view, kLimit).status();
    ASSERT_EQ(every.ok(), order.ok()) << every << "\n" << order << "\n" << streams;
    ++(every.ok() ? proven : refused);
  }
  EXPECT_GT(proven, 200);
  EXPECT_GT(refused, 200);
}

TEST(StridedBytes, Meet) {
  std::mt19937 random(7);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int met = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<StridedBytes> sets;
    std::vector<std::set<int64_t>> bytes;
    for (int s = 0; s < 2; ++s) {
      int64_t offset = draw(0, 60), width = draw(1, 4);
      StridedBytes::Dims dims;
      for (int64_t d = draw(0, 3); d > 0; --d)
        dims.push_back({draw(1, 4), draw(-20, 20)});
      int64_t count = draw(1, 3), delta = draw(-30, 30);
      std::vector<int64_t> starts = {offset};
      auto repeat = [&](int64_t times, int64_t stride) {
        std::vector<int64_t> more;
        for (int64_t start : starts)
          for (int64_t k = 0; k < times; ++k)
            more.push_back(start + k * stride);
        starts = more;
      };
      for (const StridedBytes::Dim &dim : dims)
        repeat(dim.count, dim.stride);
      repeat(count, delta);
      sets.push_back(StridedBytes(offset, dims, width).repeated(count, delta));
      bytes.emplace_back();
      for (int64_t start : starts)
        for (int64_t b = 0; b < width; ++b)
          bytes.back().insert(start + b);
      EXPECT_EQ(sets.back().low, *bytes.back().begin());
      EXPECT_EQ(sets.back().high, *bytes.back().rbegin() + 1);
    }
    bool expected = std::any_of(bytes[0].begin(), bytes[0].end(),
                                [&](int64_t b) { return bytes[1].count(b) != 0; });
    met += expected;
    ASSERT_EQ(sets[0].meets(sets[1]), expected) << "case " << i;
  }
  EXPECT_GT(met, 4000);
  EXPECT_LT(met, 16000);
}

} // namespace
} // namespace st::dtu
