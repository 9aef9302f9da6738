// Expresses tensor ops without a kernel by ops that have one.
//
// Each function returns the values that replace an op's results, or std::nullopt for an op of
// another form. Such an op stays, and form-kernels reports it.
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

/// For several tensors, or a body without a vector instruction. Combines halves repeatedly, or
/// neighbours if the body depends on the order of its operands.
Replacement lowerReduce(Emitter &emit, stablehlo::ReduceOp op);
/// Uses elementwise products and a sum for element types that the matrix engine lacks. Exchanges
/// the operands if the right one has the rows of attention.
Replacement lowerProduct(Emitter &emit, stablehlo::DotGeneralOp op);

// Dynamic slices, gathers and scatters, in forms that kernels support.
Replacement lowerDynamicSlice(Emitter &emit, stablehlo::DynamicSliceOp op);
Replacement lowerDynamicUpdateSlice(Emitter &emit, stablehlo::DynamicUpdateSliceOp op);
Replacement lowerGather(Emitter &emit, stablehlo::GatherOp op);
Replacement lowerScatter(Emitter &emit, stablehlo::ScatterOp op);

/// Counter-based generators as integer arithmetic.
Replacement lowerRandomBits(Emitter &emit, stablehlo::RngBitGeneratorOp op);

/// Functions of single elements.
Replacement lowerElementwise(Emitter &emit, Operation *op);
/// Trigonometric and hyperbolic functions and their inverses; null for another op.
Value lowerTranscendental(Emitter &emit, Operation *op);

/// Relatives of the gamma function and a Bessel function; null for another op.
Value lowerSpecialFunction(Emitter &emit, Operation *op);

/// Statistics, normalisation with them, and gradients.
Replacement lowerBatchNorm(Emitter &emit, Operation *op);

/// Returns true if a reduction's result does not depend on the order of its elements.
bool isCommutative(Region &computation);

} // namespace mlir::st
