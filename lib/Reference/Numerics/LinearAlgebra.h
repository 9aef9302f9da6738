// Fourier transforms and solvers for triangular matrices.
//
// All computation uses complex numbers of two f64 and rounds once; for a real result the imaginary
// part is dropped.
#ifndef ST_REFERENCE_LINEARALGEBRA_H
#define ST_REFERENCE_LINEARALGEBRA_H

#include "lib/Reference/Tensor.h"

namespace mlir::st::ref {

enum class FourierKind { Forward, Inverse, FromReal, ToReal };

/// Transforms the last `lengths.size()` dimensions, with each result as a sum over all elements.
/// FromReal keeps the first half of the last dimension, which ToReal completes by symmetry.
Tensor fourier(const Tensor &operand, FourierKind kind, ArrayRef<int64_t> lengths,
               ElementType type);

/// The factor L of each matrix L L*, or U of U* U; NaN for matrices without one.
Tensor cholesky(const Tensor &operand, bool lower);

enum class MatrixUse { AsIs, Transposed, Adjoint };

struct TriangularSystem {
  bool leftSide, lower, unitDiagonal;
  MatrixUse use;
};

/// Solves op(a) x = b, or x op(a) = b.
Tensor triangularSolve(const Tensor &a, const Tensor &b, const TriangularSystem &system);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_LINEARALGEBRA_H
