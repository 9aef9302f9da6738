// Gathers and scatters with empty index vectors, which JAX emits for updates of complete arrays.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"

namespace mlir::st {

/// Replaces an op with empty index vectors by other ops: its windows begin at position 0 of each
/// dimension. Null for all other ops.
Value expandIndexless(Emitter &emit, stablehlo::GatherOp op);
Value expandIndexless(Emitter &emit, stablehlo::ScatterOp op);

} // namespace mlir::st
