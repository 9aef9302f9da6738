// Passes that propagate shardings from seeds over the whole step.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::st {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Propagation/Passes.h.inc"

} // namespace mlir::st
