// Sums of floats whose result does not depend on the order of the additions.
#pragma once

#include "dialects/StableHLO/Utils/Emitter.h"

namespace mlir::st {

/// An absolute fixed-point form of f32 numbers below 2^50: integers of 64 bits ("limbs", most
/// significant first), each a multiple of a power of two. Sums of the limbs are exact, so they may
/// be computed in any order, and no addend needs to know the others. Numbers are rounded to a
/// multiple of 2^-64 or finer.
class FixedPoint {
public:
  /// For sums of at most this many numbers.
  explicit FixedPoint(int64_t addends);

  SmallVector<Value> toLimbs(Emitter &emit, Value x) const;
  /// The f32 number that sums of limbs represent. `largest` is the largest magnitude of an addend:
  /// if it is 2^50 or more, infinite or NaN, the result is infinite or NaN.
  Value fromLimbs(Emitter &emit, ArrayRef<Value> limbs, Value largest) const;

private:
  /// Limb i counts multiples of 2^unitExponent(i).
  int unitExponent(int64_t limb) const;

  int bits; ///< of an addend's limb
  int64_t count;
};

/// The sum of an f32 tensor over one dimension, in fixed point.
Value sumInFixedPoint(Emitter &emit, Value x, int64_t dim);

/// The sum of an f32 tensor over dimensions. All addends of a sum are scaled by a power of two and
/// rounded to 40 bits of the largest magnitude (fewer for more than 2^22 addends). An infinite
/// addend or NaN gives NaN.
Value sumExactly(Emitter &emit, Value x, ArrayRef<int64_t> dims);

/// The maximum number of products that multiplyExactly() can add up.
constexpr int64_t kMaxExactProducts = int64_t(1) << 22;

/// The product of f32 tensors. Each row of an operand is scaled by a power of two and rounded to 23
/// bits or more of its largest magnitude, in slices of a few bits. Products of slices are sums of
/// integers below 2^24, which matrix units compute exactly from bf16 operands with f32 accumulators
/// in any order (the Ozaki scheme). A row with an infinite number or NaN gives NaN.
Value multiplyExactly(Emitter &emit, Value lhs, Value rhs, const DotDims &dims);

} // namespace mlir::st
