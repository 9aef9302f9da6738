// Iteration over the index space of a shape.
#ifndef ST_REFERENCE_INDEXITERATOR_H
#define ST_REFERENCE_INDEXITERATOR_H

#include "lib/Reference/Tensor.h"

namespace mlir::st::ref {

/// Calls `fn(index)` for every index of `shape` in row-major order.
template <class Fn> void forEachIndex(ArrayRef<int64_t> shape, Fn fn) {
  if (llvm::is_contained(shape, 0))
    return;
  Shape index(shape.size(), 0);
  while (true) {
    fn(ArrayRef<int64_t>(index));
    size_t dim = shape.size();
    while (dim > 0 && ++index[dim - 1] == shape[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

/// The position of an index in a tensor with these strides.
inline int64_t linearize(ArrayRef<int64_t> index, ArrayRef<int64_t> strides) {
  int64_t position = 0;
  for (size_t i = 0; i < index.size(); ++i)
    position += index[i] * strides[i];
  return position;
}

} // namespace mlir::st::ref

#endif // ST_REFERENCE_INDEXITERATOR_H
