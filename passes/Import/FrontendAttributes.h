// Reads shardings that a program without the sdy dialect carries as frontend attributes.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Reads Shardy's form for programs without sdy ops, such as HLO: meshes, shardings, and
/// custom calls around per-shard computations, in `mhlo.frontend_attributes` with keys `xla.sdy.…`.
/// Replaces them by sdy's ops and attributes; a program without such meshes is unchanged. Fails
/// with a diagnostic.
LogicalResult readFrontendAttributes(ModuleOp module);

} // namespace mlir::st
