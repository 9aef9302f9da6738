#include "lib/Reference/Numerics/LinearAlgebra.h"

#include "lib/Reference/Numerics/DataMovement.h"
#include "lib/Reference/Numerics/Elementwise.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace mlir::st::ref {
namespace {

using Complex = std::complex<double>;

// A root of unity of some order to a power below it; exact on the axes.
Complex rootOfUnity(int64_t power, int64_t order) {
  if (4 * power % order != 0)
    return std::polar(1.0, 2 * M_PI * static_cast<double>(power) / static_cast<double>(order));
  constexpr Complex kQuarters[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  return kQuarters[4 * power / order];
}

// Transforms the last dimension, row by row.
Tensor transformRows(const Tensor &rows, bool inverse) {
  int64_t length = rows.getShape().back();
  Tensor result(ElementType::C128, rows.getShape());
  SmallVector<Complex> roots;
  for (int64_t i = 0; i < length; ++i)
    roots.push_back(inverse ? rootOfUnity(i, length) : std::conj(rootOfUnity(i, length)));
  Complex *out = result.mutableData<Complex>();
  for (int64_t start = 0; start < rows.getNumElements(); start += length) {
    const Complex *in = rows.data<Complex>() + start;
    for (int64_t k = 0; k < length; ++k) {
      Complex sum = 0;
      for (int64_t i = 0; i < length; ++i)
        sum += in[i] * roots[i * k % length];
      *out++ = inverse ? sum / static_cast<double>(length) : sum;
    }
  }
  return result;
}

Tensor transformDim(const Tensor &operand, int64_t dim, bool inverse) {
  if (operand.getNumElements() == 0)
    return operand;
  Shape swap(operand.getRank());
  std::iota(swap.begin(), swap.end(), 0);
  std::swap(swap[dim], swap.back());
  return transpose(transformRows(transpose(operand, swap), inverse), swap);
}

// The first `size` elements of the last dimension.
Tensor firstOfLast(const Tensor &operand, int64_t size) {
  Shape shape(operand.getShape());
  shape.back() = size;
  return slice(operand, Shape(shape.size(), 0), Shape(shape.size(), 1), shape);
}

// A row of the spectrum of real numbers, whose second half mirrors the first.
Tensor completeRows(const Tensor &half, int64_t length) {
  Shape shape(half.getShape());
  int64_t given = shape.back();
  shape.back() = length;
  Tensor result(ElementType::C128, shape);
  Complex *out = result.mutableData<Complex>();
  for (int64_t row = 0; length > 0 && row < result.getNumElements() / length; ++row) {
    const Complex *in = half.data<Complex>() + row * given;
    for (int64_t i = 0; i < length; ++i)
      *out++ = i < given ? in[i] : std::conj(in[length - i]);
    // A real spectrum has no imaginary part at these places, so it is ignored.
    out[-length] = out[-length].real();
    if (length % 2 == 0)
      out[-length / 2] = out[-length / 2].real();
  }
  return result;
}

// Calls `fn` with the row-major elements of each n x n matrix of a batch.
template <class Fn> void forEachMatrix(Tensor &batch, int64_t size, Fn fn) {
  Complex *data = batch.mutableData<Complex>();
  for (int64_t i = 0; size > 0 && i < batch.getNumElements() / size; ++i)
    fn(data + i * size, i);
}

void factorize(Complex *a, int64_t n) {
  bool isDefinite = true;
  for (int64_t j = 0; j < n; ++j) {
    double diagonal = a[j * n + j].real();
    for (int64_t k = 0; k < j; ++k)
      diagonal -= std::norm(a[j * n + k]);
    isDefinite &= diagonal > 0;
    a[j * n + j] = std::sqrt(diagonal);
    for (int64_t i = j + 1; i < n; ++i) {
      Complex sum = a[i * n + j];
      for (int64_t k = 0; k < j; ++k)
        sum -= a[i * n + k] * std::conj(a[j * n + k]);
      a[i * n + j] = sum / a[j * n + j];
      a[j * n + i] = 0;
    }
  }
  if (!isDefinite)
    for (int64_t i = 0; i < n; ++i)
      std::fill_n(a + i * n, i + 1, Complex(std::numeric_limits<double>::quiet_NaN()));
}

// Exchanges the last two dimensions.
Tensor transposeMatrices(const Tensor &matrices) {
  Shape order(matrices.getRank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 2], order.back());
  return transpose(matrices, order);
}

Tensor conjugate(const Tensor &matrices) { return unary(UnaryKind::Conj, matrices); }

} // namespace

Tensor fourier(const Tensor &operand, FourierKind kind, ArrayRef<int64_t> lengths,
               ElementType type) {
  bool inverse = kind == FourierKind::Inverse || kind == FourierKind::ToReal;
  int64_t rank = operand.getRank(), first = rank - static_cast<int64_t>(lengths.size());
  Tensor result = convert(operand, ElementType::C128);
  // The last dimension is completed after the inverse transform of the others.
  for (int64_t dim = first; dim < rank - 1; ++dim)
    result = transformDim(result, dim, inverse);
  if (kind == FourierKind::ToReal)
    result = completeRows(result, lengths.back());
  result = transformDim(result, rank - 1, inverse);
  if (kind == FourierKind::FromReal && lengths.back() > 0)
    result = firstOfLast(result, lengths.back() / 2 + 1);
  return convert(result, type);
}

Tensor cholesky(const Tensor &operand, bool lower) {
  int64_t n = operand.getShape().back();
  Tensor result = convert(operand, ElementType::C128);
  result = lower ? result.clone() : conjugate(transposeMatrices(result));
  forEachMatrix(result, n * n, [&](Complex *matrix, int64_t) { factorize(matrix, n); });
  return convert(lower ? result : conjugate(transposeMatrices(result)), operand.getType());
}

Tensor triangularSolve(const Tensor &a, const Tensor &b, const TriangularSystem &system) {
  Tensor matrices = convert(a, ElementType::C128), x = convert(b, ElementType::C128);
  bool lower = system.lower;
  if (system.use != MatrixUse::AsIs) {
    matrices = transposeMatrices(matrices);
    lower = !lower;
  }
  if (system.use == MatrixUse::Adjoint)
    matrices = conjugate(matrices);
  // x a = b is the transpose of a^T x^T = b^T.
  if (!system.leftSide) {
    matrices = transposeMatrices(matrices);
    x = transposeMatrices(x);
    lower = !lower;
  }
  x = x.clone();
  int64_t n = matrices.getShape().back(), columns = x.getShape().back();
  forEachMatrix(x, n * columns, [&](Complex *solution, int64_t i) {
    const Complex *matrix = matrices.data<Complex>() + i * n * n;
    for (int64_t step = 0; step < n; ++step) {
      int64_t row = lower ? step : n - 1 - step;
      for (int64_t column = 0; column < columns; ++column) {
        Complex sum = solution[row * columns + column];
        for (int64_t k = lower ? 0 : row + 1; k < (lower ? row : n); ++k)
          sum -= matrix[row * n + k] * solution[k * columns + column];
        solution[row * columns + column] = system.unitDiagonal ? sum : sum / matrix[row * n + row];
      }
    }
  });
  return convert(system.leftSide ? x : transposeMatrices(x), b.getType());
}

} // namespace mlir::st::ref
