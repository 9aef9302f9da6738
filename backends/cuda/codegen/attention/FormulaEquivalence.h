// Evaluates the row computation of a fused kernel on a few numbers, so that formulas are compared
// by value and not by form.
#pragma once

#include "backends/cuda/codegen/attention/AttentionPlan.h"

#include <array>
#include <string>

namespace mlir::cuda {

/// A value of a kernel's rows at some rows and columns of one batch, row-major. A value that does
/// not vary along rows or columns is repeated along them.
class Sample {
public:
  static constexpr int64_t kRows = 4, kColumns = 4;

  explicit Sample(double number = 0) { numbers.fill(number); }

  double &at(int64_t row, int64_t column) { return numbers[row * kColumns + column]; }
  double at(int64_t row, int64_t column) const { return numbers[row * kColumns + column]; }

  std::array<double, static_cast<size_t>(kRows *kColumns)> numbers;
};

/// Returns true if two samples are equal up to the rounding of f64.
bool isSame(const Sample &one, const Sample &other);

using Samples = DenseMap<Value, Sample>;

/// Groups of a kernel's iteration space.
struct RowsAndColumns {
  unsigned rows = 0, columns = 0;
};

/// Evaluates in f64 the body of a kernel of kind "loop"; `samples` has its arguments. Conversions
/// between floats change nothing. Supports only functions that are smooth in their operands, sums
/// and maxima along the columns, and causal masks: for these, formulas that agree at random points
/// are equal. On failure `reason` names the unsupported op.
LogicalResult sampleRows(Block &body, const st::IterationSpace &space, const RowsAndColumns &groups,
                         Samples &samples, std::string &reason);

/// Returns true if the body, which sampleRows supports, has a causal mask.
bool hasCausalMask(Block &body);

} // namespace mlir::cuda
