#include "lib/Reference/Numerics/DataMovement.h"

#include "lib/Reference/Numerics/Elementwise.h"

#include <algorithm>
#include <cstring>

namespace mlir::st::ref {
namespace {

// One dimension of a strided copy.
struct CopyDim {
  int64_t size, target, source;
};

// Drops dimensions of size one, and merges dimensions that are contiguous on both
// sides.
SmallVector<CopyDim, 6> coalesce(ArrayRef<int64_t> shape, ArrayRef<int64_t> targetStrides,
                                 ArrayRef<int64_t> sourceStrides) {
  SmallVector<CopyDim, 6> dims;
  for (size_t i = 0; i < shape.size(); ++i) {
    CopyDim dim{shape[i], targetStrides[i], sourceStrides[i]};
    if (dim.size == 1)
      continue;
    if (!dims.empty() && dims.back().target == dim.size * dim.target &&
        dims.back().source == dim.size * dim.source)
      dims.back() = {dims.back().size * dim.size, dim.target, dim.source};
    else
      dims.push_back(dim);
  }
  if (dims.empty())
    dims.push_back({1, 1, 1});
  return dims;
}

template <class T> void copyLine(const CopyDim &dim, T *target, const T *source) {
  if (dim.target == 1 && dim.source == 1) {
    std::memcpy(target, source, static_cast<size_t>(dim.size) * sizeof(T));
  } else if (dim.target == 1 && dim.source == 0) {
    std::fill_n(target, dim.size, *source);
  } else {
    for (int64_t i = 0; i < dim.size; ++i)
      target[i * dim.target] = source[i * dim.source];
  }
}

template <class T> void copyBox(ArrayRef<CopyDim> dims, T *target, const T *source) {
  if (dims.size() == 1)
    return copyLine(dims.front(), target, source);
  for (int64_t i = 0; i < dims.front().size; ++i)
    copyBox(dims.drop_front(), target + i * dims.front().target, source + i * dims.front().source);
}

int64_t dot(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  int64_t sum = 0;
  for (auto [x, y] : llvm::zip_equal(a, b))
    sum += x * y;
  return sum;
}

// Copies a box of the operand that starts at element `offset`.
Tensor extract(const Tensor &operand, ArrayRef<int64_t> shape, int64_t offset,
               ArrayRef<int64_t> strides) {
  Tensor result(operand.getType(), shape);
  size_t width = ::st::byteWidth(operand.getType());
  copyStrided(shape, width, result.mutableData<std::byte>(), rowMajorStrides(shape),
              operand.bytes() + offset * static_cast<int64_t>(width), strides);
  return result;
}

} // namespace

void copyStrided(ArrayRef<int64_t> shape, size_t width, std::byte *target,
                 ArrayRef<int64_t> targetStrides, const std::byte *source,
                 ArrayRef<int64_t> sourceStrides) {
  if (llvm::is_contained(shape, 0))
    return;
  SmallVector<CopyDim, 6> dims = coalesce(shape, targetStrides, sourceStrides);
  auto run = [&](auto tag) {
    using T = decltype(tag);
    copyBox<T>(dims, reinterpret_cast<T *>(target), reinterpret_cast<const T *>(source));
  };
  switch (width) {
  case 1:
    return run(uint8_t());
  case 2:
    return run(uint16_t());
  case 4:
    return run(uint32_t());
  case 16:
    return run(std::complex<double>());
  default:
    return run(uint64_t());
  }
}

Tensor splat(const Tensor &value, ArrayRef<int64_t> shape) {
  return broadcastInDim(value, shape, {});
}

Tensor iota(ElementType type, ArrayRef<int64_t> shape, int64_t dim) {
  Tensor counts(ElementType::I64, {shape[dim]});
  int64_t *data = counts.mutableData<int64_t>();
  for (int64_t i = 0; i < shape[dim]; ++i)
    data[i] = i;
  return broadcastInDim(convert(counts, type), shape, {dim});
}

Tensor broadcastInDim(const Tensor &operand, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  Shape strides(shape.size(), 0), operandStrides = rowMajorStrides(operand.getShape());
  for (size_t i = 0; i < dims.size(); ++i)
    if (operand.getShape()[i] != 1)
      strides[dims[i]] = operandStrides[i];
  return extract(operand, shape, 0, strides);
}

Tensor transpose(const Tensor &operand, ArrayRef<int64_t> permutation) {
  Shape shape, strides, operandStrides = rowMajorStrides(operand.getShape());
  for (int64_t dim : permutation) {
    shape.push_back(operand.getShape()[dim]);
    strides.push_back(operandStrides[dim]);
  }
  return extract(operand, shape, 0, strides);
}

Tensor reverse(const Tensor &operand, ArrayRef<int64_t> dims) {
  Shape strides = rowMajorStrides(operand.getShape());
  int64_t offset = 0;
  for (int64_t dim : dims) {
    offset += (operand.getShape()[dim] - 1) * strides[dim];
    strides[dim] = -strides[dim];
  }
  return extract(operand, operand.getShape(), offset, strides);
}

Tensor slice(const Tensor &operand, ArrayRef<int64_t> starts, ArrayRef<int64_t> strides,
             ArrayRef<int64_t> shape) {
  Shape operandStrides = rowMajorStrides(operand.getShape());
  int64_t offset = dot(starts, operandStrides);
  for (size_t i = 0; i < strides.size(); ++i)
    operandStrides[i] *= strides[i];
  return extract(operand, shape, offset, operandStrides);
}

Tensor updateSlice(const Tensor &operand, const Tensor &update, ArrayRef<int64_t> starts) {
  Tensor result = operand.clone();
  Shape strides = rowMajorStrides(operand.getShape());
  size_t width = ::st::byteWidth(operand.getType());
  copyStrided(update.getShape(), width,
              result.mutableData<std::byte>() + dot(starts, strides) * static_cast<int64_t>(width),
              strides, update.bytes(), rowMajorStrides(update.getShape()));
  return result;
}

Shape clampStarts(ArrayRef<int64_t> starts, ArrayRef<int64_t> shape, ArrayRef<int64_t> sizes) {
  Shape result;
  for (auto [start, dim, size] : llvm::zip_equal(starts, shape, sizes))
    result.push_back(std::clamp<int64_t>(start, 0, dim - size));
  return result;
}

Tensor pad(const Tensor &operand, const Tensor &value, ArrayRef<int64_t> low,
           ArrayRef<int64_t> interior, ArrayRef<int64_t> resultShape) {
  Tensor result = splat(value, resultShape);
  // Per dimension, the operand's elements [first, first + count) that negative
  // padding leaves inside the result.
  Shape count, targetStrides = rowMajorStrides(resultShape),
               sourceStrides = rowMajorStrides(operand.getShape());
  int64_t targetOffset = 0, sourceOffset = 0;
  for (size_t i = 0; i < resultShape.size(); ++i) {
    int64_t step = interior[i] + 1;
    int64_t first = low[i] < 0 ? (-low[i] + step - 1) / step : 0;
    int64_t last = resultShape[i] - 1 - low[i] < 0 ? -1 : (resultShape[i] - 1 - low[i]) / step;
    last = std::min(last, operand.getShape()[i] - 1);
    if (last < first)
      return result;
    count.push_back(last - first + 1);
    targetOffset += (low[i] + first * step) * targetStrides[i];
    sourceOffset += first * sourceStrides[i];
    targetStrides[i] *= step;
  }
  int64_t width = static_cast<int64_t>(::st::byteWidth(operand.getType()));
  copyStrided(count, static_cast<size_t>(width),
              result.mutableData<std::byte>() + targetOffset * width, targetStrides,
              operand.bytes() + sourceOffset * width, sourceStrides);
  return result;
}

Tensor concatenate(ArrayRef<Tensor> inputs, int64_t dim) {
  Shape shape(inputs.front().getShape());
  shape[dim] = 0;
  for (const Tensor &input : inputs)
    shape[dim] += input.getShape()[dim];
  Tensor result(inputs.front().getType(), shape);
  Shape strides = rowMajorStrides(shape);
  size_t width = ::st::byteWidth(result.getType());
  std::byte *target = result.mutableData<std::byte>();
  for (const Tensor &input : inputs) {
    copyStrided(input.getShape(), width, target, strides, input.bytes(),
                rowMajorStrides(input.getShape()));
    target += input.getShape()[dim] * strides[dim] * static_cast<int64_t>(width);
  }
  return result;
}

Tensor equalPart(const Tensor &operand, int64_t dim, size_t index, size_t count) {
  Shape starts(operand.getShape().size(), 0), shape(operand.getShape());
  shape[dim] /= static_cast<int64_t>(count);
  starts[dim] = static_cast<int64_t>(index) * shape[dim];
  return slice(operand, starts, Shape(starts.size(), 1), shape);
}

} // namespace mlir::st::ref
