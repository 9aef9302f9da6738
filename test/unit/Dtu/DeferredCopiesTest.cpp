// Compares deferred copies with memories in which they were executed at once.
#include "backends/dtu/simulator/data/DeferredCopies.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace st::dtu {
namespace {

using Found = DeferredCopies::Found;

constexpr int64_t kCores = 2, kPlace = 16384, kL3 = 65536;

/// The L1s followed by L2, and L3.
struct Memories {
  std::vector<uint8_t> chip = std::vector<uint8_t>((kCores + 1) * kPlace),
                       l3 = std::vector<uint8_t>(kL3);
};

class DeferredCopiesTest : public testing::Test {
public:
  std::mt19937 random{7};
  Memories eager, lazy;
  DeferredCopies deferred;
  int64_t putOff = 0, foundElsewhere = 0, passedOn = 0;

  int64_t below(int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
  }

  void SetUp() override {
    deferred.reset(kCores);
    for (int64_t i = 0; i < kL3; ++i)
      eager.l3[i] = lazy.l3[i] = static_cast<uint8_t>(random());
  }

  void tellOfWrite(int64_t place, const uint8_t *low, const uint8_t *high, bool all) {
    if (place == kCores)
      deferred.beforeSourceWrite(low, high);
    deferred.beforeWrite(place, low, high, all);
  }

  struct Side {
    int64_t at, stride;
  };

  /// `rows` rows of `row` bytes, from L2 or L3.
  void copyTile(int64_t place, bool fromL2, int64_t rows, int64_t row, Side to, Side from) {
    const int64_t sizes[] = {rows, row}, dst[] = {to.stride, 1}, src[] = {from.stride, 1};
    CopyPlan plan = planCopy(2, sizes, dst, src, 1, 1);
    auto source = [&](Memories &of) {
      return fromL2 ? &of.chip[kCores * kPlace + from.at] : &of.l3[from.at];
    };
    runCopy(plan, &eager.chip[to.at], source(eager), nullptr);

    uint8_t *low = &lazy.chip[to.at];
    RowsView view;
    const bool waits = DeferredCopies::canDefer(plan, view);
    view.data = source(lazy);
    if (fromL2 && waits)
      deferred.find(kCores, view, Found::Split);
    else if (fromL2)
      deferred.beforeRead(kCores, view.data + plan.srcLow, view.data + plan.srcHigh);
    tellOfWrite(place, low + plan.dstLow, low + plan.dstHigh, isDense(plan));
    if (!waits)
      return runCopy(plan, low, source(lazy), nullptr);
    deferred.defer(place, low, view);
    ++putOff;
    passedOn += fromL2 && view.data != source(lazy);
  }

  /// From L3 to an L1 or L2, or from L2 to an L1; sometimes in two parts in either order.
  void copy() {
    const bool fromL2 = below(2);
    const int64_t place = below(fromL2 ? kCores : kCores + 1);
    const int64_t rows = 1 + below(6), row = 256 * (1 + below(4));
    Side to, from;
    from.stride = row + (below(2) ? 0 : 64 * below(6));
    to.stride = below(4) ? row : row + 64;
    to.at = place * kPlace + 256 * below((kPlace - rows * (row + 64)) / 256);
    from.at = 256 * below(((fromL2 ? kPlace : kL3) - rows * from.stride) / 256);
    const int64_t first = below(rows);
    Side toRest = {to.at + first * to.stride, to.stride},
         fromRest = {from.at + first * from.stride, from.stride};
    const bool restFirst = below(2);
    if (restFirst)
      copyTile(place, fromL2, rows - first, row, toRest, fromRest);
    if (first)
      copyTile(place, fromL2, first, row, to, from);
    if (!restFirst)
      copyTile(place, fromL2, rows - first, row, toRest, fromRest);
  }

  /// Both memories get the same bytes.
  void fill(std::vector<uint8_t> &one, std::vector<uint8_t> &other, int64_t at, int64_t bytes) {
    const uint8_t value = static_cast<uint8_t>(random());
    std::memset(&one[at], value, static_cast<size_t>(bytes));
    std::memset(&other[at], value, static_cast<size_t>(bytes));
  }

  void write() {
    const int64_t place = below(kCores + 1), bytes = 1 + below(3000);
    const int64_t at = place * kPlace + below(kPlace - bytes);
    tellOfWrite(place, &lazy.chip[at], &lazy.chip[at] + bytes, /*all=*/below(2));
    fill(eager.chip, lazy.chip, at, bytes);
  }

  void writeSource() {
    const int64_t bytes = 1 + below(2000), at = below(kL3 - bytes);
    deferred.beforeSourceWrite(&lazy.l3[at], &lazy.l3[at] + bytes);
    fill(eager.l3, lazy.l3, at, bytes);
  }

  void read() {
    const int64_t place = below(kCores + 1), bytes = 1 + below(500);
    const int64_t at = place * kPlace + below(kPlace - bytes);
    deferred.beforeRead(place, &lazy.chip[at], &lazy.chip[at] + bytes);
    EXPECT_EQ(std::memcmp(&lazy.chip[at], &eager.chip[at], static_cast<size_t>(bytes)), 0);
  }

  void find() {
    const int64_t place = below(kCores + 1), rows = 1 + below(3), rowBytes = 64 * (1 + below(12));
    const int64_t stride = below(2) ? 256 * ((rowBytes + 255) / 256) : rowBytes;
    const int64_t at = place * kPlace + 64 * below((kPlace - rows * stride) / 64);
    RowsView view = {&lazy.chip[at], rows, rowBytes, stride};
    RowsView found = view;
    deferred.find(place, found, Found::Apart);
    EXPECT_EQ(found.isElsewhere, found.data != view.data);
    foundElsewhere += found.isElsewhere;
    for (int64_t r = 0; r < rows; ++r)
      EXPECT_EQ(std::memcmp(found.data + r * found.stride, &eager.chip[at + r * stride],
                            static_cast<size_t>(rowBytes)),
                0);
  }
};

TEST_F(DeferredCopiesTest, NobodySeesThatTheyWerePutOff) {
  void (DeferredCopiesTest::*const steps[])() = {
      &DeferredCopiesTest::copy, &DeferredCopiesTest::copy,        &DeferredCopiesTest::copy,
      &DeferredCopiesTest::read, &DeferredCopiesTest::write,       &DeferredCopiesTest::find,
      &DeferredCopiesTest::find, &DeferredCopiesTest::writeSource,
  };
  for (int i = 0; i < 200000 && !HasFailure(); ++i)
    (this->*steps[below(8)])();
  // Many requests hit no deferred copy, or another shape.
  EXPECT_GT(putOff, 10000);
  EXPECT_GT(foundElsewhere, 1000);
  EXPECT_GT(passedOn, 100);
}

TEST_F(DeferredCopiesTest, OverwrittenCopiesAreNeverMade) {
  const int64_t sizes[] = {2048}, one[] = {1};
  CopyPlan plan = planCopy(1, sizes, one, one, 1, 1);
  RowsView rows;
  ASSERT_TRUE(DeferredCopies::canDefer(plan, rows));
  rows.data = &lazy.l3[0];
  deferred.defer(0, &lazy.chip[0], rows);
  deferred.beforeWrite(0, &lazy.chip[0], &lazy.chip[0] + 2048, /*all=*/true);
  deferred.beforeRead(0, &lazy.chip[0], &lazy.chip[0] + 2048);
  EXPECT_EQ(lazy.chip, Memories().chip);
}

TEST_F(DeferredCopiesTest, RowsOfATileComeFromWhereTheTileIsFrom) {
  // Four rows of 512 bytes, 1024 apart in L3 and adjacent in L2; the last two are copied on to an
  // L1.
  deferred.defer(kCores, &lazy.chip[kCores * kPlace], {&lazy.l3[0], 4, 512, 1024});
  RowsView rows = {&lazy.chip[kCores * kPlace] + 1024, 1, 1024, 1024};
  deferred.find(kCores, rows, Found::Split);
  EXPECT_EQ(rows.data, &lazy.l3[2048]);
  EXPECT_EQ(rows.rows, 2);
  EXPECT_EQ(rows.rowBytes, 512);
  EXPECT_EQ(rows.stride, 1024);
  deferred.defer(0, &lazy.chip[0], rows);
  // Another tile replaces the first one in L2: that moves nothing.
  tellOfWrite(kCores, &lazy.chip[kCores * kPlace], &lazy.chip[kCores * kPlace] + 2048, true);
  EXPECT_EQ(lazy.chip, Memories().chip);
  deferred.beforeRead(0, &lazy.chip[0], &lazy.chip[0] + 1024);
  EXPECT_EQ(std::memcmp(&lazy.chip[0], &lazy.l3[2048], 512), 0);
  EXPECT_EQ(std::memcmp(&lazy.chip[512], &lazy.l3[3072], 512), 0);
}

TEST_F(DeferredCopiesTest, PartsOfATileAreOne) {
  // Rows 4, 5, then 0, 1, then 2, 3 of a tile of six rows; the first is overwritten.
  for (int64_t row : {4, 0, 2})
    deferred.defer(0, &lazy.chip[0] + 512 * row, {&lazy.l3[0] + 1024 * row, 2, 512, 1024});
  RowsView tile = {&lazy.chip[0], 6, 512, 512};
  RowsView found = tile;
  deferred.find(0, found, Found::Apart);
  EXPECT_EQ(found.data, &lazy.l3[0]);
  deferred.beforeWrite(0, &lazy.chip[0], &lazy.chip[0] + 512, /*all=*/true);
  tile.data += 512;
  tile.rows = 5;
  found = tile;
  deferred.find(0, found, Found::Apart);
  EXPECT_EQ(found.data, &lazy.l3[1024]);
  EXPECT_EQ(lazy.chip, Memories().chip);
}

} // namespace
} // namespace st::dtu
