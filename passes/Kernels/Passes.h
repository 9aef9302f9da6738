// From tensor ops to kernels.
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir::st {

/// What becomes of rows between products.
enum class ChainForm {
  None,     ///< they lie in memory
  Resident, ///< a core holds them whole
  Streamed, ///< a core makes them again, part by part, for each reduction
};

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Kernels/Passes.h.inc"

} // namespace mlir::st
