// Iteration spaces of kernels, and the axes of values in them.
//
// Dimensions of size 1 do not count. A value of a kernel varies along some of the space's
// dimensions, its axes, in ascending order: a bias of [C] in a space [R, C] has axis 1, the row
// sums have axis 0, a scalar has none.
#pragma once

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace mlir::st {

/// A set of dimensions of a space, bit i for dimension i.
using Axes = uint32_t;

/// The sizes of a tensor's dimensions without those of size 1.
SmallVector<int64_t> squeeze(Value value);
int64_t getNumElements(Value value);
/// Bytes of an element in memory; an i1 takes one.
int64_t getElementBytes(Value value);

/// All dimensions of a space.
inline Axes allAxes(size_t rank) { return (Axes(1) << rank) - 1; }

/// The axes of an operand of an elementwise op, a broadcast, a reshape of unit dimensions, or a
/// reduction, given the `axes` of the result. A reduction's operand spans all of `space`.
Axes getOperandAxes(OpOperand &operand, Axes axes, ArrayRef<int64_t> space);

/// The dimensions of its operand's squeezed shape that a reduction removes.
Axes getReducedAxes(Operation *reduce);

} // namespace mlir::st
