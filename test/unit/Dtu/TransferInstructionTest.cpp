// Copies, fills, gathers and scatters compared with plain loops; control flow, and faults.
#include "SimulatorFixture.h"

#include "backends/dtu/isa/Names.h"

#include "absl/strings/str_join.h"

#include <numeric>
#include <random>

namespace st::dtu {
namespace {

/// A random copy in L3: sizes, strides of both sides, checked element by element.
TEST(TransferInstruction, RandomStridedCopies) {
  std::mt19937 random(5);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (int round = 0; round < 400; ++round) {
    size_t dims = 1 + below(4);
    std::vector<int64_t> sizes(dims), dst(dims), src(dims), order(dims);
    for (int64_t &size : sizes)
      size = 1 + below(round % 3 ? 6 : 40);
    // Each side orders the dimensions differently, sometimes with gaps; the source may broadcast.
    for (auto *strides : {&dst, &src}) {
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      int64_t stride = 1;
      for (int64_t d : order) {
        (*strides)[d] = stride;
        stride *= sizes[d] + (below(4) == 0 ? below(3) : 0);
      }
    }
    if (below(4) == 0)
      src[below(dims)] = 0;
    int64_t extent = 1;
    for (size_t d = 0; d < dims; ++d)
      extent += (sizes[d] - 1) * std::max(dst[d], src[d]);
    std::vector<int32_t> memory(2 * extent), expected;
    std::iota(memory.begin(), memory.end(), 1);
    expected = memory;
    int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
    for (int64_t i = 0; i < total; ++i) {
      int64_t from = 0, to = extent, rest = i;
      for (size_t d = dims; d-- > 0;) {
        from += rest % sizes[d] * src[d];
        to += rest % sizes[d] * dst[d];
        rest /= sizes[d];
      }
      expected[to] = memory[from];
    }
    for (auto *strides : {&dst, &src})
      for (int64_t &stride : *strides)
        stride *= 4;
    std::string text =
        absl::StrCat("copy dst=L3[", extent * 4, "]{", absl::StrJoin(dst, ","), "} src=L3[0]{",
                     absl::StrJoin(src, ","), "} sizes=[", absl::StrJoin(sizes, ","), "]");
    int64_t bytes = static_cast<int64_t>(memory.size()) * 4;
    ASSERT_TRUE(runOn(streamProgram("dte", text, bytes), memory).ok()) << text;
    ASSERT_EQ(memory, expected) << text;
  }
}

TEST(TransferInstruction, TranspositionsOfEveryElementSize) {
  for (const char *type : {"ui8", "ui16", "f32", "ui64"}) {
    int64_t width = byteWidth(*fromName<DType>(type)), rows = 37, cols = 53;
    std::vector<uint8_t> memory(2 * rows * cols * width);
    for (size_t i = 0; i < memory.size() / 2; ++i)
      memory[i] = static_cast<uint8_t>(i * 7 + i / 256);
    std::vector<uint8_t> expected = memory;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c)
        std::memcpy(&expected[(rows * cols + c * rows + r) * width],
                    &memory[(r * cols + c) * width], width);
    std::string text = absl::StrCat("copy dst=L3[", rows * cols * width, "]{", width, ",",
                                    rows * width, "} src=L3[0]{", cols * width, ",", width,
                                    "} sizes=[37,53] to=", type, " from=", type);
    ASSERT_TRUE(
        runOn(streamProgram("dte", text, static_cast<int64_t>(memory.size())), memory).ok());
    EXPECT_EQ(memory, expected) << type;
  }
}

TEST(TransferInstruction, ConvertingAndTransposingCopy) {
  std::vector<float> memory(64);
  for (int i = 0; i < 12; ++i)
    memory[i] = static_cast<float>(i) - 3.5f;
  std::string text = "copy dst=L3[128]{2,6} src=L3[0]{16,4} sizes=[3,4] to=bf16 from=f32\n"
                     "copy dst=L3[192]{4} src=L3[128]{2} sizes=[12] to=f32 from=bf16";
  ASSERT_TRUE(runOn(streamProgram("dte", text, 256), memory).ok());
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 4; ++c)
      EXPECT_EQ(memory[48 + c * 3 + r], memory[r * 4 + c]);
}

TEST(TransferInstruction, RaggedExtentsAndFill) {
  // Tiles of 8 over 20 elements, the last one of 4; then nothing past the limit.
  std::vector<int32_t> memory(32, 0);
  std::string text = "loop reg=r4 limit=32 step=8\n"
                     " fill dst=L3[4*r4]{4} sizes=[min(8,20-r4)] type=i32 value=0x5\nend";
  ASSERT_TRUE(runOn(streamProgram("dte", text, 128), memory).ok());
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(memory[i], i < 20 ? 5 : 0);
}

TEST(TransferInstruction, MulticastReachesEachCore) {
  Program program = parseOrDie(R"(program "m" semaphores=1 barriers=1 l1=64 l2=0 l3=256 table=0 {
  stream dte first=0 count=1 {
    copy dst=L1[0;2]{4} src=L3[0]{4} sizes=[4] multicast=3
    fill dst=L1[16;2]{4} sizes=[4] value=0x3f800000 multicast=3
    barrier participants=9
    wait count=8
    loop reg=r4 limit=3
      copy dst=L3[64+32*r4]{4} src=L1[0;2+1*r4]{4} sizes=[8]
    end
  }
  stream core first=0 count=8 {
    barrier participants=9
    signal
  }
})");
  std::vector<float> memory(64, 0.0f);
  for (int i = 0; i < 4; ++i)
    memory[i] = static_cast<float>(i + 10);
  ASSERT_TRUE(runOn(program, memory).ok());
  for (int core = 0; core < 3; ++core)
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(memory[16 + core * 8 + i], i < 4 ? static_cast<float>(i + 10) : 1.0f);
}

TEST(TransferInstruction, GatherPicksZeroesAndClamps) {
  std::vector<float> memory(64);
  std::iota(memory.begin(), memory.begin() + 12, 0.0f); // table of 4 rows of 3
  int32_t index[] = {5, 7, 3, 9};
  std::memcpy(&memory[16], index, sizeof index);
  std::string text =
      "gather dst=L3[128] table=L3[0] index=L3[64] dst_stride=16 table_stride=12 count=4 "
      "elements=3 base=4 rows=4\n"
      "gather dst=L3[192] table=L3[0] index=L3[64] dst_stride=16 table_stride=12 count=4 "
      "elements=3 base=4 rows=4 clamp=true";
  ASSERT_TRUE(runOn(streamProgram("dte", text, 256), memory).ok());
  auto row = [&](int at) {
    return std::vector<float>(memory.begin() + at, memory.begin() + at + 3);
  };
  EXPECT_EQ(row(32), std::vector<float>({3, 4, 5}));
  EXPECT_EQ(row(36), std::vector<float>({9, 10, 11}));
  EXPECT_EQ(row(40), std::vector<float>({0, 0, 0}));
  EXPECT_EQ(row(44), std::vector<float>({0, 0, 0}));
  EXPECT_EQ(row(56), std::vector<float>({0, 1, 2}));
  EXPECT_EQ(row(60), std::vector<float>({9, 10, 11}));
}

TEST(TransferInstruction, ScattersInOrderAndSkips) {
  std::vector<float> memory(64, 0.0f);
  for (int i = 0; i < 6; ++i)
    memory[16 + i] = static_cast<float>(i + 1); // 3 rows of 2
  int64_t index[] = {1, 8, 1};
  std::memcpy(&memory[32], index, sizeof index);
  std::string text = "scatter table=L3[0] src=L3[64] index=L3[128] table_stride=8 src_stride=8 "
                     "count=3 elements=2 index_type=i64 rows=4";
  ASSERT_TRUE(runOn(streamProgram("dte", text, 256), memory).ok());
  EXPECT_EQ(memory[2], 1 + 5);
  EXPECT_EQ(memory[3], 2 + 6);
  EXPECT_EQ(memory[0], 0);
}

TEST(TransferInstruction, ScatterReplacesOrCombines) {
  auto run = [](const char *combine) {
    std::vector<float> memory(64, 0.0f);
    std::vector<float> table = {1, 2, 3, 4, 5, 6, 7, 8}, source = {3, -1, 2, 5, -4, 9};
    std::copy(table.begin(), table.end(), memory.begin());
    std::copy(source.begin(), source.end(), memory.begin() + 16);
    int32_t index[] = {1, 0, 1};
    std::memcpy(&memory[32], index, sizeof index);
    std::string text = absl::StrCat("scatter table=L3[0] src=L3[64] index=L3[128] table_stride=8 "
                                    "src_stride=8 count=3 elements=2 rows=4 combine=",
                                    combine);
    EXPECT_TRUE(runOn(streamProgram("dte", text, 256), memory).ok());
    return std::vector<float>(memory.begin(), memory.begin() + 4);
  };
  EXPECT_EQ(run("none"), std::vector<float>({2, 5, -4, 9}));
  EXPECT_EQ(run("sum"), std::vector<float>({3, 7, 2, 12}));
  EXPECT_EQ(run("max"), std::vector<float>({2, 5, 3, 9}));
  EXPECT_EQ(run("min"), std::vector<float>({1, 2, -4, -1}));
  EXPECT_EQ(run("mul"), std::vector<float>({2, 10, -36, -36}));
}

TEST(TransferInstruction, LoadsWiden) {
  std::vector<int32_t> memory(64, 0);
  memory[0] = -2;
  // -2 as ui8 is 254, the trip count of a loop; as i16 it is -2.
  std::string text =
      "load dst=r4 address=L3[0] type=ui8\nloop reg=r5 limit=1*r4\n"
      "fill dst=L3[64]{4} sizes=[min(8,261-r4)] type=i32 value=0x7\nend\n"
      "load dst=r4 address=L3[0] type=i16\nfill dst=L3[128+4*r4]{4} sizes=[1] type=i32 value=0x9";
  ASSERT_TRUE(runOn(streamProgram("dte", text, 256), memory).ok());
  EXPECT_EQ(std::count(memory.begin() + 16, memory.begin() + 24, 7), 7); // 261 - 254
  EXPECT_EQ(memory[30], 9);                                              // 128 - 8
}

/// A queue counts down in memory the number of items that a core processes.
Program countdown(const std::string &limit) {
  return parseOrDie(absl::StrCat(
      R"(program "w" semaphores=2 barriers=0 l1=64 l2=0 l3=64 table=0 {
  stream dte first=0 count=1 {
    loop reg=r4 limit=)",
      limit, R"(
      copy dst=L1[0]{4} src=L3[0]{4} sizes=[1] to=i32 from=i32
      signal sem=0
      wait sem=1
      load dst=r5 address=L1[0] type=i32
      leave unless=r5
      copy dst=L3[0]{4} src=L1[4]{4} sizes=[1] to=i32 from=i32
      fill dst=L3[16+4*r4]{4} sizes=[1] type=i32 value=0x1
    end
  }
  stream core first=0 count=1 {
    loop reg=r4 limit=)",
      limit, R"(
      wait sem=0
      load dst=r5 address=L1[0] type=i32
      vector op=fill dst=i32:L1[8]{0,1} rows=1 cols=1 value=0x1
      vector op=sub dst=i32:L1[4]{0,1} a=i32:L1[0]{0,1} b=i32:L1[8]{0,1} rows=1 cols=1
      signal sem=1
      leave unless=r5
    end
  }
})"));
}

TEST(TransferInstruction, LoopsEndWhereDataSays) {
  auto simulator = makeSimulator(rankConfigs(1, 64));
  absl::StatusOr<ProgramId> id = simulator->load(countdown("100"));
  ASSERT_TRUE(id.ok()) << id.status();
  std::vector<RankSchedule> schedule = {{{*id, 0}}};
  absl::Status unknown = simulator->time(schedule).status();
  EXPECT_NE(unknown.message().find("known only once the program has run on data"),
            absl::string_view::npos)
      << unknown;
  std::vector<int64_t> totals;
  for (int32_t trips : {0, 3, 6}) {
    std::memset(simulator->memory(0), 0, 64);
    std::memcpy(simulator->memory(0), &trips, 4);
    ASSERT_TRUE(simulator->execute(schedule).ok());
    int32_t memory[16];
    std::memcpy(memory, simulator->memory(0), 64);
    EXPECT_EQ(memory[0], 0);
    EXPECT_EQ(std::count(memory + 4, memory + 16, 1), trips);
    absl::StatusOr<TimingResult> time = simulator->time(schedule);
    ASSERT_TRUE(time.ok()) << time.status();
    EXPECT_LE(time->rooflineBound, time->total);
    EXPECT_LE(time->total, time->serialSum);
    totals.push_back(time->total);
  }
  // Every trip takes as long.
  EXPECT_GT(totals[1], totals[0]);
  EXPECT_EQ(totals[2] - totals[1], totals[1] - totals[0]);
}

TEST(TransferInstruction, IndexTableAndNestedLoops) {
  RankConfig config = rankConfigs(1, 256)[0];
  config.table = {3, 40};
  config.rankInGroup = 2;
  auto simulator = makeSimulator({config});
  // 2 x 3 positions, each stored at a position that Index derives and shifted by table and rank.
  Program program = parseOrDie(R"(program "i" semaphores=0 barriers=0 l1=0 l2=0 l3=256 table=2 {
  stream dte first=0 count=1 {
    table dst=r10 index=1
    loop reg=r4 limit=1*r2
      loop reg=r5 start=1 limit=6 step=2
        index dst=r6 value=7*r4+1*r5 divide=2 modulo=4 multiply=8
        fill dst=L3[1*r6+1*r10+16*r3]{4} sizes=[1] type=i32 value=0x7
      end
    end
  }
})");
  absl::StatusOr<ProgramId> id = simulator->load(program);
  ASSERT_TRUE(id.ok()) << id.status();
  ASSERT_TRUE(simulator->execute({{{*id, 2}}}).ok());
  std::vector<int> expected(64, 0);
  for (int a = 0; a < 2; ++a)
    for (int b = 1; b < 6; b += 2)
      expected[((7 * a + b) / 2 % 4 * 8 + 40 + 32) / 4] = 7;
  for (int i = 0; i < 64; ++i) {
    int32_t value;
    std::memcpy(&value, simulator->memory(0) + 4 * i, 4);
    EXPECT_EQ(value, expected[i]) << i;
  }
}

std::string faultOf(const char *engine, const std::string &body) {
  std::vector<int32_t> memory(64, 100);
  return std::string(runOn(streamProgram(engine, body, 256), memory).message());
}

TEST(TransferInstruction, FaultsNameThePlaceAndTheBytes) {
  std::string dynamic = "index dst=r4 value=300\n";
  EXPECT_EQ(faultOf("dte", dynamic + "fill dst=L3[1*r4]{4} sizes=[4]"),
            "rank 0, program 'p', stream 0 (dte), instruction 1 (fill dst=L3[1*r4]{4} sizes=[4]), "
            "dte 0: destination covers bytes 300 to 316 of L3, but the program has only 256");
  EXPECT_NE(faultOf("dte", "index dst=r4 value=2\nfill dst=L3[1*r4]{4} sizes=[4]")
                .find("destination at byte 2 of L3 is not aligned to 4"),
            std::string::npos);
  EXPECT_NE(faultOf("dte", "index dst=r4 value=8\nfill dst=L1[0;1*r4]{4} sizes=[4]")
                .find("destination names core 8 of 8"),
            std::string::npos);
  EXPECT_NE(faultOf("dte", "index dst=r4 value=1\n"
                           "fill dst=L3[4611686018427387904*r4]{4} sizes=[4]")
                .find("destination covers"),
            std::string::npos);
  EXPECT_NE(faultOf("dte", "index dst=r4 value=-1").find("index of the negative value -1"),
            std::string::npos);
  EXPECT_NE(faultOf("dte", "index dst=r4 value=9\nwait sem=1*r4")
                .find("semaphore 9, but the program has only 8"),
            std::string::npos);
  EXPECT_NE(faultOf("tx", "index dst=r4 value=5\nsend peer=r4 src=L3[0]{4} sizes=[4]")
                .find("rank 5 of 1"),
            std::string::npos);
  EXPECT_NE(faultOf("core", "index dst=r4 value=65000\nvector op=neg dst=f32:L1[0]{0,1} "
                            "a=f32:L1[1*r4]{0,1} rows=1 cols=200")
                .find("operand a covers bytes 65000 to 65800 of L1"),
            std::string::npos);
}

TEST(TransferInstruction, CopiesBetweenAllLevels) {
  std::vector<int32_t> memory(32, 0);
  std::iota(memory.begin(), memory.begin() + 8, 1);
  std::string text = "copy dst=L2[64]{4} src=L3[0]{4} sizes=[8]\n"
                     "copy dst=L1[32;7]{4} src=L2[64]{4} sizes=[8]\n"
                     "copy dst=L1[0;3]{4} src=L1[32;7]{4} sizes=[8]\n"
                     "copy dst=L3[64]{4} src=L1[0;3]{4} sizes=[8]";
  ASSERT_TRUE(runOn(streamProgram("dte", text, 128), memory).ok());
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(memory[16 + i], i + 1);
}

TEST(TransferInstruction, TheHostKeepsWhatOneTaskHandsToTheNext) {
  // Reversed on the way out; the second task reads through L1 into other bytes of L3.
  const std::string header =
      "program \"p\" semaphores=0 barriers=0 l1=64 l2=0 l3=64 host=96 table=0 {\n"
      "stream dte first=9 count=1 {\n";
  Program out = parseOrDie(header + "copy dst=host[92]{-4} src=L3[0]{4} sizes=[8]\n}\n}\n");
  Program in = parseOrDie(header + "copy dst=L1[0;3]{4} src=host[64]{4} sizes=[8]\n"
                                   "copy dst=L3[32]{4} src=L1[0;3]{4} sizes=[8]\n}\n}\n");
  auto simulator = makeSimulator(rankConfigs(1, 64, 96));
  RankSchedule schedule = {{*simulator->load(out), 0}, {*simulator->load(in), 0}};
  auto *memory = reinterpret_cast<int32_t *>(simulator->memory(0));
  std::iota(memory, memory + 8, 1);
  ASSERT_TRUE(simulator->execute({schedule}).ok());
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(memory[8 + i], 8 - i);
}

TEST(TransferInstruction, TheHostsMemoryHasToBeThere) {
  Program program =
      parseOrDie("program \"p\" semaphores=0 barriers=0 l1=0 l2=0 l3=64 host=96 table=0 {\n"
                 "stream dte first=0 count=1 {\nindex dst=r4 value=80\n"
                 "copy dst=L3[0]{4} src=host[1*r4]{4} sizes=[8]\n}\n}\n");
  auto simulator = makeSimulator(rankConfigs(1, 64, 96));
  EXPECT_NE(simulator->execute({{{*simulator->load(program), 0}}})
                .message()
                .find("source covers bytes 80 to 112 of host, but the program has only 96"),
            std::string::npos);
  simulator = makeSimulator(rankConfigs(1, 64, 64));
  EXPECT_EQ(simulator->execute({{{*simulator->load(program), 0}}}).message(),
            "program 'p' uses 96 bytes of the host's memory; rank 0 has 64");
  proto::DtuDescription description = *builtinDtuDescription("dtu-t10");
  description.mutable_host_bytes_per_chip()->set_value(256);
  description.mutable_host_bytes_per_chip()->set_source("a: a test");
  EXPECT_EQ(Simulator::create(description, rankConfigs(1, 64, 96)).status().message(),
            "rank 0 needs 96 bytes of the host's memory, but a cluster of dtu-t10 has 64");
  description.clear_host_bytes_per_chip();
  description.clear_host_gbytes_per_second();
  EXPECT_EQ(Simulator::create(description, rankConfigs(1, 64)).status().message(),
            "host_gbytes_per_second: is missing");
  description.clear_host_latency_ns();
  EXPECT_EQ(Simulator::create(description, rankConfigs(1, 64, 96)).status().message(),
            "rank 0 needs 96 bytes of the host's memory, to which dtu-t10 has no link");
}

} // namespace
} // namespace st::dtu
