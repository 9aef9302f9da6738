// Matrix products.
#ifndef ST_REFERENCE_CONTRACTION_H
#define ST_REFERENCE_CONTRACTION_H

#include "lib/Reference/Tensor.h"

namespace mlir::st::ref {

struct DotDims {
  ArrayRef<int64_t> lhsBatch, rhsBatch, lhsContracting, rhsContracting;
};

/// The dimensions of the result: batch, free ones of lhs, free ones of rhs.
/// Float products are summed in f64, in order, and rounded once to `type`;
/// integer sums wrap; on i1 a sum is a logical or.
Tensor dotGeneral(const Tensor &lhs, const Tensor &rhs, const DotDims &dims, ElementType type);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_CONTRACTION_H
