// Passes that simplify and combine collectives.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::st {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Collectives/Passes.h.inc"

} // namespace mlir::st
