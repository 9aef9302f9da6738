// Elementary functions of f32 as arithmetic.
//
// At full accuracy the formulas are those of the DTU's vector engine
// (backends/dtu/simulator/host/VectorMath.h), with the same bounds. Every operation is explicit,
// and fused only where it says fma, so that a GPU and the host lowering compute the same bits.
// Kernels compile without a mathematical library.
//
// Results that are rounded to 16 bits use the GPU's instructions for exponentials and reciprocals
// (`cuda.approximate`), which are several times cheaper and have errors of a few ulp of f32.
#pragma once

#include "backends/cuda/IR/CudaDialect.h"
#include "backends/cuda/codegen/kernels/Number.h"

namespace mlir::cuda {

enum class Function { Exp, Expm1, Log, Log1p, Logistic, Tanh, Cbrt, Erf, Erfc, Sin, Cos };

enum class Accuracy {
  F32,     ///< errors of a few ulp, and equal bits on every target
  Rounded, ///< enough for results of 16 bits
};

/// For f32 numbers. To `Accuracy::F32`: exp, expm1, log, log1p, cbrt, erfc, sin and cos to 1 ulp,
/// tanh and erf to 2, logistic to 3. To `Accuracy::Rounded`: exp(x) has a relative error of at most
/// (2.5 + |x|) 2^-23, and is 0 below 2^-126; logistic, tanh and erf have 2^-20, logistic(x) plus
/// |x| 2^-23; the others are as for `Accuracy::F32`.
Number elementaryF32(Function function, Number x, Accuracy accuracy = Accuracy::F32);
/// 2^x or 1 / x of f32 numbers by the GPU's instruction.
Number approximate(Approximation function, Number x);
/// pow of f32 numbers as IEEE 754 defines it.
Number powF32(Number x, Number y);

/// Computes `op` on the host: 2^x to 1 ulp, 1 / x rounded to nearest. Then applies a relative
/// `error`, up or down depending on the bits of the operand, to emulate what a GPU may return.
Number approximateOnHost(ApproximateOp op, double error);

} // namespace mlir::cuda
