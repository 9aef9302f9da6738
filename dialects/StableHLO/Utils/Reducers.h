// The op in the body of a reduction that combines two values.
#pragma once

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Operation.h"

namespace mlir::st {

/// The op that combines the two arguments of a reduction's body into its result; null if the body
/// does anything else.
Operation *findCombiner(Region &reducer);

/// Returns true if the body combines two values with one op of this kind.
template <typename Op> bool combinesWith(Region &reducer) {
  return isa_and_nonnull<Op>(findCombiner(reducer));
}

/// The neutral element of the combiner; null if none is known. For complex numbers it is an array
/// of the real and the imaginary part; maxima and minima compare the real part first, then the
/// imaginary part.
Attribute getNeutralElement(Operation *combiner, Type element);

/// Returns true if a value is a constant that is neutral for the body.
bool isNeutral(Region &reducer, Value value);

} // namespace mlir::st
