// Imports per-shard computations (sdy.manual_computation).
#pragma once

#include "dialects/Sdy/SdyDialect.h"
#include "passes/Import/UnreducedValues.h"

namespace mlir::st {

/// The numbers of the axes of each tensor dimension: `split` has the axes over which a computation
/// is local, `free` the others.
struct DimensionAxes {
  SmallVector<SmallVector<unsigned>> split, free;
  /// The dimensions that propagation may shard over more axes.
  SmallVector<int64_t> open;
  /// The axes along which shards hold terms of a sum.
  SmallVector<unsigned> unreduced;
};

/// Reads the sharding of a value that enters or leaves a computation that is local over `manual`.
FailureOr<DimensionAxes> readAxes(sdy::ManualComputationOp op, sdy::TensorShardingAttr sharding,
                                  ArrayRef<StringAttr> names, ArrayRef<unsigned> manual);

/// Checks that the shards of a tensor have the type that the body expects.
LogicalResult checkParts(sdy::ManualComputationOp op, Type global, Type part,
                         const DimensionAxes &axes, ArrayRef<int64_t> sizes);

/// Replaces a per-shard computation by one on global tensors, sharded over the mesh of `names` and
/// `sizes` as in the body. Uses the known terms of unreduced values and records new ones. Fails
/// with a diagnostic.
LogicalResult importManualComputation(sdy::ManualComputationOp op, ArrayRef<StringAttr> names,
                                      ArrayRef<int64_t> sizes, UnreducedTerms &terms);

} // namespace mlir::st
