// Bands of diagonals against a count of all elements: the tiles of each block of rows, and of each
// block of columns of the transposed band.
#include "dialects/StableHLO/Utils/DiagonalBand.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace mlir::st {
namespace {

bool contains(const DiagonalBand &band, int64_t row, int64_t column) {
  const int64_t diagonal = band.columnStep * column - band.rowStep * row;
  return band.first <= diagonal && diagonal <= band.last;
}

int64_t at(const DiagonalBand::TileBound &bound, int64_t row) {
  return std::max<int64_t>(bound.step * row + bound.offset, 0) / bound.divisor;
}

/// The columns [first, second) of a row between whose ends are all its elements.
std::pair<int64_t, int64_t> columnsOf(const DiagonalBand &band, int64_t row, int64_t columns) {
  int64_t first = columns, end = 0;
  for (int64_t column = 0; column < columns; ++column)
    if (contains(band, row, column)) {
      first = std::min(first, column);
      end = column + 1;
    }
  return {first, end};
}

/// The bounds of a block contain the tiles with elements, and no more if its first and last row
/// have some.
void checkTiles(const DiagonalBand &band, int64_t rows, int64_t rowTile, int64_t columns,
                int64_t columnTile) {
  const int64_t tiles = (columns + columnTile - 1) / columnTile;
  for (int64_t row = 0; row < rows; row += rowTile) {
    const int64_t first = std::min(at(band.getFirstTile(columnTile), row), tiles);
    const int64_t end = std::min(at(band.getEndTile(rowTile, columnTile), row), tiles);
    for (int64_t i = row; i < row + rowTile; ++i) { // the last block may be partial
      auto [begin, last] = columnsOf(band, i, columns);
      if (begin >= last)
        continue;
      EXPECT_LE(first, begin / columnTile);
      EXPECT_GE(end, (last - 1) / columnTile + 1);
      if (i == row) {
        EXPECT_EQ(first, begin / columnTile);
      }
      if (i == row + rowTile - 1) {
        EXPECT_EQ(end, (last - 1) / columnTile + 1);
      }
    }
  }
}

DiagonalBand drawBand(std::mt19937 &random, int64_t rowStep, int64_t columnStep) {
  auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  DiagonalBand band;
  band.rowStep = rowStep;
  band.columnStep = columnStep;
  if (draw(0, 3) > 0)
    band.last = draw(-10, 40);
  if (draw(0, 1) > 0)
    band.first = std::min(band.last, draw(-40, 10));
  return band;
}

TEST(DiagonalBand, TilesAreThoseWithElements) {
  std::mt19937 random(1);
  for (int64_t n : {1, 2, 3, 8})
    for (int64_t rowTile : {1, 4, 5})
      for (int64_t columnTile : {1, 3, 8})
        for (int i = 0; i < 40; ++i) {
          const DiagonalBand band = drawBand(random, n, 1);
          checkTiles(band, 12, rowTile, 12 * n, columnTile);
          checkTiles(band.transpose(), 12 * n, rowTile, 12, columnTile);
        }
}

TEST(DiagonalBand, JoinsAndIntersectionsContainTheirElements) {
  std::mt19937 random(2);
  for (int i = 0; i < 4000; ++i) {
    const DiagonalBand a = drawBand(random, 1 + i % 3, 1), b = drawBand(random, 1 + i % 2, 1);
    const DiagonalBand join = a.join(b), both = a.intersect(b);
    for (int64_t row = 0; row < 9; ++row)
      for (int64_t column = 0; column < 27; ++column) {
        const bool inA = contains(a, row, column), inB = contains(b, row, column);
        EXPECT_TRUE(!(inA || inB) || contains(join, row, column));
        EXPECT_TRUE(!(inA && inB) || contains(both, row, column));
        if (a.rowStep == b.rowStep) {
          EXPECT_EQ(inA && inB, contains(both, row, column));
        }
      }
  }
}

TEST(DiagonalBand, ReducedStepsHaveTheSameElements) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    const DiagonalBand band = drawBand(random, 1 + i % 6, 1 + i % 4), reduced = band.reduce();
    if (!reduced.isAll() && !reduced.isEmpty()) {
      EXPECT_EQ(std::gcd(reduced.rowStep, reduced.columnStep), 1);
    }
    for (int64_t row = 0; row < 9; ++row)
      for (int64_t column = 0; column < 27; ++column)
        EXPECT_EQ(contains(band, row, column), contains(reduced, row, column));
  }
}

TEST(DiagonalBand, CountsTheTilesOfDealtRows) {
  // Devices take 8 rows of a causal mask in turn: half of the tiles and those of the diagonal.
  DiagonalBand causal;
  causal.rowStep = 8;
  causal.last = 7;
  EXPECT_EQ(causal.countTiles(4096, 64, 32768, 128), 64 * 65 / 2 * 4);
  EXPECT_EQ(causal.transpose().countTiles(32768, 128, 4096, 64), 64 * 65 / 2 * 4);
  EXPECT_EQ(DiagonalBand::empty().countTiles(64, 64, 64, 64), std::nullopt);
}

} // namespace
} // namespace mlir::st
