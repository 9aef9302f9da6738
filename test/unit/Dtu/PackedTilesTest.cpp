// Tiles that are packed once for all products that read them, while their source is written to.
#include "backends/dtu/simulator/data/PackedTiles.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace st::dtu {
namespace {

TEST(PackedTilesTest, FilledIsWhatTheSourceHolds) {
  constexpr int64_t kSize = 8192;
  std::mt19937 random{11};
  auto below = [&](int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
  };
  std::vector<uint8_t> memory(kSize);
  PackedTiles tiles;
  int64_t filled = 0;
  for (int i = 0; i < 20000; ++i) {
    if (below(4) == 0) {
      const int64_t count = 1 + below(64), at = below(kSize - count);
      tiles.beforeSourceWrite(&memory[at], &memory[at] + count);
      for (int64_t e = at; e < at + count; ++e)
        memory[e] = static_cast<uint8_t>(random());
      continue;
    }
    // Few shapes, so that many tiles are requested again.
    const RowsView rows = {&memory[1024 * below(2)], 1 + below(3), 8 * (1 + below(2)),
                           32 * (1 + below(2))};
    const DType type = below(2) ? DType::F32 : DType::BF16;
    const bool transposed = below(2);
    std::vector<uint8_t> wanted = {static_cast<uint8_t>(type), transposed};
    for (int64_t r = 0; r < rows.rows; ++r)
      wanted.insert(wanted.end(), rows.data + r * rows.stride,
                    rows.data + r * rows.stride + rows.rowBytes);
    auto packed = tiles.get(rows, type, transposed, static_cast<int64_t>(wanted.size()));
    filled += packed.isFilled;
    if (packed.isFilled)
      ASSERT_EQ(std::memcmp(packed.data, wanted.data(), wanted.size()), 0);
    else
      std::memcpy(packed.data, wanted.data(), wanted.size());
  }
  EXPECT_GT(filled, 1000);
}

TEST(PackedTilesTest, WritesElsewhereDoNotCount) {
  std::vector<uint8_t> memory(1024);
  const RowsView rows = {&memory[256], 2, 16, 128};
  PackedTiles tiles;
  auto isFilled = [&] { return tiles.get(rows, DType::F32, false, 32).isFilled; };
  EXPECT_FALSE(isFilled());
  EXPECT_TRUE(isFilled());
  const uint8_t *end = rows.data + 128 + 16;
  tiles.beforeSourceWrite(end, end + 4);
  tiles.beforeSourceWrite(rows.data - 4, rows.data);
  EXPECT_TRUE(isFilled());
  tiles.beforeSourceWrite(end - 1, end + 4);
  EXPECT_FALSE(isFilled());
  tiles.reset();
  EXPECT_FALSE(isFilled());
}

} // namespace
} // namespace st::dtu
