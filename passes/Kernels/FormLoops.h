// Tensor ops that work step by step, as loops.
//
// Each function returns the values that replace an op's results, or null or std::nullopt for an op
// of another form.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

namespace mlir::st {

/// Builds the carried values after a trip, given its number, an i32 scalar.
using TripBuilder =
    llvm::function_ref<SmallVector<Value>(Emitter &emit, Value trip, ValueRange carried)>;

/// A `while` loop with `trips` trips.
SmallVector<Value> emitLoop(Emitter &emit, int64_t trips, ValueRange inits, TripBuilder body);

/// Computes the factor row by row.
Value formCholeskyLoop(Emitter &emit, stablehlo::CholeskyOp op);
/// Computes the solution row by row.
Value formSolveLoop(Emitter &emit, stablehlo::TriangularSolveOp op);
/// Applies one update after the other, for combinations that no transfer supports.
std::optional<SmallVector<Value>> formScatterLoop(Emitter &emit, stablehlo::ScatterOp op);

} // namespace mlir::st
