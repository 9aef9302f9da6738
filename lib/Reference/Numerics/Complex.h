// Elementwise kernels on complex numbers. Private to the elementwise kernels.
#ifndef ST_REFERENCE_COMPLEX_H
#define ST_REFERENCE_COMPLEX_H

#include "lib/Reference/Numerics/Elementwise.h"

namespace mlir::st::ref {

/// Like unary() and binary(), for operands of a complex type. The absolute value is real.
Tensor complexUnary(UnaryKind kind, const Tensor &x);
Tensor complexBinary(BinaryKind kind, const Tensor &x, const Tensor &y);

/// Complex numbers can only be compared for equality.
Tensor complexCompare(CompareKind kind, const Tensor &x, const Tensor &y);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_COMPLEX_H
