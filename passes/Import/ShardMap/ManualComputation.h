// Imports per-shard computations (sdy.manual_computation).
#pragma once

#include "dialects/Sdy/SdyDialect.h"

namespace mlir::st {

/// Replaces a per-shard computation by one on whole tensors, sharded over the mesh of `names` and
/// `sizes` as the body says. Fails with a diagnostic.
LogicalResult importManualComputation(sdy::ManualComputationOp op, ArrayRef<StringAttr> names,
                                      ArrayRef<int64_t> sizes);

} // namespace mlir::st
