// Elementary functions of f32 as arithmetic.
//
// The machine has none of them to the precision that is promised (the approximate instructions are
// off by several units), and a library would have to be there when a kernel is compiled. The
// formulas are those of the DTU's vector engine (backends/dtu/simulator/host/VectorMath.h), with
// the same bounds: every operation is written out, fused where it says fma, so that a GPU and the
// host lowering compute the same bits.
#pragma once

#include "backends/cuda/codegen/Number.h"

namespace mlir::cuda {

enum class Function { Exp, Expm1, Log, Log1p, Logistic, Tanh, Cbrt, Erf, Erfc, Sin, Cos };

/// Of f32 numbers: exp, expm1, log, log1p, cbrt, erfc, sin and cos to 1 ulp, tanh and
/// erf to 2, logistic to 3.
Number elementaryF32(Function function, Number x);
/// pow as IEEE 754 defines it, of f32 numbers.
Number powF32(Number x, Number y);

} // namespace mlir::cuda
