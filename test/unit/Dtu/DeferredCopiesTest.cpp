// Copies that are put off, against memories in which they were carried out at once.
#include "backends/dtu/simulator/DeferredCopies.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace st::dtu {
namespace {

constexpr int64_t kCores = 2, kL1 = 16384, kL3 = 65536;

struct Memories {
  std::vector<uint8_t> l1 = std::vector<uint8_t>(kCores * kL1), l3 = std::vector<uint8_t>(kL3);
};

class DeferredCopiesTest : public testing::Test {
public:
  std::mt19937 random{7};
  Memories eager, lazy;
  DeferredCopies deferred;
  int64_t putOff = 0, foundElsewhere = 0;

  int64_t below(int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
  }

  void SetUp() override {
    deferred.reset(kCores);
    for (int64_t i = 0; i < kL3; ++i)
      eager.l3[i] = lazy.l3[i] = static_cast<uint8_t>(random());
  }

  void copy() {
    const int64_t core = below(kCores), rows = 1 + below(4), row = 256 * (1 + below(4));
    const int64_t srcStride = row + 64 * below(6), dstStride = below(4) ? row : row + 64;
    const int64_t at = 64 * below((kL1 - rows * (row + 64)) / 64), to = core * kL1 + at;
    const int64_t from = 64 * below((kL3 - rows * srcStride) / 64);
    const int64_t sizes[] = {rows, row}, dst[] = {dstStride, 1}, src[] = {srcStride, 1};
    CopyPlan plan = planCopy(2, sizes, dst, src, 1, 1);
    runCopy(plan, &eager.l1[to], &eager.l3[from], nullptr);
    uint8_t *low = &lazy.l1[to];
    deferred.beforeWrite(core, low + plan.dstLow, low + plan.dstHigh, isDense(plan));
    if (deferred.defer(core, plan, low, &lazy.l3[from]))
      ++putOff;
    else
      runCopy(plan, low, &lazy.l3[from], nullptr);
  }

  /// Both memories get the same bytes.
  void fill(std::vector<uint8_t> &one, std::vector<uint8_t> &other, int64_t at, int64_t bytes) {
    const uint8_t value = static_cast<uint8_t>(random());
    std::memset(&one[at], value, static_cast<size_t>(bytes));
    std::memset(&other[at], value, static_cast<size_t>(bytes));
  }

  void write() {
    const int64_t core = below(kCores), bytes = 1 + below(3000), at = below(kL1 - bytes);
    const uint8_t *low = &lazy.l1[core * kL1 + at];
    deferred.beforeWrite(core, low, low + bytes, /*all=*/below(2));
    fill(eager.l1, lazy.l1, core * kL1 + at, bytes);
  }

  void writeSource() {
    const int64_t bytes = 1 + below(2000), at = below(kL3 - bytes);
    deferred.beforeSourceWrite(&lazy.l3[at], &lazy.l3[at] + bytes);
    fill(eager.l3, lazy.l3, at, bytes);
  }

  void read() {
    const int64_t core = below(kCores), bytes = 1 + below(500),
                  at = core * kL1 + below(kL1 - bytes);
    deferred.beforeRead(core, &lazy.l1[at], &lazy.l1[at] + bytes);
    EXPECT_EQ(std::memcmp(&lazy.l1[at], &eager.l1[at], static_cast<size_t>(bytes)), 0);
  }

  void find() {
    const int64_t core = below(kCores), rows = 1 + below(3), rowBytes = 64 * (1 + below(12));
    const int64_t stride = below(2) ? 256 * ((rowBytes + 255) / 256) : rowBytes;
    const int64_t at = core * kL1 + 64 * below((kL1 - rows * stride) / 64);
    const bool dense = below(4) == 0;
    RowsView view = {&lazy.l1[at], rows, rowBytes, stride};
    RowsView found = deferred.find(core, view, dense);
    foundElsewhere += found.data != view.data;
    if (dense)
      EXPECT_EQ(found.stride, stride);
    for (int64_t r = 0; r < rows; ++r)
      EXPECT_EQ(std::memcmp(found.data + r * found.stride, &eager.l1[at + r * stride],
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
  // What is asked for is often where nothing is put off, or in another shape.
  EXPECT_GT(putOff, 10000);
  EXPECT_GT(foundElsewhere, 1000);
}

TEST_F(DeferredCopiesTest, WhatIsOverwrittenIsNeverMoved) {
  const int64_t sizes[] = {2048}, one[] = {1};
  CopyPlan plan = planCopy(1, sizes, one, one, 1, 1);
  ASSERT_TRUE(deferred.defer(0, plan, &lazy.l1[0], &lazy.l3[0]));
  deferred.beforeWrite(0, &lazy.l1[0], &lazy.l1[0] + 2048, /*all=*/true);
  deferred.beforeRead(0, &lazy.l1[0], &lazy.l1[0] + 2048);
  EXPECT_EQ(lazy.l1, std::vector<uint8_t>(kCores * kL1));
}

} // namespace
} // namespace st::dtu
