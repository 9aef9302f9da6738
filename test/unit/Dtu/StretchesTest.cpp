// Layers and ranks that do the same are proven once; one that differs, by its code, its addresses
// or its rank, is found among them.
#include "backends/dtu/isa/order/Stretches.h"
#include "backends/dtu/isa/Binary.h"
#include "backends/dtu/isa/Text.h"
#include "backends/dtu/isa/order/ExecutableOrder.h"
#include "backends/dtu/isa/order/IntervalGrid.h"
#include "backends/dtu/isa/order/ProgramOrder.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

namespace st::dtu {
namespace {

constexpr int64_t kLimit = 10'000'000;

/// Two queues load a tile for their cores, and store what these make of it. Each one loads what the
/// other stored in the layer before.
struct Layer {
  int source = 0, target = 0;
  int stride = 256; ///< between the tiles of the two
  bool hasWait = true, hasSignal = true, hasBarrier = true;
  std::string rank; ///< a term of the target's address

  std::string queue() const {
    return absl::StrCat(
        "copy dst=L1[0;1*r1]{4} src=L3[", source + 256, "-256*r1]{4} sizes=[64]\nsignal sem=1*r1\n",
        hasWait ? "wait sem=2+1*r1\n" : "", "table dst=r9\nindex dst=r8 value=", target, "+",
        stride, "*r1", rank, "\ncopy dst=L3[1*r8]{4} src=L1[1024;1*r1]{4} sizes=[64]\n",
        hasBarrier ? "barrier participants=2\n" : "");
  }
  std::string core() const {
    return absl::StrCat("wait sem=1*r1\nvector op=neg dst=f32:L1[1024]{64,1} a=f32:L1[0]{64,1} "
                        "rows=1 cols=64\n",
                        hasSignal ? "signal sem=2+1*r1\n" : "");
  }
};

Program programOf(const std::vector<Layer> &layers) {
  std::string queue, core;
  for (const Layer &layer : layers) {
    queue += layer.queue();
    core += layer.core();
  }
  auto program = parseProgram(absl::StrCat(
      "program \"p\" semaphores=4 barriers=1 l1=4096 l2=0 l3=1048576 host=0 table=1 {\n",
      "stream dte first=0 count=2 {\n", queue, "}\nstream core first=0 count=2 {\n", core,
      "}\n}\n"));
  EXPECT_TRUE(program.ok()) << program.status();
  return *program;
}

/// Layer i reads what layer i - 1 wrote.
std::vector<Layer> layersOf(int count) {
  std::vector<Layer> layers(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    layers[static_cast<size_t>(i)].source = 1024 * i;
    layers[static_cast<size_t>(i)].target = 1024 * (i + 1);
  }
  return layers;
}

/// Compares with the proof that follows every instruction.
absl::StatusOr<ProgramOrder> prove(const std::vector<Layer> &layers) {
  const Program program = programOf(layers);
  const RunView view = {0, 0, {0}};
  absl::StatusOr<ProgramOrder> order = proveOrder(program, view, kLimit),
                               every = proveOrder(program, view, kLimit, /*everyTrip=*/true);
  EXPECT_EQ(order.ok(), every.ok()) << order.status() << "\n" << every.status();
  return order;
}

TEST(Stretches, EqualLayersAreFollowedOnce) {
  auto few = prove(layersOf(3)), many = prove(layersOf(63));
  ASSERT_TRUE(few.ok() && many.ok()) << few.status() << many.status();
  EXPECT_LT(many->executed, few->executed + 60 * 4);
}

TEST(Stretches, OneFaultyLayerOfManyIsNamed) {
  // Instructions of a queue's layer.
  constexpr int kLength = 7;
  const std::vector<std::pair<std::string, std::function<void(Layer &)>>> faults = {
      {"no synchronisation orders them", [](Layer &layer) { layer.stride = 192; }},
      {"no synchronisation orders them", [](Layer &layer) { layer.target = layer.source; }},
      {"no synchronisation orders them", [](Layer &layer) { layer.hasWait = false; }},
      {"no synchronisation orders them", [](Layer &layer) { layer.hasBarrier = false; }},
      {"waits forever", [](Layer &layer) { layer.hasSignal = false; }}};
  for (const auto &[what, plant] : faults)
    for (int at : {0, 1, 7, 18}) {
      std::vector<Layer> layers = layersOf(20);
      plant(layers[static_cast<size_t>(at)]);
      auto order = prove(layers);
      ASSERT_FALSE(order.ok());
      const std::string text(order.status().message());
      EXPECT_NE(text.find(what), std::string::npos) << text;
      // An instruction of the layer, or of the next one.
      bool isNamed = false;
      for (int i = kLength * at; i < kLength * (at + 2); ++i)
        isNamed |= text.find(absl::StrCat("instruction ", i, " ")) != std::string::npos ||
                   text.find(absl::StrCat("instruction ", i, ",")) != std::string::npos;
      EXPECT_TRUE(isNamed) << text;
    }
}

TEST(Stretches, RandomLayers) {
  std::mt19937 random(1);
  auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  int proven = 0, refused = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<Layer> layers = layersOf(2 + below(12));
    for (Layer &layer : layers) {
      layer.source = 256 * below(400);
      layer.target = 256 * below(400);
      layer.hasBarrier = below(20) > 0;
      layer.hasWait = below(60) > 0;
      layer.hasSignal = below(60) > 0;
      if (below(20) == 0)
        layer.stride = 64 * below(6);
    }
    ++(prove(layers).ok() ? proven : refused);
  }
  EXPECT_GT(proven, 200);
  EXPECT_GT(refused, 200);
}

/// Rank i stores at its own place.
std::vector<Layer> layersOfRanks() {
  std::vector<Layer> layers = layersOf(12);
  layers[6].target = 65536;
  layers[6].rank = "+1*r9";
  layers[7].source = 131072;
  return layers;
}

TEST(Stretches, RanksShareWhatDoesNotDependOnThem) {
  const Program program = programOf(layersOfRanks());
  CodeForms forms;
  const StretchCode code = forms.codeOf(program);
  StretchMemory memory;
  std::vector<int64_t> work;
  for (int64_t rank = 0; rank < 8; ++rank) {
    auto order = proveOrder(code, {rank, 0, {1024 * rank}}, kLimit, memory);
    ASSERT_TRUE(order.ok()) << order.status();
    work.push_back(order->executed);
  }
  EXPECT_LT(2 * work[1], work[0]);
  EXPECT_LT(2 * work[7], work[0]);
}

TEST(Stretches, OneFaultyRankOfManyIsNamed) {
  const Program program = programOf(layersOfRanks());
  for (int faulty : {-1, 0, 1, 5, 7}) {
    proto::Executable executable;
    proto::Group &group = *executable.add_groups();
    group.set_name("g");
    group.set_table_size(1);
    for (int rank = 0; rank < 8; ++rank) {
      group.add_device_ids(rank);
      // Each queue loads the tile of the other when the layer loads.
      group.add_rank_tables(rank == faulty ? 6 * 1024 - 65536 : 1024 * rank);
    }
    proto::Task &task = *group.add_tasks();
    task.set_name("p");
    task.set_program(encode(program));
    group.add_schedule()->set_task(0);
    auto order = proveOrder(executable, kLimit);
    if (faulty < 0) {
      ASSERT_TRUE(order.ok()) << order.status();
      EXPECT_EQ(order->runs, 8);
      EXPECT_EQ(order->proven, 8);
      continue;
    }
    ASSERT_FALSE(order.ok());
    EXPECT_NE(order.status().message().find(absl::StrCat("rank ", faulty, ",")), std::string::npos)
        << order.status();
  }
}

TEST(IntervalGrid, FindsAllThatMeet) {
  std::mt19937_64 random(3);
  auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
  for (int round = 0; round < 20; ++round) {
    IntervalGrid grid;
    std::vector<std::pair<int64_t, int64_t>> intervals;
    auto draw = [&] {
      const int64_t low = below(1 << 24), bytes = 1 + below(uint64_t(1) << below(24));
      return std::pair(low, low + bytes);
    };
    for (int i = 0; i < 300; ++i) {
      intervals.push_back(draw());
      EXPECT_EQ(grid.add(intervals.back().first, intervals.back().second), intervals.size() - 1);
      auto &grown = intervals[static_cast<size_t>(below(intervals.size()))];
      const auto more = draw();
      if (below(4) == 0) {
        grown = {std::min(grown.first, more.first), std::max(grown.second, more.second)};
        grid.grow(static_cast<uint32_t>(&grown - intervals.data()), grown.first, grown.second);
      }
      const auto [low, high] = draw();
      std::multiset<uint32_t> found;
      grid.visit(low, high, [&](uint32_t number) { found.insert(number); });
      for (uint32_t k = 0; k < intervals.size(); ++k) {
        EXPECT_LE(found.count(k), 1u);
        if (intervals[k].first < high && low < intervals[k].second)
          EXPECT_EQ(found.count(k), 1u);
      }
    }
  }
}

} // namespace
} // namespace st::dtu
