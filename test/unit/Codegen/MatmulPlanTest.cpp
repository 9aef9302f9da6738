// Tiling of products: several with one left operand in one kernel, compared with separate kernels.
#include "backends/dtu/codegen/products/MatmulTime.h"
#include "lib/Timing/DtuDescription.h"

#include <gtest/gtest.h>

namespace mlir::dtu {
namespace {

Machine t10() { return Machine(*::st::builtinDtuDescription("dtu-t10")); }

/// [rows, depth] x [depth, cols], dense, once per product.
MatmulSizes sizesOf(int64_t rows, int64_t cols, int64_t depth, int64_t products,
                    int64_t width = 4) {
  MatmulSizes sizes;
  sizes.rows = rows;
  sizes.cols = cols;
  sizes.depth = depth;
  sizes.products = products;
  sizes.width = width;
  sizes.lhs = {width, depth * width, width, false};
  sizes.rhs = {width, width, cols * width, true};
  return sizes;
}

/// The result of every product is stored unchanged.
MatmulEpilogue plain(const MatmulSizes &sizes) {
  MatmulEpilogue epilogue;
  epilogue.bytes = [=](unsigned slots, int64_t rows, int64_t cols) {
    return static_cast<int64_t>(slots) * sizes.products * rows * cols * 4;
  };
  for (int64_t index = 0; index < sizes.products; ++index)
    epilogue.stores.push_back({4, true, true, sizes.cols * 4, 4});
  return epilogue;
}

double bestTime(const MatmulSizes &sizes) {
  MatmulEpilogue epilogue = plain(sizes);
  std::optional<MatmulTiling> tiling = KnownTilings(t10()).choose(sizes, epilogue);
  EXPECT_TRUE(tiling.has_value());
  return matmulTime(sizes, *tiling, t10(), epilogue);
}

TEST(MatmulPlan, SharedOperandsAreFetchedOnce) {
  // Queries, keys and values of half a shard of BERT-large.
  for (int64_t width : {2, 4})
    EXPECT_LT(bestTime(sizesOf(192, 128, 1024, 3, width)),
              0.8 * 3 * bestTime(sizesOf(192, 128, 1024, 1, width)));
}

TEST(MatmulPlan, SmallProductsAreNoSlowerTogether) {
  // The largest products that form-kernels allows for eight cores.
  for (int64_t products : {2, 3, 4})
    for (auto [rows, cols, depth] :
         {std::tuple(512, 128, 1024), {128, 512, 64}, {256, 256, 256}, {1024, 64, 192}})
      EXPECT_LE(bestTime(sizesOf(rows, cols, depth, products)),
                1.03 * double(products) * bestTime(sizesOf(rows, cols, depth, 1)))
          << rows << "x" << cols << "x" << depth << ", " << products;
  for (int64_t products : {2, 3, 4})
    for (auto [rows, cols, depth] :
         {std::tuple(256, 128, 1024), {128, 256, 64}, {512, 64, 256}, {32, 1024, 512}})
      EXPECT_LE(bestTime(sizesOf(rows, cols, depth, products, 2)),
                1.03 * double(products) * bestTime(sizesOf(rows, cols, depth, 1, 2)))
          << rows << "x" << cols << "x" << depth << " in 16 bits, " << products;
}

TEST(MatmulPlan, EveryProductHasAPanel) {
  MatmulTiling tiling{48, 64, 32, 2, 4, 2, 2};
  EXPECT_EQ(panelBytes(sizesOf(192, 128, 1024, 1), tiling), (4 * 48 + 2 * 64) * 2 * 32 * 4);
  EXPECT_EQ(panelBytes(sizesOf(192, 128, 1024, 3), tiling), (4 * 48 + 3 * 2 * 64) * 2 * 32 * 4);
}

TEST(MatmulPlan, TilesOfAllProductsFitACore) {
  for (int64_t products : {1, 2, 3, 4}) {
    MatmulSizes sizes = sizesOf(2048, 2048, 2048, products);
    MatmulEpilogue epilogue = plain(sizes);
    std::optional<MatmulTiling> tiling = KnownTilings(t10()).choose(sizes, epilogue);
    ASSERT_TRUE(tiling.has_value());
    int64_t operands = 2 * (tiling->rows + products * tiling->cols) * tiling->depth * 4;
    EXPECT_LE(epilogue.bytes(tiling->resultSlots, tiling->rows, tiling->cols) + operands,
              t10().l1Bytes);
  }
}

} // namespace
} // namespace mlir::dtu
