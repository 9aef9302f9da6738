// The dimension of a value that counts the samples of the batch.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace mlir::st {

/// The samples are the first dimension of the arguments of role "batch". The ops' factor rules
/// determine which dimension of each value has the sample as its major part: a dimension of 4
/// samples of 8 tokens each does, a dimension of 8 tokens of 4 samples each does not. Values within
/// regions have none.
class SampleDims {
public:
  explicit SampleDims(func::FuncOp function);

  /// The samples of a batch; 0 if no argument has any.
  int64_t count() const { return samples; }
  /// The dimension of a value that has the sample as its major part.
  std::optional<int64_t> of(Value value) const;

private:
  void visit(Operation &op);

  int64_t samples = 0;
  DenseMap<Value, int64_t> dims;
};

} // namespace mlir::st
