// Elementary functions of f32 as arithmetic.
//
// To full accuracy the formulas are those of the DTU's vector engine
// (backends/dtu/simulator/host/VectorMath.h), with the same bounds: every operation is written
// out, fused where it says fma, so that a GPU and the host lowering compute the same bits. No
// library is needed when a kernel is compiled.
//
// What is rounded to 16 bits anyway takes exponentials and reciprocals from the GPU's instructions
// (`cuda.approximate`), which are several times cheaper and off by a few units of f32.
#pragma once

#include "backends/cuda/IR/CudaDialect.h"
#include "backends/cuda/codegen/kernels/Number.h"

namespace mlir::cuda {

enum class Function { Exp, Expm1, Log, Log1p, Logistic, Tanh, Cbrt, Erf, Erfc, Sin, Cos };

enum class Accuracy {
  F32,     ///< a few ulp, and the same bits wherever a kernel runs
  Rounded, ///< enough for results of 16 bits
};

/// Of f32 numbers. To `Accuracy::F32`: exp, expm1, log, log1p, cbrt, erfc, sin and cos to 1 ulp,
/// tanh and erf to 2, logistic to 3. To `Accuracy::Rounded` exp(x) has a relative error of at most
/// (2.5 + |x|) 2^-23, and is 0 below 2^-126; logistic, tanh and erf have 2^-20 (of logistic(x)
/// |x| 2^-23 more); the others stay as they are.
Number elementaryF32(Function function, Number x, Accuracy accuracy = Accuracy::F32);
/// 2^x or 1 / x by the GPU's instruction, of f32 numbers.
Number approximate(Approximation function, Number x);
/// pow as IEEE 754 defines it, of f32 numbers.
Number powF32(Number x, Number y);

/// Computes `op` on the host: 2^x to 1 ulp, 1 / x rounded to nearest. With an `error` the result is
/// so far off, relatively, up or down by the bits of the operand: what a GPU may give.
Number approximateOnHost(ApproximateOp op, double error);

} // namespace mlir::cuda
