#include "backends/cuda/runtime/host/HostProduct.h"

#include "lib/Support/Float16.h"

#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

namespace st::cuda {
namespace {

/// Rounds to the nearest value with 10 mantissa bits, ties to even.
float roundToTf32(float x) {
  if (!std::isfinite(x))
    return x;
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  constexpr uint32_t kDropped = 13, kHalf = (1u << (kDropped - 1)) - 1;
  bits += kHalf + (bits >> kDropped & 1);
  bits &= ~((1u << kDropped) - 1);
  std::memcpy(&x, &bits, sizeof(bits));
  return x;
}

// One matrix of a batch, dense and in the accumulator's type.
template <class Sum, class Element>
void pack(const Element *from, const proto::CudaMatrix &layout, int64_t rows, int64_t columns,
          bool isTf32, std::vector<Sum> &to) {
  to.resize(static_cast<size_t>(rows * columns));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      to[row * columns + column] =
          static_cast<Sum>(from[row * layout.row() + column * layout.column()]);
  if constexpr (std::is_same_v<Element, float>)
    for (Sum &element : to)
      element = isTf32 ? roundToTf32(element) : element;
}

template <class Sum, class Operand, class Result> class Product {
public:
  Product(const proto::CudaProduct &product, const ProductOperands &operands)
      : product(product), operands(operands) {}

  void run() { runBatch(0, 0, 0, 0); }

private:
  const proto::CudaProduct &product;
  const ProductOperands &operands;
  std::vector<Sum> a, b, sums;

  /// The tanh approximation of GELU, and its derivative.
  static Sum gelu(Sum x) { return x / 2 * (1 + geluTanh(x)); }
  static Sum geluDerivative(Sum x) {
    const Sum t = geluTanh(x);
    return (1 + t) / 2 + x / 2 * (1 - t * t) * kSlope * (1 + 3 * kCubic * x * x);
  }
  static Sum geluTanh(Sum x) { return std::tanh(kSlope * (x + kCubic * x * x * x)); }
  static constexpr Sum kSlope = Sum(0.79788456080286535588), kCubic = Sum(0.044715);

  template <class T> static T *pointer(Address address) { return reinterpret_cast<T *>(address); }

  void runBatch(int dim, int64_t aOffset, int64_t bOffset, int64_t dOffset) {
    if (dim == product.batch_size())
      return multiply(aOffset, bOffset, dOffset);
    for (int64_t i = 0; i < product.batch(dim); ++i)
      runBatch(dim + 1, aOffset + i * product.a_matrix().batch(dim),
               bOffset + i * product.b_matrix().batch(dim),
               dOffset + i * product.d_matrix().batch(dim));
  }

  void multiply(int64_t aOffset, int64_t bOffset, int64_t dOffset) {
    const int64_t m = product.m(), n = product.n(), k = product.k();
    pack(pointer<const Operand>(operands.a) + aOffset, product.a_matrix(), m, k, product.tf32(), a);
    pack(pointer<const Operand>(operands.b) + bOffset, product.b_matrix(), k, n, product.tf32(), b);
    for (int64_t row = 0; row < m; ++row) {
      sums.assign(static_cast<size_t>(n), Sum(0));
      for (int64_t depth = 0; depth < k; ++depth) {
        const Sum factor = a[row * k + depth];
        for (int64_t column = 0; column < n; ++column)
          sums[column] += factor * b[depth * n + column];
      }
      finish(row, dOffset);
    }
    if (operands.sums)
      addUp();
  }

  /// Sums all columns of a or rows of b, as packed.
  void addUp() {
    const int64_t m = product.m(), n = product.n(), k = product.k();
    Result *total = pointer<Result>(operands.sums);
    for (int64_t i = 0; i < (product.sums_of_a() ? m : n); ++i) {
      Sum sum = 0;
      for (int64_t depth = 0; depth < k; ++depth)
        sum += product.sums_of_a() ? a[i * k + depth] : b[depth * n + i];
      total[i] = static_cast<Result>(sum);
    }
  }

  void finish(int64_t row, int64_t offset) {
    Result *d = pointer<Result>(operands.d) + offset;
    const Result *addend =
        operands.addend ? pointer<const Result>(operands.addend) + offset : nullptr;
    const Result *bias = pointer<const Result>(operands.bias);
    for (int64_t column = 0; column < product.n(); ++column) {
      const int64_t place = row * product.d_matrix().row() + column * product.d_matrix().column();
      Sum sum = sums[column];
      if (product.scale() != 1)
        sum *= static_cast<Sum>(product.scale());
      if (addend)
        sum += static_cast<Sum>(addend[place]);
      if (bias)
        sum += static_cast<Sum>(bias[column]);
      if (product.activation() == proto::CudaProduct::GELU_GRADIENT)
        sum *= geluDerivative(static_cast<Sum>(pointer<const Result>(operands.aux)[place]));
      if (product.activation() == proto::CudaProduct::GELU) {
        if (operands.aux)
          pointer<Result>(operands.aux)[place] = static_cast<Result>(sum);
        sum = gelu(sum);
      }
      d[place] = static_cast<Result>(sum);
    }
  }
};

} // namespace

absl::Status multiplyOnHost(const proto::CudaProduct &product, const ProductOperands &operands) {
  const bool isWide = product.d_type() == proto::F32;
  switch (product.type()) {
  case proto::F64:
    Product<double, double, double>(product, operands).run();
    return absl::OkStatus();
  case proto::F32:
    Product<float, float, float>(product, operands).run();
    return absl::OkStatus();
  case proto::BF16:
    isWide ? Product<float, BFloat16, float>(product, operands).run()
           : Product<float, BFloat16, BFloat16>(product, operands).run();
    return absl::OkStatus();
  case proto::F16:
    isWide ? Product<float, Float16, float>(product, operands).run()
           : Product<float, Float16, Float16>(product, operands).run();
    return absl::OkStatus();
  default:
    return absl::InternalError("a product of elements that are not floats");
  }
}

} // namespace st::cuda
