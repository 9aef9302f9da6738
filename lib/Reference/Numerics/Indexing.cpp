#include "lib/Reference/Numerics/Indexing.h"

#include "lib/Reference/Numerics/DataMovement.h"
#include "lib/Reference/Numerics/IndexIterator.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace mlir::st::ref {
namespace {

int64_t size(ArrayRef<int64_t> list) { return static_cast<int64_t>(list.size()); }

// Common parts of gather and scatter: `operand` is the indexed tensor; the windowed one is gather's
// result or scatter's updates.
class IndexedWindows {
public:
  IndexedWindows(const Tensor &operand, const Tensor &indices, const IndexDims &dims,
                 ArrayRef<int64_t> windowedShape)
      : shape(operand.getShape()), dims(dims), indices(convertIndices(indices)),
        indexStrides(rowMajorStrides(this->indices.getShape())),
        operandStrides(rowMajorStrides(shape)), windowedStrides(rowMajorStrides(windowedShape)) {
    int64_t rank = size(windowedShape);
    for (int64_t dim = 0; dim < rank; ++dim)
      if (!llvm::is_contained(dims.window, dim)) {
        batchDims.push_back(dim);
        batchShape.push_back(windowedShape[dim]);
      }
    SmallVector<int64_t> windowDims(dims.window);
    llvm::sort(windowDims);
    size_t next = 0;
    windowSizes.assign(shape.size(), 1);
    for (int64_t dim = 0; dim < size(shape); ++dim) {
      if (llvm::is_contained(dims.collapsed, dim) || llvm::is_contained(dims.operandBatching, dim))
        continue;
      windowSizes[dim] = windowedShape[windowDims[next]];
      boxShape.push_back(windowSizes[dim]);
      boxOperandStrides.push_back(operandStrides[dim]);
      boxWindowedStrides.push_back(windowedStrides[windowDims[next++]]);
    }
  }

  // The start of this batch index's window in the operand; out of bounds if the index is.
  Shape start(ArrayRef<int64_t> batch) const {
    Shape result(shape.size(), 0), index = llvm::to_vector_of<int64_t, 4>(batch);
    if (dims.indexVectorDim < indices.getRank())
      index.insert(index.begin() + dims.indexVectorDim, 0);
    for (size_t component = 0; component < dims.indexMap.size(); ++component) {
      if (dims.indexVectorDim < indices.getRank())
        index[dims.indexVectorDim] = static_cast<int64_t>(component);
      result[dims.indexMap[component]] = indices.data<int64_t>()[linearize(index, indexStrides)];
    }
    for (auto [operandDim, indexDim] : llvm::zip_equal(dims.operandBatching, dims.indicesBatching))
      result[operandDim] = index[indexDim];
    return result;
  }

  bool isInBounds(ArrayRef<int64_t> start) const {
    for (size_t i = 0; i < start.size(); ++i)
      if (start[i] < 0 || start[i] > shape[i] - windowSizes[i])
        return false;
    return true;
  }

  int64_t windowedOffset(ArrayRef<int64_t> batch) const {
    int64_t offset = 0;
    for (auto [dim, index] : llvm::zip_equal(batchDims, batch))
      offset += index * windowedStrides[dim];
    return offset;
  }

  // Indices as i64; an unsigned one beyond its range is out of bounds anyway.
  static Tensor convertIndices(const Tensor &indices) {
    if (indices.getType() != ElementType::U64)
      return convert(indices, ElementType::I64);
    Tensor most = Tensor::scalar<uint64_t>(ElementType::U64, std::numeric_limits<int64_t>::max());
    return convert(binary(BinaryKind::Min, indices, most), ElementType::I64);
  }

  Shape shape;
  const IndexDims &dims;
  Tensor indices;
  Shape indexStrides, operandStrides, windowedStrides;
  /// The dimensions of the windowed tensor that enumerate windows.
  Shape batchDims, batchShape;
  /// The window's size in each dimension of the operand.
  Shape windowSizes;
  /// The window as a box, without collapsed dimensions.
  Shape boxShape, boxOperandStrides, boxWindowedStrides;
};

} // namespace

Tensor gather(const Tensor &operand, const Tensor &indices, const IndexDims &dims,
              ArrayRef<int64_t> sliceSizes, ArrayRef<int64_t> resultShape) {
  IndexedWindows windows(operand, indices, dims, resultShape);
  Tensor result(operand.getType(), resultShape);
  int64_t width = static_cast<int64_t>(::st::byteWidth(operand.getType()));
  std::byte *target = result.mutableData<std::byte>();
  forEachIndex(windows.batchShape, [&](ArrayRef<int64_t> batch) {
    Shape start = clampStarts(windows.start(batch), operand.getShape(), sliceSizes);
    copyStrided(windows.boxShape, static_cast<size_t>(width),
                target + windows.windowedOffset(batch) * width, windows.boxWindowedStrides,
                operand.bytes() + linearize(start, windows.operandStrides) * width,
                windows.boxOperandStrides);
  });
  return result;
}

bool scatter(ArrayRef<Tensor> inputs, const Tensor &indices, ArrayRef<Tensor> updates,
             const IndexDims &dims, const ScalarComputation &body,
             SmallVectorImpl<Tensor> &results) {
  IndexedWindows windows(inputs[0], indices, dims, updates[0].getShape());
  SmallVector<Tensor, 2> sums, values;
  for (auto [input, update] : llvm::zip_equal(inputs, updates)) {
    ElementType wide = accumulatorType(body, input.getType());
    sums.push_back(convert(input, wide).clone());
    values.push_back(convert(update, wide));
  }
  Shape boxStrides = rowMajorStrides(windows.boxShape);
  bool ok = true;
  forEachIndex(windows.batchShape, [&](ArrayRef<int64_t> batch) {
    Shape start = windows.start(batch);
    if (!ok || !windows.isInBounds(start))
      return;
    int64_t at = linearize(start, windows.operandStrides), from = windows.windowedOffset(batch);
    // The elements of one window are distinct, so one application of the body combines all of them.
    SmallVector<Tensor, 4> args, combined;
    auto take = [&](const Tensor &source, int64_t offset, ArrayRef<int64_t> strides) {
      int64_t width = static_cast<int64_t>(::st::byteWidth(source.getType()));
      args.emplace_back(source.getType(), windows.boxShape);
      copyStrided(windows.boxShape, width, args.back().mutableData<std::byte>(), boxStrides,
                  source.bytes() + offset * width, strides);
    };
    for (const Tensor &sum : sums)
      take(sum, at, windows.boxOperandStrides);
    for (const Tensor &value : values)
      take(value, from, windows.boxWindowedStrides);
    if (!(ok = body.apply(args, combined)))
      return;
    for (auto [sum, box] : llvm::zip_equal(sums, combined)) {
      int64_t width = static_cast<int64_t>(::st::byteWidth(sum.getType()));
      copyStrided(windows.boxShape, width, sum.mutableData<std::byte>() + at * width,
                  windows.boxOperandStrides, box.bytes(), boxStrides);
    }
  });
  for (auto [sum, input] : llvm::zip_equal(sums, inputs))
    results.push_back(convert(sum, input.getType()));
  return ok;
}

} // namespace mlir::st::ref
