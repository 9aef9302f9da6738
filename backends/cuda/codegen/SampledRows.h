// What the rows of a chain compute, tried out on a few numbers: formulas are compared by value,
// however they are written.
#pragma once

#include "backends/cuda/codegen/ChainPlan.h"

#include <vector>

namespace mlir::cuda {

/// A value of a chain's rows at some rows and columns of one batch, row by row. What does not vary
/// along one of them is repeated.
class Sample {
public:
  Sample(int64_t rows, int64_t columns, double number = 0)
      : rows(rows), columns(columns), numbers(static_cast<size_t>(rows * columns), number) {}

  double &at(int64_t row, int64_t column) { return numbers[row * columns + column]; }
  double at(int64_t row, int64_t column) const { return numbers[row * columns + column]; }

  int64_t rows, columns;
  std::vector<double> numbers;
};

/// Whether two samples are the same but for the rounding of f64.
bool isSame(const Sample &one, const Sample &other);

using Samples = DenseMap<Value, Sample>;

/// Computes in f64 what the body of kind "loop" makes of its arguments: of what is not in `samples`
/// already, each value that is needed for what it yields. Conversions between floats change
/// nothing. Only functions that are smooth in their operands and maxima along the columns are
/// known, so that formulas that agree at random points are the same. `columns` is the group that
/// reductions sum along; fails with the op that is of another kind.
LogicalResult sampleRows(Block &body, const st::IterationSpace &space, unsigned columns,
                         Samples &samples, std::string &reason);

/// Whether a kernel without inputs makes a table that is 0 where the column is at most the row, and
/// elsewhere so low that no score added to it counts.
bool isCausalTable(st::KernelOp kernel);

} // namespace mlir::cuda
