// Elementwise kernels on tensors.
//
// Operands have the same shape, or are scalars, which apply to every element. Floats use their own
// type, 16-bit floats use f32 with one rounding of the result; transcendental functions and complex
// ops use f64 and round. A kernel returns no tensor if the op is not defined on the element type.
#ifndef ST_REFERENCE_ELEMENTWISE_H
#define ST_REFERENCE_ELEMENTWISE_H

#include "lib/Reference/Tensor.h"

namespace mlir::st::ref {

enum class UnaryKind {
  Abs,
  Acos,
  Acosh,
  Asin,
  Asinh,
  Atan,
  Atanh,
  BesselI1e,
  Cbrt,
  Ceil,
  Conj,
  Cos,
  Cosh,
  CountLeadingZeros,
  Digamma,
  Erf,
  ErfInv,
  Erfc,
  Exp,
  Expm1,
  Floor,
  Lgamma,
  Log,
  Log1p,
  Logistic,
  Neg,
  Not,
  PopulationCount,
  RoundAwayFromZero,
  RoundToEven,
  Rsqrt,
  Sign,
  Sin,
  Sinh,
  Sqrt,
  Square,
  Tan,
  Tanh,
};

enum class BinaryKind {
  Add,
  And,
  Atan2,
  Div,
  Max,
  Min,
  Mul,
  MulHigh,
  NextAfter,
  Or,
  Polygamma,
  Pow,
  Rem,
  ShiftLeft,
  ShiftRightArithmetic,
  ShiftRightLogical,
  Sub,
  Xor,
  Zeta,
};

enum class CompareKind { EQ, NE, GE, GT, LE, LT };

Tensor unary(UnaryKind kind, const Tensor &operand);
Tensor binary(BinaryKind kind, const Tensor &lhs, const Tensor &rhs);

/// `totalOrder` compares floats by their bits: -NaN < -inf < ... < inf < NaN,
/// and -0 < +0.
Tensor compare(CompareKind kind, const Tensor &lhs, const Tensor &rhs, bool totalOrder = false);

/// The parts of complex numbers; a real number is its own real part.
Tensor realPart(const Tensor &operand);
Tensor imaginaryPart(const Tensor &operand);
Tensor makeComplex(const Tensor &real, const Tensor &imaginary);

Tensor select(const Tensor &pred, const Tensor &onTrue, const Tensor &onFalse);
Tensor clamp(const Tensor &low, const Tensor &operand, const Tensor &high);
Tensor isFinite(const Tensor &operand);

/// Conversion as XLA defines it if StableHLO leaves it open: to an integer, toward zero,
/// saturating, NaN to 0; to i1, whether it differs from zero.
Tensor convert(const Tensor &operand, ElementType type);

/// Rounds to a float format of these exponent and mantissa bits: ties to even, overflow to
/// infinity, results below the least normal number to zero.
Tensor reducePrecision(const Tensor &operand, int exponentBits, int mantissaBits);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_ELEMENTWISE_H
