// Gathers and scatters that are given no position in any dimension, as whole-array updates print.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"

namespace mlir::st {

/// Expresses an op whose index vectors have no component by others: its windows are at the
/// beginning of each dimension. Null for all other ops.
Value expandIndexless(Emitter &emit, stablehlo::GatherOp op);
Value expandIndexless(Emitter &emit, stablehlo::ScatterOp op);

} // namespace mlir::st
