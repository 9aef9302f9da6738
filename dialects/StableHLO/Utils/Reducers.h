// What the body of a reduction combines by.
#pragma once

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Operation.h"

namespace mlir::st {

/// The op that combines the two arguments of a reduction's body into its result; null where the
/// body does anything else.
Operation *findCombiner(Region &reducer);

/// The element that changes none that it is combined with; null where no such is known. Of complex
/// numbers an array of the real and the imaginary part, maxima and minima by real, then by
/// imaginary part.
Attribute getNeutralElement(Operation *combiner, Type element);

/// Whether a value is a constant that changes nothing that the body combines it with.
bool isNeutral(Region &reducer, Value value);

} // namespace mlir::st
