// Predicates of masks that compare the row of an element with its column, such as causal masks.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"

#include <optional>

namespace mlir::cuda {

/// Added to a score, a number of at most this makes exp of it 0 beside any other column's.
constexpr double kFarBelow = -1e30;

/// A comparison of an element's row with its column.
class CausalPredicate {
public:
  /// Of iotas along these two groups of a space, maybe broadcast.
  static std::optional<CausalPredicate> match(Value predicate, const st::IterationSpace &space,
                                              unsigned rows, unsigned columns);

  /// Whether it holds where the row is less than the column (-1), equal (0) or greater (1).
  bool holds(int order) const;

private:
  stablehlo::ComparisonDirection direction;
  bool isTurned; ///< of column and row
};

} // namespace mlir::cuda
