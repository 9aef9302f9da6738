// Passes that choose the type in which each value is computed.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::st {

/// The 16-bit type of the forward and the backward pass.
enum class ComputeType { BF16, F16 };

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Precision/Passes.h.inc"

} // namespace mlir::st
