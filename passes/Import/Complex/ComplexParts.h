// Complex numbers as two real tensors.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include <optional>

namespace mlir::st {

struct Parts {
  Value re, im;
};

/// Arithmetic on pairs of tensors.
class ComplexEmitter {
public:
  explicit ComplexEmitter(Emitter &emit) : emit(emit) {}

  Emitter &emit;

  Parts add(Parts a, Parts b) { return {emit.add(a.re, b.re), emit.add(a.im, b.im)}; }
  Parts sub(Parts a, Parts b) { return {emit.sub(a.re, b.re), emit.sub(a.im, b.im)}; }
  Parts mul(Parts a, Parts b) {
    return {emit.sub(emit.mul(a.re, b.re), emit.mul(a.im, b.im)),
            emit.add(emit.mul(a.re, b.im), emit.mul(a.im, b.re))};
  }
  Parts div(Parts a, Parts b);
  Parts divInfinite(Parts a, Parts b);
  Parts conjugate(Parts a) { return {a.re, emit.neg(a.im)}; }
  /// i a and -i a.
  Parts timesI(Parts a) { return {emit.neg(a.im), a.re}; }
  Parts overI(Parts a) { return {a.im, emit.neg(a.re)}; }

  Value magnitude(Parts a);
  Value atan2(Value y, Value x) {
    return stablehlo::Atan2Op::create(emit.builder, emit.loc, y.getType(), y, x);
  }
  Parts polar(Value length, Value angle) {
    return {emit.mul(length, emit.cosine(angle)), emit.mul(length, emit.sine(angle))};
  }
  Parts logarithm(Parts z) { return {emit.log(magnitude(z)), atan2(z.im, z.re)}; }
  Parts exponential(Parts z);
  Parts power(Parts a, Parts b);
  Parts root(Parts a) { return polar(emit.sqrt(magnitude(a)), emit.scale(atan2(a.im, a.re), 0.5)); }
  /// Returns where a precedes b: by real part, then by imaginary part.
  Value precedes(Parts a, Parts b);

  /// The angle of (x, y) for complex y and x.
  Parts angle(Parts y, Parts x);
  Parts asin(Parts z);
  Parts acos(Parts z);
  Parts acosh(Parts z);
  Parts atanh(Parts z);

  template <typename Op> Value real(Value x) {
    return Op::create(emit.builder, emit.loc, x.getType(), x);
  }
  /// A hyperbolic function times a sine or cosine: 0 if the latter is, even if the former
  /// overflows.
  Value timesAngle(Value hyperbolic, Value angle) {
    Value isZero = emit.compare(stablehlo::ComparisonDirection::EQ, angle, emit.zerosLike(angle));
    return emit.select(isZero, angle, emit.mul(hyperbolic, angle));
  }

private:
  Value isBelowZero(Value x);
  /// `positive` with the sign of `sign`, also if it is -0.
  Value withSignOf(Value positive, Value sign);
  /// Returns where z is huge, and sets its larger part and the ratio of the smaller to the larger.
  Value isHuge(Parts z, Value &larger, Value &ratio);
  Value logOfTwice(Value larger, Value ratio);
};

/// The Fourier transform of pairs. A real input has no imaginary part. For an IRFFT, the real part
/// of the result is the result.
Parts expandFourier(Emitter &emit, stablehlo::FftOp op, Parts operand);
/// The Cholesky factor, computed on real matrices of twice the size.
Parts expandCholesky(Emitter &emit, stablehlo::CholeskyOp op, Parts a);
Parts expandTriangularSolve(Emitter &emit, stablehlo::TriangularSolveOp op, Parts a, Parts b);

} // namespace mlir::st
