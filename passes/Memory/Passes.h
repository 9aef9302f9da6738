// Passes that plan the memory of a step.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::st {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Memory/Passes.h.inc"

} // namespace mlir::st
