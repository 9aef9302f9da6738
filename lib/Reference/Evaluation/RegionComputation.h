// The region of an op as a scalar computation.
#ifndef ST_REFERENCE_REGIONCOMPUTATION_H
#define ST_REFERENCE_REGIONCOMPUTATION_H

#include "lib/Reference/Evaluation/Evaluator.h"
#include "lib/Reference/Evaluation/ScalarComputation.h"

namespace mlir::st::ref {

/// Evaluates a region for one rank. A region of elementwise ops, the usual case, is evaluated on
/// complete tensors; any other region is evaluated element by element.
class RegionComputation : public ScalarComputation {
public:
  RegionComputation(Evaluator &evaluator, int64_t rank, Region &region);

  bool apply(ArrayRef<Tensor> args, SmallVectorImpl<Tensor> &results) const override;
  std::optional<BinaryKind> asBinary() const override { return binaryKind; }

private:
  LogicalResult applyAtOnce(ArrayRef<Tensor> args, SmallVectorImpl<Tensor> &results) const;
  LogicalResult applyOneByOne(ArrayRef<Tensor> args, SmallVectorImpl<Tensor> &results) const;

  Evaluator &evaluator;
  int64_t rank;
  Block &block;
  std::optional<BinaryKind> binaryKind;
  bool isVectorizable;
};

} // namespace mlir::st::ref

#endif // ST_REFERENCE_REGIONCOMPUTATION_H
