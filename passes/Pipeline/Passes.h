// Passes that convert the local function to scheduled programs.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::st {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Pipeline/Passes.h.inc"

} // namespace mlir::st
