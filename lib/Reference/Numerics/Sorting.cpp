#include "lib/Reference/Numerics/DataMovement.h"
#include "lib/Reference/Numerics/Indexing.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace mlir::st::ref {
namespace {

// Element `i` of a tensor as a scalar.
Tensor element(const Tensor &tensor, int64_t i) {
  Tensor result(tensor.getType(), {});
  size_t width = ::st::byteWidth(tensor.getType());
  std::memcpy(result.mutableData<std::byte>(), tensor.bytes() + i * static_cast<int64_t>(width),
              width);
  return result;
}

// The permutation that brings dimension `dim` to the end, and back again.
Shape swapWithLast(int64_t rank, int64_t dim) {
  Shape permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[dim], permutation[rank - 1]);
  return permutation;
}

// Picks elements of a tensor by their row-major positions.
Tensor pick(const Tensor &tensor, ArrayRef<int64_t> positions, ArrayRef<int64_t> shape) {
  Tensor result(tensor.getType(), shape);
  size_t width = ::st::byteWidth(tensor.getType());
  std::byte *target = result.mutableData<std::byte>();
  for (int64_t position : positions) {
    std::memcpy(target, tensor.bytes() + position * static_cast<int64_t>(width), width);
    target += width;
  }
  return result;
}

// A stable merge sort. Unlike the standard library's sort, it stays within the range even if the
// comparator is not an order.
template <class Precedes> void mergeSort(int64_t *first, int64_t length, Precedes precedes) {
  SmallVector<int64_t> merged(static_cast<size_t>(length));
  for (int64_t run = 1; run < length; run *= 2) {
    for (int64_t begin = 0; begin < length; begin += 2 * run) {
      int64_t middle = std::min(begin + run, length), end = std::min(middle + run, length);
      std::merge(first + begin, first + middle, first + middle, first + end, merged.begin() + begin,
                 precedes);
    }
    std::copy(merged.begin(), merged.end(), first);
  }
}

// The positions 0 .. rows * length - 1, each row sorted by `precedes`.
template <class Precedes>
SmallVector<int64_t> sortRows(int64_t rows, int64_t length, Precedes precedes) {
  SmallVector<int64_t> order(static_cast<size_t>(rows * length));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t row = 0; row < rows; ++row)
    mergeSort(order.data() + row * length, length, precedes);
  return order;
}

} // namespace

bool sort(ArrayRef<Tensor> inputs, int64_t dim, const ScalarComputation &comparator,
          SmallVectorImpl<Tensor> &results) {
  if (inputs[0].getNumElements() == 0) {
    results.append(inputs.begin(), inputs.end());
    return true;
  }
  Shape permutation = swapWithLast(inputs[0].getRank(), dim);
  SmallVector<Tensor, 2> rows;
  for (const Tensor &input : inputs)
    rows.push_back(transpose(input, permutation));
  int64_t length = rows[0].getShape().back();
  bool ok = true;
  auto precedes = [&](int64_t a, int64_t b) {
    SmallVector<Tensor, 4> args, results;
    for (const Tensor &tensor : rows) {
      args.push_back(element(tensor, a));
      args.push_back(element(tensor, b));
    }
    ok = ok && comparator.apply(args, results);
    return ok && *results[0].data<bool>();
  };
  SmallVector<int64_t> order = sortRows(rows[0].getNumElements() / length, length, precedes);
  for (const Tensor &tensor : rows)
    results.push_back(transpose(pick(tensor, order, tensor.getShape()), permutation));
  return ok;
}

void topK(const Tensor &operand, int64_t k, Tensor &values, Tensor &positions) {
  Shape shape(operand.getShape());
  int64_t length = shape.back(), rows = length == 0 ? 0 : operand.getNumElements() / length;
  SmallVector<int64_t> order = sortRows(rows, length, [&](int64_t a, int64_t b) {
    Tensor greater = compare(CompareKind::GT, element(operand, a), element(operand, b),
                             /*totalOrder=*/true);
    return *greater.data<bool>();
  });
  shape.back() = k;
  SmallVector<int64_t> first;
  for (int64_t row = 0; row < rows; ++row)
    first.append(order.begin() + row * length, order.begin() + row * length + k);
  values = pick(operand, first, shape);
  positions = Tensor(ElementType::I32, shape);
  for (auto [i, position] : llvm::enumerate(first))
    positions.mutableData<int32_t>()[i] = static_cast<int32_t>(position % length);
}

} // namespace mlir::st::ref
