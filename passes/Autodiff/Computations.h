//===- Computations.h - Computations of scalars on tensors ------*- C++ -*-===//
//
// map, reduce and reduce_window have a computation of scalars. Without a specific rule they are
// differentiated as equivalent ops on tensors.
//
//===----------------------------------------------------------------------===//

#ifndef ST_PASSES_AUTODIFF_COMPUTATIONS_H
#define ST_PASSES_AUTODIFF_COMPUTATIONS_H

#include "dialects/StableHLO/Utils/Emitter.h"

namespace mlir::st {

/// Returns true if each op of the computation applies to whole tensors as it does to scalars.
bool isElementwise(Region &computation);

/// The results of an elementwise computation for all elements of the arguments, which have equal
/// shapes.
SmallVector<Value> applyElementwise(Emitter &emit, Region &computation, ValueRange arguments,
                                    ArrayRef<int64_t> shape);

/// Combines the elements along `dim`, at least one, by an associative elementwise computation
/// of pairs: neighbours, then neighbours of the results. The dimension keeps the size one.
SmallVector<Value> foldAlong(Emitter &emit, Region &computation, ArrayRef<Value> xs, int64_t dim);

/// At each place the combination of all elements from the first one along `dim` to it or, in
/// reverse, from it to the last. Blelloch, "Prefix sums and their applications" (1990), as
/// jax.lax.associative_scan, so that equal elements share a cotangent as they do there.
SmallVector<Value> scanAlong(Emitter &emit, Region &computation, ArrayRef<Value> xs, int64_t dim,
                             bool isReverse);

} // namespace mlir::st

#endif // ST_PASSES_AUTODIFF_COMPUTATIONS_H
