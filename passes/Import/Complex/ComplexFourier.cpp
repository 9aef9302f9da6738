// Fourier transforms as products with matrices of roots of unity.
//
// A length with small factors is split in two (Cooley and Tukey, 1965): an index i = i1 n2 + i2 of
// a row of n = n1 n2 gives the frequencies k = k1 + n1 k2 by transforms of n1, a rotation by the
// root of order n to the power i2 k1, and transforms of n2.

#include "passes/Import/Complex/ComplexParts.h"
#include <cmath>

using namespace mlir;
using namespace mlir::st;

/// Up to this length, one product is as fast as two small products with data movement between them.
static constexpr int64_t kLargestMatrix = 64;

namespace {
class Fourier {
public:
  Fourier(Emitter &emit, bool isInverse) : emit(emit), math(emit), isInverse(isInverse) {}

  /// Transforms one dimension; without an imaginary part, the input is real.
  Parts transform(Parts x, int64_t dim);

private:
  Emitter &emit;
  ComplexEmitter math;
  bool isInverse;

  Parts roots(int64_t order, int64_t rows, int64_t columns, Type element);
  Parts multiply(Parts x, int64_t length);
  Parts transformRows(Parts x);
};
} // namespace

template <typename Function> static Parts each(Parts x, Function function) {
  return {function(x.re), x.im ? function(x.im) : Value()};
}

/// The root of unity of some order to the power row times column.
Parts Fourier::roots(int64_t order, int64_t rows, int64_t columns, Type element) {
  auto type = RankedTensorType::get({rows, columns}, element);
  SmallVector<Attribute> re, im;
  double sign = isInverse ? 1 : -1;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      int64_t power = row * column % order;
      double angle = 2 * M_PI * static_cast<double>(power) / static_cast<double>(order);
      double x = std::cos(angle), y = std::sin(angle);
      if (power * 4 % order == 0) { // A value on an axis is exact.
        int64_t quarter = power * 4 / order;
        x = quarter == 0 ? 1 : quarter == 2 ? -1 : 0;
        y = quarter == 1 ? 1 : quarter == 3 ? -1 : 0;
      }
      re.push_back(FloatAttr::get(element, x));
      im.push_back(FloatAttr::get(element, sign * y));
    }
  return {emit.constant(DenseElementsAttr::get(type, re)),
          emit.constant(DenseElementsAttr::get(type, im))};
}

/// Rows of some length times the matrix of roots.
Parts Fourier::multiply(Parts x, int64_t length) {
  Parts matrix = roots(length, length, length, Emitter::typeOf(x.re).getElementType());
  auto times = [&](Value a, Value b) { return emit.dot(a, b, {{}, {}, {1}, {0}}); };
  if (!x.im)
    return {times(x.re, matrix.re), times(x.re, matrix.im)};
  return {emit.sub(times(x.re, matrix.re), times(x.im, matrix.im)),
          emit.add(times(x.re, matrix.im), times(x.im, matrix.re))};
}

/// Transforms rows of [rows, n].
Parts Fourier::transformRows(Parts x) {
  int64_t rows = Emitter::shapeOf(x.re)[0], length = Emitter::shapeOf(x.re)[1];
  int64_t n1 = 1;
  if (length > kLargestMatrix)
    for (int64_t factor = 2; factor <= kLargestMatrix && factor * factor <= length; ++factor)
      if (length % factor == 0)
        n1 = factor;
  if (n1 == 1)
    return multiply(x, length);
  int64_t n2 = length / n1;
  auto arrange = [&](Parts parts, ArrayRef<int64_t> from, ArrayRef<int64_t> order,
                     ArrayRef<int64_t> to) {
    return each(parts, [&](Value v) {
      return emit.reshape(emit.transpose(emit.reshape(v, from), order), to);
    });
  };
  x = transformRows(arrange(x, {rows, n1, n2}, {0, 2, 1}, {rows * n2, n1}));
  Parts turns = roots(length, n2, n1, Emitter::typeOf(x.re).getElementType());
  SmallVector<int64_t> shape = {rows, n2, n1};
  x = math.mul(each(x, [&](Value v) { return emit.reshape(v, shape); }),
               each(turns, [&](Value v) { return emit.broadcast(v, {1, 2}, shape); }));
  x = transformRows(arrange(x, shape, {0, 2, 1}, {rows * n1, n2}));
  return arrange(x, {rows, n1, n2}, {0, 2, 1}, {rows, length});
}

Parts Fourier::transform(Parts x, int64_t dim) {
  SmallVector<int64_t> shape(Emitter::shapeOf(x.re));
  auto rank = static_cast<int64_t>(shape.size());
  SmallVector<int64_t> swap = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(swap[dim], swap[rank - 1]);
  int64_t length = shape[dim], rows = 1;
  for (int64_t size : shape)
    rows *= size;
  std::swap(shape[dim], shape[rank - 1]);
  Parts created = transformRows(each(
      x, [&](Value v) { return emit.reshape(emit.transpose(v, swap), {rows / length, length}); }));
  return each(created, [&](Value v) {
    Value joined = emit.transpose(emit.reshape(v, shape), swap);
    return isInverse ? emit.scale(joined, 1.0 / static_cast<double>(length)) : joined;
  });
}

/// Completes a row of a real signal's spectrum, whose second half mirrors the first.
static Parts completeRows(Emitter &emit, Parts half, int64_t length) {
  int64_t last = Emitter::typeOf(half.re).getRank() - 1;
  int64_t mirrored = length - length / 2 - 1;
  if (mirrored == 0)
    return half;
  auto mirror = [&](Value x) {
    return emit.reverse(emit.sliceDim(x, last, 1, mirrored + 1), {last});
  };
  return {emit.concatenate({half.re, mirror(half.re)}, last),
          emit.concatenate({half.im, emit.neg(mirror(half.im))}, last)};
}

Parts mlir::st::expandFourier(Emitter &emit, stablehlo::FftOp op, Parts operand) {
  using stablehlo::FftType;
  ArrayRef<int64_t> lengths = op.getFftLength();
  bool isInverse = op.getFftType() == FftType::IFFT || op.getFftType() == FftType::IRFFT;
  int64_t rank = Emitter::typeOf(operand.re).getRank(),
          first = rank - static_cast<int64_t>(lengths.size());
  Fourier fourier(emit, isInverse);
  if (op.getFftType() == FftType::RFFT) {
    operand = fourier.transform(operand, rank - 1);
    int64_t kept = lengths.back() / 2 + 1;
    operand = each(operand, [&](Value v) { return emit.sliceDim(v, rank - 1, 0, kept); });
  }
  for (int64_t dim = first; dim < rank - 1; ++dim)
    operand = fourier.transform(operand, dim);
  if (op.getFftType() == FftType::RFFT)
    return operand;
  if (op.getFftType() == FftType::IRFFT)
    operand = completeRows(emit, operand, lengths.back());
  return fourier.transform(operand, rank - 1);
}
