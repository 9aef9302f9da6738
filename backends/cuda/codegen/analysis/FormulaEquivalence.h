// Equivalence of formulas by evaluation at random points: computes the rows of an attention kernel
// on a few numbers, so that formulas are compared by value, however they are written.
#pragma once

#include "backends/cuda/codegen/attention/AttentionPlan.h"

#include <array>
#include <string>

namespace mlir::cuda {

/// A value of an attention kernel's rows at some rows and columns of one batch, row by row. What
/// does not vary along one of them is repeated.
class Sample {
public:
  static constexpr int64_t kRows = 4, kColumns = 4;

  explicit Sample(double number = 0) { numbers.fill(number); }

  double &at(int64_t row, int64_t column) { return numbers[row * kColumns + column]; }
  double at(int64_t row, int64_t column) const { return numbers[row * kColumns + column]; }

  std::array<double, static_cast<size_t>(kRows *kColumns)> numbers;
};

/// Whether two samples are the same but for the rounding of f64.
bool isSame(const Sample &one, const Sample &other);

using Samples = DenseMap<Value, Sample>;

/// Groups of an attention kernel's space.
struct RowsAndColumns {
  unsigned rows = 0, columns = 0;
};

/// Computes in f64 what the body of kind "loop" makes of its arguments, which are in `samples`.
/// Conversions between floats change nothing. Only functions that are smooth in their operands,
/// sums and maxima along the columns, and masks of the columns behind a row are known, so that
/// formulas that agree at random points are the same. Fails with the op that is of another kind.
LogicalResult sampleRows(Block &body, const st::IterationSpace &space, const RowsAndColumns &groups,
                         Samples &samples, std::string &reason);

/// Of a body that sampleRows knows.
bool hasCausalMask(Block &body);

} // namespace mlir::cuda
