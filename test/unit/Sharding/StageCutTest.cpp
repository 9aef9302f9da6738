// Positions at which consecutive costs are cut.

#include "passes/Partition/Stages/StageCut.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::st;

static std::vector<int64_t> lengthsOf(ArrayRef<double> costs, int64_t parts) {
  std::vector<int64_t> lengths(parts, 0);
  for (int64_t run : splitEvenly(costs, parts))
    ++lengths[run];
  return lengths;
}

// Ten equal layers in four stages can be cut in six equally even ways, regardless of the rounding
// of sums.
TEST(StageCut, FirstRunsAreShort) {
  for (double layer : {0.1, 0.3, 0.7, 1.1, 2.2, 1e-9, 12345.678}) {
    EXPECT_EQ(lengthsOf(SmallVector<double>(10, layer), 4), (std::vector<int64_t>{2, 2, 3, 3}));
    // Embeddings, twelve layers, and a head in a separate stage.
    SmallVector<double> model(14, layer);
    model.front() = 0.01 * layer;
    model.back() = 5.45 * layer;
    EXPECT_EQ(lengthsOf(model, 8), (std::vector<int64_t>{2, 1, 2, 2, 2, 2, 2, 1}));
  }
}

TEST(StageCut, LayersWithoutCosts) {
  EXPECT_EQ(lengthsOf({0, 0, 0}, 3), (std::vector<int64_t>{1, 1, 1}));
}
