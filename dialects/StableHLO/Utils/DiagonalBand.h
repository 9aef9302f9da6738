// Bands of diagonals: the elements that affect the result of a kernel of rows and columns, such as
// attention under a causal mask or a sliding window.
//
// Masks compare linear forms of positions, for example `i - j >= 0` and `i - j < w` for row i and
// column j. Such a comparison, or a conjunction of several, holds on a band of diagonals. Outside
// the band, sums add zeros, maxima have a greater element elsewhere in the row, and products
// multiply zeros. So a loop over the columns of some rows, or over the rows of some columns, needs
// to visit the band only.
//
// If rows are distributed over devices round-robin, row i of a device is row `n * i + d` of all
// rows, and d is known only at run time. The band then moves by n columns per row, and is valid for
// every d.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"

#include <optional>
#include <utility>

namespace mlir::st {

/// A number of at most this value, added to a score, makes its exp 0 relative to other columns.
constexpr double kFarBelow = -1e30;

/// The elements for which `columnStep * column - rowStep * row` is at least `first` and at most
/// `last`.
struct DiagonalBand {
  static constexpr int64_t kUnbounded = int64_t(1) << 40;
  int64_t first = -kUnbounded, last = kUnbounded;
  int64_t rowStep = 1, columnStep = 1;

  static DiagonalBand empty() { return {kUnbounded, -kUnbounded}; }

  bool isAll() const { return first <= -kUnbounded && last >= kUnbounded; }
  bool isEmpty() const { return first > last; }
  bool hasFirst() const { return first > -kUnbounded; }
  bool hasLast() const { return last < kUnbounded; }
  bool operator==(const DiagonalBand &other) const {
    return first == other.first && last == other.last && rowStep == other.rowStep &&
           columnStep == other.columnStep;
  }
  /// A band that contains the elements of both. It is the smallest if the steps are equal.
  DiagonalBand intersect(const DiagonalBand &other) const;
  /// The smallest band that contains both; all elements if the steps differ.
  DiagonalBand join(const DiagonalBand &other) const;
  /// The same elements with steps without a common divisor.
  DiagonalBand reduce() const;
  /// The band with rows and columns exchanged.
  DiagonalBand transpose() const { return {-last, -first, columnStep, rowStep}; }

  /// A bound of the tiles of a block of rows: floor(max(step * row + offset, 0) / divisor), where
  /// `row` is the block's first row.
  struct TileBound {
    int64_t step, offset, divisor;
  };
  /// The first tile of `columnTile` columns that holds an element of the band.
  TileBound getFirstTile(int64_t columnTile) const;
  /// The end of the tiles that hold an element of the band in `count` rows. It may be beyond the
  /// last column.
  TileBound getEndTile(int64_t count, int64_t columnTile) const;

  /// Counts the tiles of `rowTile` x `columnTile` elements that the band touches. Returns
  /// std::nullopt if it touches no tile of some block of rows or of columns.
  std::optional<int64_t> countTiles(int64_t rows, int64_t rowTile, int64_t columns,
                                    int64_t columnTile) const;
};

/// The minimum and the maximum of each argument of a kernel's body that is a device's coordinate;
/// std::nullopt for the others. Missing ones are unknown.
using ArgumentRanges = ArrayRef<std::optional<std::pair<int64_t, int64_t>>>;

/// Bands of the values of a kernel's body, for two groups of its space.
class DiagonalAnalysis {
public:
  /// `scores`: values whose magnitude is small relative to that of kFarBelow (results of products).
  /// `partialRows`: each row is a part of a row that has a score which no mask hides.
  DiagonalAnalysis(const IterationSpace &space, unsigned rows, unsigned columns, ValueRange scores,
                   ArgumentRanges ranges = {}, bool partialRows = false)
      : space(space), rows(rows), columns(columns), scores(scores.begin(), scores.end()),
        ranges(ranges), partialRows(partialRows) {}

  /// Bands outside which a predicate is false, and outside which it is true.
  struct Truth {
    DiagonalBand holds, fails;
  };
  /// `within`: the band of elements to look at.
  Truth getTruth(Value predicate, const DiagonalBand &within = {});

  /// Returns the band outside which no element affects the result of a reduction along the columns
  /// (sum or maximum).
  DiagonalBand getReduced(stablehlo::ReduceOp reduce);
  /// Returns the band outside which the elements are 0.
  DiagonalBand getNonZero(Value value);

private:
  /// row * i + column * j + a number from `least` to `most`.
  struct Linear {
    int64_t row = 0, column = 0, least = 0, most = 0;
    Linear operator+(const Linear &other) const;
    Linear operator*(int64_t factor) const;
  };

  const IterationSpace &space;
  unsigned rows, columns; ///< groups
  DenseSet<Value> scores;
  ArgumentRanges ranges;
  bool partialRows;
  DenseMap<Value, DiagonalBand> nonZero, near;

  std::optional<Linear> getLinear(Value value);
  Truth compare(stablehlo::CompareOp op);
  DiagonalBand select(stablehlo::SelectOp op, const DiagonalBand &onTrue,
                      const DiagonalBand &onFalse);
  DiagonalBand computeNonZero(Operation *op);
  /// Returns the band outside which the elements are at most kFarBelow.
  DiagonalBand getNear(Value value);
  DiagonalBand computeNear(Operation *op);
  bool isModerate(Value value, const DiagonalBand &within = {});
  bool isFactor(Value value);
  bool isOfRow(Value value);
  bool hasModerateElementInEachRow(Value value);
};

/// Returns the band of elements that a kernel must visit. Outside, nothing affects its reductions
/// along the columns, and `operands` of its products are 0. `body` is the row part of the kernel.
DiagonalBand findDiagonalBand(Block &body, const IterationSpace &space, unsigned rows,
                              unsigned columns, ValueRange scores, ValueRange operands,
                              ArgumentRanges ranges = {}, bool partialRows = false);

} // namespace mlir::st
