#include "lib/Reference/Tensor.h"

#include <cstring>

namespace mlir::st::ref {

int64_t numElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  return count;
}

Shape rowMajorStrides(ArrayRef<int64_t> shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

Tensor::Tensor(ElementType type, ArrayRef<int64_t> shape)
    : type(type), shape(shape.begin(), shape.end()), elements(numElements(shape)),
      storage(new std::byte[std::max<size_t>(getByteSize(), 1)]) {}

Tensor Tensor::view(ElementType newType, ArrayRef<int64_t> newShape) const {
  Tensor result = *this;
  result.type = newType;
  result.shape.assign(newShape.begin(), newShape.end());
  result.elements = numElements(newShape);
  assert(result.getByteSize() == getByteSize() && "a view has as many bytes");
  return result;
}

Tensor Tensor::clone() const {
  Tensor result(type, shape);
  std::memcpy(result.storage.get(), storage.get(), getByteSize());
  return result;
}

bool Tensor::bitwiseEquals(const Tensor &other) const {
  return type == other.type && shape == other.shape &&
         std::memcmp(storage.get(), other.storage.get(), getByteSize()) == 0;
}

} // namespace mlir::st::ref
