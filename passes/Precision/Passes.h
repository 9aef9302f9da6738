// Which type each value is computed in.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::st {

/// A 16-bit type that a forward and backward pass is computed in.
enum class ComputeType { BF16, F16 };

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Precision/Passes.h.inc"

} // namespace mlir::st
