#include "lib/Reference/Numerics/Contraction.h"
#include "lib/Reference/Numerics/DataMovement.h"
#include "lib/Reference/Numerics/Elementwise.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <vector>

namespace mlir::st::ref {
namespace {

// The sizes of a batch of matrix products [batch, m, k] x [batch, k, n].
struct Sizes {
  int64_t batch, m, k, n;
};

// Dimensions of a tensor of `rank` that occur in neither list, ascending.
Shape freeDims(int64_t rank, ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  Shape free;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(a, dim) && !llvm::is_contained(b, dim))
      free.push_back(dim);
  return free;
}

int64_t product(const Tensor &tensor, ArrayRef<int64_t> dims) {
  int64_t size = 1;
  for (int64_t dim : dims)
    size *= tensor.getShape()[dim];
  return size;
}

Tensor permuted(const Tensor &tensor, std::initializer_list<ArrayRef<int64_t>> groups,
                ElementType type) {
  Shape permutation;
  for (ArrayRef<int64_t> group : groups)
    permutation.append(group.begin(), group.end());
  return convert(transpose(tensor, permutation), type);
}

// Rows of lhs that share one pass over a panel of rhs, and the width of that panel.
constexpr int64_t kRows = 4;
constexpr int64_t kColumns = 256;

// sums[r][j] += sum over k of a[r * k + i] * b[i * n + j]: every sum runs over i in order, so
// blocking changes no bit. The variants differ only in vector width: without fused multiply-adds
// all of them compute the same bits.
template <class T>
__attribute__((always_inline)) inline void multiplyPanel(int64_t rows, int64_t k, int64_t n,
                                                         int64_t columns, const T *a, const T *b,
                                                         T (*sums)[kColumns]) {
  for (int64_t i = 0; i < k; ++i)
    for (int64_t r = 0; r < rows; ++r) {
      T factor = a[r * k + i];
      const T *row = b + i * n;
      T *sum = sums[r];
      for (int64_t j = 0; j < columns; ++j)
        sum[j] += factor * row[j];
    }
}

#if defined(__x86_64__)
#define ST_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ST_VECTOR_CLONES
#endif

ST_VECTOR_CLONES void panel(int64_t rows, int64_t k, int64_t n, int64_t columns, const double *a,
                            const double *b, double (*sums)[kColumns]) {
  multiplyPanel(rows, k, n, columns, a, b, sums);
}

// Unsigned, so that sums wrap; the low bits are right for signed types too.
ST_VECTOR_CLONES void panel(int64_t rows, int64_t k, int64_t n, int64_t columns, const uint64_t *a,
                            const uint64_t *b, uint64_t (*sums)[kColumns]) {
  multiplyPanel(rows, k, n, columns, a, b, sums);
}

void panel(int64_t rows, int64_t k, int64_t n, int64_t columns, const std::complex<double> *a,
           const std::complex<double> *b, std::complex<double> (*sums)[kColumns]) {
  multiplyPanel(rows, k, n, columns, a, b, sums);
}

template <class T> void matrixProduct(const Sizes &sizes, const T *a, const T *b, T *c) {
  T sums[kRows][kColumns];
  for (int64_t column = 0; column < sizes.n; column += kColumns)
    for (int64_t row = 0; row < sizes.m; row += kRows) {
      int64_t columns = std::min(kColumns, sizes.n - column);
      int64_t rows = std::min(kRows, sizes.m - row);
      for (auto &sum : sums)
        std::fill_n(sum, columns, T(0));
      panel(rows, sizes.k, sizes.n, columns, a + row * sizes.k, b + column, sums);
      for (int64_t r = 0; r < rows; ++r)
        std::copy_n(sums[r], columns, c + (row + r) * sizes.n + column);
    }
}

template <class T>
Tensor batchedProduct(const Sizes &sizes, const Tensor &lhs, const Tensor &rhs, ElementType wide) {
  Tensor result(wide, {sizes.batch, sizes.m, sizes.n});
  const T *a = lhs.data<T>(), *b = rhs.data<T>();
  T *c = result.mutableData<T>();
  for (int64_t i = 0; i < sizes.batch; ++i)
    matrixProduct(sizes, a + i * sizes.m * sizes.k, b + i * sizes.k * sizes.n,
                  c + i * sizes.m * sizes.n);
  return result;
}

Tensor batchedProduct(const Sizes &sizes, const Tensor &a, const Tensor &b) {
  switch (a.getType()) {
  case ElementType::F64:
    return batchedProduct<double>(sizes, a, b, a.getType());
  case ElementType::C128:
    return batchedProduct<std::complex<double>>(sizes, a, b, a.getType());
  default:
    return batchedProduct<uint64_t>(sizes, a, b, a.getType());
  }
}

} // namespace

Tensor dotGeneral(const Tensor &lhs, const Tensor &rhs, const DotDims &dims, ElementType type) {
  Shape lhsFree = freeDims(lhs.getRank(), dims.lhsBatch, dims.lhsContracting);
  Shape rhsFree = freeDims(rhs.getRank(), dims.rhsBatch, dims.rhsContracting);
  Sizes sizes{product(lhs, dims.lhsBatch), product(lhs, lhsFree), product(lhs, dims.lhsContracting),
              product(rhs, rhsFree)};
  ElementType wide = productType(lhs.getType());
  Tensor a = permuted(lhs, {dims.lhsBatch, lhsFree, dims.lhsContracting}, wide);
  Tensor b = permuted(rhs, {dims.rhsBatch, dims.rhsContracting, rhsFree}, wide);
  Tensor c = batchedProduct(sizes, a, b);
  Shape shape;
  for (int64_t dim : dims.lhsBatch)
    shape.push_back(lhs.getShape()[dim]);
  for (int64_t dim : lhsFree)
    shape.push_back(lhs.getShape()[dim]);
  for (int64_t dim : rhsFree)
    shape.push_back(rhs.getShape()[dim]);
  return convert(c, type).reshaped(shape);
}

} // namespace mlir::st::ref
