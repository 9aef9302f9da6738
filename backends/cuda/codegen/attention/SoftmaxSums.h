// The functions of SoftmaxScale.h for reductions in progress.
#pragma once

#include "backends/cuda/codegen/kernels/ElementValues.h"
#include "dialects/StableHLO/Utils/SoftmaxScale.h"

namespace mlir::cuda {

using st::SoftmaxScale;

inline SmallVector<stablehlo::ReduceOp> getReductions(ArrayRef<ElementValues::Sum> sums) {
  return llvm::map_to_vector(
      sums, [](const ElementValues::Sum &sum) -> stablehlo::ReduceOp { return sum.op; });
}
inline std::optional<size_t> findMaximum(const ElementValues::Sum &sum,
                                         ArrayRef<ElementValues::Sum> maxima) {
  return st::findMaximum(sum.op, getReductions(maxima));
}
inline std::optional<SoftmaxScale> findSoftmaxScale(Value value,
                                                    ArrayRef<ElementValues::Sum> sums) {
  return st::findSoftmaxScale(value, getReductions(sums));
}

} // namespace mlir::cuda
