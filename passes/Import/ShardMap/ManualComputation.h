// Computations on shards that a program is annotated with.
#pragma once

#include "dialects/Sdy/SdyDialect.h"

namespace mlir::st {

/// Replaces a computation on shards by one on whole tensors, whose dimensions the mesh of
/// `names` and `sizes` splits as the body says. Fails with a diagnostic.
LogicalResult importManualComputation(sdy::ManualComputationOp op, ArrayRef<StringAttr> names,
                                      ArrayRef<int64_t> sizes);

} // namespace mlir::st
