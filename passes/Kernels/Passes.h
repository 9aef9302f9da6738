// From tensor ops to kernels.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::st {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Kernels/Passes.h.inc"

} // namespace mlir::st
