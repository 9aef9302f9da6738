// Tensor ops without a kernel, written in terms of those that have one.
//
// Each function gives the values that replace an op's results, or nothing where the op
// is not of a form that it handles; such an op stays, and form-kernels refuses it.
#pragma once

#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/ApplyToElements.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include <optional>

namespace mlir::st {

using Replacement = std::optional<SmallVector<Value>>;

// Windows: as slices of the padded operand.
Replacement lowerConvolution(Emitter &emit, stablehlo::ConvolutionOp op);
Replacement lowerReduceWindow(Emitter &emit, stablehlo::ReduceWindowOp op);
Replacement lowerSelectAndScatter(Emitter &emit, stablehlo::SelectAndScatterOp op);

/// A bitonic network over the sorted dimension.
Replacement lowerSort(Emitter &emit, stablehlo::SortOp op);
Replacement lowerTopK(Emitter &emit, chlo::TopKOp op);

/// Of several tensors, or by a body that no vector instruction reduces with: halves upon halves, or
/// neighbours where the body sees which of its operands came first.
Replacement lowerReduce(Emitter &emit, stablehlo::ReduceOp op);
/// Of element types that the matrix engine lacks: products, then a sum.
Replacement lowerProduct(Emitter &emit, stablehlo::DotGeneralOp op);

// Slices at computed places: gathers and scatters, in forms that the kernels take.
Replacement lowerDynamicSlice(Emitter &emit, stablehlo::DynamicSliceOp op);
Replacement lowerDynamicUpdateSlice(Emitter &emit, stablehlo::DynamicUpdateSliceOp op);
Replacement lowerGather(Emitter &emit, stablehlo::GatherOp op);
Replacement lowerScatter(Emitter &emit, stablehlo::ScatterOp op);

/// Counter-based generators, as arithmetic on integers.
Replacement lowerRandomBits(Emitter &emit, stablehlo::RngBitGeneratorOp op);

/// Functions of single elements.
Replacement lowerElementwise(Emitter &emit, Operation *op);
/// Trigonometric and hyperbolic functions and their inverses; null for another op.
Value lowerTranscendental(Emitter &emit, Operation *op);

/// Relatives of the gamma function and a Bessel function; null for another op.
Value lowerSpecialFunction(Emitter &emit, Operation *op);

/// Statistics, arithmetic with them, and the gradient of both.
Replacement lowerBatchNorm(Emitter &emit, Operation *op);

/// Whether the computation of a reduction gives the same whichever elements come first.
bool isCommutative(Region &computation);

} // namespace mlir::st
