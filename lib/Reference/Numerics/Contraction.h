// Matrix products and convolutions.
#ifndef ST_REFERENCE_CONTRACTION_H
#define ST_REFERENCE_CONTRACTION_H

#include "lib/Reference/Tensor.h"

namespace mlir::st::ref {

struct DotDims {
  ArrayRef<int64_t> lhsBatch, rhsBatch, lhsContracting, rhsContracting;
};

/// The accumulation type of products of elements. Integers are unsigned, so that sums wrap.
inline ElementType productType(ElementType type) {
  if (isComplexType(type))
    return ElementType::C128;
  return isFloatType(type) ? ElementType::F64 : ElementType::U64;
}

/// The dimensions of the result: batch, free ones of lhs, free ones of rhs. Float products are
/// summed in f64, in order, and rounded once to `type`; integer sums wrap; on i1 a sum is a logical
/// or.
Tensor dotGeneral(const Tensor &lhs, const Tensor &rhs, const DotDims &dims, ElementType type);

/// The dimensions of one tensor of a convolution. Input and kernel use the same names; `batch` is
/// the kernel's output feature.
struct ConvDims {
  int64_t batch, feature;
  ArrayRef<int64_t> spatial;
};

struct Convolution {
  ConvDims input, kernel, output;
  Shape strides, padLow, padHigh, inputDilation, kernelDilation;
  SmallVector<bool> reversed;
  int64_t featureGroups, batchGroups;
};

/// Sums like dotGeneral, over the window's positions and then the features.
Tensor convolution(const Tensor &input, const Tensor &kernel, const Convolution &conv,
                   ArrayRef<int64_t> shape, ElementType type);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_CONTRACTION_H
