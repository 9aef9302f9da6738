// The dimension of a value that counts the samples of the batch.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace mlir::st {

/// The samples are the first dimension of the arguments of role "batch". The ops' factor rules
/// determine which dimension of each value has the sample as its major part: a dimension of 4
/// samples of 8 tokens each does, a dimension of 8 tokens of 4 samples each does not. A dimension
/// of 2 groups of 2 samples does too. Values within regions have no such dimension.
class SampleDims {
public:
  explicit SampleDims(func::FuncOp function);

  /// The samples of a batch; 0 if no argument has any.
  int64_t count() const { return samples; }
  /// The dimension of a value that has the sample as its major part. Its size is a multiple or a
  /// divisor of the number of samples.
  std::optional<int64_t> of(Value value) const;

private:
  void visit(Operation &op);
  /// Returns true if a dimension or a factor of this size may consist of samples or groups of them.
  bool divides(int64_t size) const {
    return size > 1 && (size % samples == 0 || samples % size == 0);
  }

  int64_t samples = 0;
  DenseMap<Value, int64_t> dims;
};

} // namespace mlir::st
