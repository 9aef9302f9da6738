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

/// Returns true if each op of the computation can be applied to tensors elementwise.
bool isElementwise(Region &computation);

/// The results of an elementwise computation for all elements of the arguments, which have equal
/// shapes.
SmallVector<Value> applyElementwise(Emitter &emit, Region &computation, ValueRange arguments,
                                    ArrayRef<int64_t> shape);

/// Reduces `dim`, which has at least one element, to size 1 by an associative elementwise
/// computation of pairs. Combines neighbours, then neighbouring results.
SmallVector<Value> foldAlong(Emitter &emit, Region &computation, ArrayRef<Value> xs, int64_t dim);

/// A prefix scan along `dim` or, in reverse, a suffix scan. Blelloch, "Prefix sums and their
/// applications" (1990), as jax.lax.associative_scan, so that equal elements share a cotangent as
/// they do there.
SmallVector<Value> scanAlong(Emitter &emit, Region &computation, ArrayRef<Value> xs, int64_t dim,
                             bool isReverse);

} // namespace mlir::st

#endif // ST_PASSES_AUTODIFF_COMPUTATIONS_H
