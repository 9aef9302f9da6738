// Masks that compare an element's row index with its column index.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"

#include <optional>

namespace mlir::cuda {

/// A number of at most this value, added to a score, makes its exp 0 relative to other columns.
constexpr double kFarBelow = -1e30;

/// A comparison of an element's row index with its column index.
class CausalPredicate {
public:
  /// Matches iotas along these two groups of a space, with or without broadcasts.
  static std::optional<CausalPredicate> match(Value predicate, const st::IterationSpace &space,
                                              unsigned rows, unsigned columns);

  /// Returns the result where the row is less than the column (-1), equal (0) or greater (1).
  bool holds(int order) const;

private:
  stablehlo::ComparisonDirection direction;
  bool isTurned; ///< the column is the left operand
};

} // namespace mlir::cuda
