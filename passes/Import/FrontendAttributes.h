// Shardings that a program without the sdy dialect carries as frontend attributes.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// What Shardy writes where sdy's ops have no place, as in HLO: meshes, shardings, and the custom
/// calls around computations on shards, with `mhlo.frontend_attributes` of the keys `xla.sdy.…`.
/// Puts sdy's ops and attributes in their place; a program without such meshes stays as it is.
/// Fails with a diagnostic.
LogicalResult readFrontendAttributes(ModuleOp module);

} // namespace mlir::st
