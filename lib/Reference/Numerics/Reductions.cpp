#include "lib/Reference/Numerics/Reductions.h"

#include "lib/Reference/Numerics/DataMovement.h"
#include "lib/Reference/Numerics/IndexIterator.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace mlir::st::ref {
namespace {

using Tensors = SmallVector<Tensor, 2>;

// Applies the body to accumulated and new values.
bool combine(const ScalarComputation &body, ArrayRef<Tensor> accumulated, ArrayRef<Tensor> values,
             Tensors &results) {
  SmallVector<Tensor, 4> args(accumulated);
  args.append(values.begin(), values.end());
  Tensors combined;
  if (!body.apply(args, combined))
    return false;
  results = std::move(combined);
  return true;
}

// Every second of `count` rows, from `first` on.
Tensor everySecondRow(const Tensor &rows, int64_t first, int64_t count) {
  return slice(rows, {first, 0}, {2, 1}, {count, rows.getShape()[1]});
}

// Combines neighbouring rows of [rows, columns] until one row is left. An odd last row is kept for
// the next round, to preserve the order of the elements.
bool reduceRows(const ScalarComputation &body, Tensors &rows) {
  for (int64_t count = rows[0].getShape()[0]; count > 1; count = (count + 1) / 2) {
    int64_t pairs = count / 2, columns = rows[0].getShape()[1];
    Tensors even, odd, combined;
    for (const Tensor &tensor : rows) {
      even.push_back(everySecondRow(tensor, 0, pairs));
      odd.push_back(everySecondRow(tensor, 1, pairs));
    }
    if (!combine(body, even, odd, combined))
      return false;
    if (count % 2 == 1)
      for (auto [tensor, row] : llvm::zip_equal(combined, rows))
        tensor = concatenate({tensor, slice(row, {count - 1, 0}, {1, 1}, {1, columns})}, 0);
    rows = std::move(combined);
  }
  return true;
}

// The inputs' elements before and after a reduction, in the accumulator's type.
Tensors widen(const ScalarComputation &body, ArrayRef<Tensor> tensors) {
  Tensors wide;
  for (const Tensor &tensor : tensors)
    wide.push_back(convert(tensor, accumulatorType(body, tensor.getType())));
  return wide;
}

void narrow(ArrayRef<Tensor> wide, ArrayRef<Tensor> like, SmallVectorImpl<Tensor> &results) {
  for (auto [tensor, input] : llvm::zip_equal(wide, like))
    results.push_back(convert(tensor, input.getType()));
}

} // namespace

bool reduce(ArrayRef<Tensor> inputs, ArrayRef<Tensor> inits, ArrayRef<int64_t> dims,
            const ScalarComputation &body, SmallVectorImpl<Tensor> &results) {
  ArrayRef<int64_t> shape = inputs[0].getShape();
  Shape permutation = llvm::to_vector_of<int64_t, 4>(dims), kept;
  llvm::sort(permutation);
  int64_t reduced = 1;
  for (int64_t dim : dims)
    reduced *= shape[dim];
  for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim)
    if (!llvm::is_contained(dims, dim)) {
      permutation.push_back(dim);
      kept.push_back(shape[dim]);
    }

  Tensors rows, initial = widen(body, inits);
  for (Tensor &tensor : widen(body, inputs))
    rows.push_back(transpose(tensor, permutation).reshaped({reduced, numElements(kept)}));
  for (Tensor &init : initial)
    init = splat(init, kept);
  if (reduced > 0) {
    if (!reduceRows(body, rows))
      return false;
    for (Tensor &row : rows)
      row = row.reshaped(kept);
    if (!combine(body, initial, rows, initial))
      return false;
  }
  narrow(initial, inputs, results);
  return true;
}

Shape Window::places(ArrayRef<int64_t> shape) const {
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t dilated = shape[i] == 0 ? 0 : (shape[i] - 1) * baseDilations[i] + 1;
    int64_t room = dilated + padLow[i] + padHigh[i] - ((size[i] - 1) * windowDilations[i] + 1);
    result.push_back(room < 0 ? 0 : room / strides[i] + 1);
  }
  return result;
}

namespace {

// The operand with the window's padding and base dilation, filled with `value`.
Tensor padded(const Tensor &operand, const Tensor &value, const Window &window) {
  Shape shape, interior;
  for (size_t i = 0; i < window.size.size(); ++i) {
    int64_t size = operand.getShape()[i];
    interior.push_back(window.baseDilations[i] - 1);
    shape.push_back((size == 0 ? 0 : (size - 1) * window.baseDilations[i] + 1) + window.padLow[i] +
                    window.padHigh[i]);
  }
  return pad(operand, value, window.padLow, interior, shape);
}

// Element `tap` of every window over the padded operand.
Tensor windowElement(const Tensor &operand, const Window &window, ArrayRef<int64_t> tap,
                     ArrayRef<int64_t> places) {
  Shape starts;
  for (size_t i = 0; i < tap.size(); ++i)
    starts.push_back(tap[i] * window.windowDilations[i]);
  return slice(operand, starts, window.strides, places);
}

// `count` positions of a dimension, from `start` on.
Tensors sliceDim(ArrayRef<Tensor> tensors, size_t dim, int64_t start, int64_t count) {
  Tensors result;
  for (const Tensor &tensor : tensors) {
    Shape starts(tensor.getRank(), 0), shape(tensor.getShape());
    starts[dim] = start;
    shape[dim] = count;
    result.push_back(slice(tensor, starts, Shape(tensor.getRank(), 1), shape));
  }
  return result;
}

// Combines the elements at each position of one dimension and `size - 1` after it, `dilation`
// apart. Spans of 1, 2, 4, ... elements combine two of half their size, and a window combines
// spans, so a cumulative sum, whose window is as large as the dimension, takes few steps.
bool combineAlong(const ScalarComputation &body, size_t dim, int64_t size, int64_t dilation,
                  Tensors &tensors) {
  int64_t length = tensors[0].getShape()[dim], places = length - (size - 1) * dilation;
  Tensors spans = std::move(tensors);
  tensors.clear();
  for (int64_t span = 1, offset = 0; offset < size; span *= 2) {
    if (size & span) {
      Tensors part = sliceDim(spans, dim, offset * dilation, places);
      if (tensors.empty())
        tensors = part;
      else if (!combine(body, tensors, part, tensors))
        return false;
      offset += span;
    }
    int64_t doubled = length - (2 * span - 1) * dilation;
    if (offset < size && !combine(body, sliceDim(spans, dim, 0, doubled),
                                  sliceDim(spans, dim, span * dilation, doubled), spans))
      return false;
  }
  return true;
}

} // namespace

bool reduceWindow(ArrayRef<Tensor> inputs, ArrayRef<Tensor> inits, const Window &window,
                  const ScalarComputation &body, SmallVectorImpl<Tensor> &results) {
  Shape places = window.places(inputs[0].getShape());
  Tensors wide = widen(body, inputs), accumulated = widen(body, inits);
  for (auto [tensor, init] : llvm::zip_equal(wide, accumulated)) {
    tensor = padded(tensor, init, window);
    init = splat(init, places);
  }
  if (numElements(places) > 0) {
    for (size_t dim = places.size(); dim-- > 0;)
      if (!combineAlong(body, dim, window.size[dim], window.windowDilations[dim], wide))
        return false;
    for (Tensor &tensor : wide)
      tensor = slice(tensor, Shape(places.size(), 0), window.strides, places);
    if (!combine(body, accumulated, wide, accumulated))
      return false;
  }
  narrow(accumulated, inputs, results);
  return true;
}

namespace {

// For every window the position in the operand, row-major, of the element that
// `selects` prefers to all others; -1 for a window of padding only.
bool selectPositions(const Tensor &operand, const Window &window, const ScalarComputation &selects,
                     ArrayRef<int64_t> places, Tensor &positions) {
  // A second tensor carries the positions of the elements, -1 for padding.
  Tensor numbers = iota(ElementType::I64, {operand.getNumElements()}, 0);
  Tensor none = Tensor::scalar<int64_t>(ElementType::I64, -1);
  Tensor index = padded(numbers.reshaped(operand.getShape()), none, window);
  Tensor value = padded(operand, convert(none, operand.getType()), window);
  Tensor chosen;
  bool ok = true;
  forEachIndex(window.size, [&](ArrayRef<int64_t> tap) {
    if (!ok)
      return;
    Tensor candidate = windowElement(value, window, tap, places);
    Tensor candidateIndex = windowElement(index, window, tap, places);
    if (!chosen) {
      chosen = candidate;
      positions = candidateIndex;
      return;
    }
    Tensors keeps;
    if (!(ok = selects.apply({chosen, candidate}, keeps)))
      return;
    Tensor isPadding = compare(CompareKind::EQ, candidateIndex, none);
    Tensor hasOne = compare(CompareKind::NE, positions, none);
    Tensor keep = binary(BinaryKind::Or, isPadding, binary(BinaryKind::And, hasOne, keeps[0]));
    chosen = select(keep, chosen, candidate);
    positions = select(keep, positions, candidateIndex);
  });
  return ok;
}

} // namespace

bool selectAndScatter(const Tensor &operand, const Tensor &source, const Tensor &init,
                      const Window &window, const ScalarComputation &selects,
                      const ScalarComputation &scatter, Tensor &result) {
  Tensor positions;
  if (!selectPositions(operand, window, selects, source.getShape(), positions))
    return false;
  ElementType wide = accumulatorType(scatter, operand.getType());
  Tensor sums = splat(convert(init, wide), operand.getShape()), values = convert(source, wide);
  size_t width = ::st::byteWidth(wide);
  std::byte *bytes = sums.mutableData<std::byte>();
  for (int64_t i = 0; i < source.getNumElements(); ++i) {
    int64_t position = positions.data<int64_t>()[i];
    if (position < 0)
      continue;
    Tensor current(wide, {}), value(wide, {});
    std::memcpy(current.mutableData<std::byte>(), bytes + position * width, width);
    std::memcpy(value.mutableData<std::byte>(), values.bytes() + i * width, width);
    Tensors sum;
    if (!combine(scatter, current, value, sum))
      return false;
    std::memcpy(bytes + position * width, sum[0].bytes(), width);
  }
  result = convert(sums, operand.getType());
  return true;
}

} // namespace mlir::st::ref
