// Passes that convert tensor ops to kernels.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::st {

/// The place of the rows between two products.
enum class AttentionForm {
  None,     ///< in memory
  Resident, ///< complete in a core's scratch memory
  Streamed, ///< nowhere: a core recomputes them part by part for each reduction
  Auto,     ///< complete in scratch memory if they fit, otherwise streamed
};

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Kernels/Passes.h.inc"

} // namespace mlir::st
