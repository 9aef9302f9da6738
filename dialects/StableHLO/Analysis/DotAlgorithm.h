// The requirements of a product's algorithm on its operands.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"

namespace mlir::st {

/// The element type to which a product rounds its operand 0 or 1: f16 or bf16, if that is the
/// precision type of its algorithm, and otherwise the operand's own type. Tensors cannot have the
/// type tf32. An algorithm of several components or primitive operations (JAX's BF16_BF16_F32_X3)
/// splits an operand into terms whose sum is about as precise as the operand.
Type getRoundedType(stablehlo::DotGeneralOp product, unsigned operand);

} // namespace mlir::st
