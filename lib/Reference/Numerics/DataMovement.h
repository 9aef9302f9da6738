// Kernels that move elements without computing on them.
#ifndef ST_REFERENCE_DATAMOVEMENT_H
#define ST_REFERENCE_DATAMOVEMENT_H

#include "lib/Reference/Tensor.h"

namespace mlir::st::ref {

/// Copies a box of `shape` elements of `width` bytes. Strides count elements
/// and may be zero or negative.
void copyStrided(ArrayRef<int64_t> shape, size_t width, std::byte *target,
                 ArrayRef<int64_t> targetStrides, const std::byte *source,
                 ArrayRef<int64_t> sourceStrides);

/// A tensor of `shape` with all elements equal to the scalar `value`.
Tensor splat(const Tensor &value, ArrayRef<int64_t> shape);

/// Counts along `dim`, converted to `type`.
Tensor iota(ElementType type, ArrayRef<int64_t> shape, int64_t dim);

/// Operand dimension i becomes result dimension dims[i], repeated if the operand's size is one.
Tensor broadcastInDim(const Tensor &operand, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims);

/// Result dimension i is operand dimension permutation[i].
Tensor transpose(const Tensor &operand, ArrayRef<int64_t> permutation);

Tensor reverse(const Tensor &operand, ArrayRef<int64_t> dims);

/// Every strides[i]-th element from starts[i], with the result's `shape`.
Tensor slice(const Tensor &operand, ArrayRef<int64_t> starts, ArrayRef<int64_t> strides,
             ArrayRef<int64_t> shape);

/// The operand with `update` in the box that begins at `starts`, in bounds.
Tensor updateSlice(const Tensor &operand, const Tensor &update, ArrayRef<int64_t> starts);

/// Clamps `starts` so that a box of `sizes` is inside `shape`.
Shape clampStarts(ArrayRef<int64_t> starts, ArrayRef<int64_t> shape, ArrayRef<int64_t> sizes);

Tensor pad(const Tensor &operand, const Tensor &value, ArrayRef<int64_t> low,
           ArrayRef<int64_t> interior, ArrayRef<int64_t> resultShape);

Tensor concatenate(ArrayRef<Tensor> inputs, int64_t dim);

/// Part `index` of `count` equal parts of a dimension.
Tensor equalPart(const Tensor &operand, int64_t dim, size_t index, size_t count);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_DATAMOVEMENT_H
