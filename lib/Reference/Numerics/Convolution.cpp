#include "lib/Reference/Numerics/Contraction.h"
#include "lib/Reference/Numerics/DataMovement.h"
#include "lib/Reference/Numerics/Elementwise.h"
#include "lib/Reference/Numerics/IndexIterator.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace mlir::st::ref {
namespace {

// The dimensions in the order batch, spatial ones, feature.
Shape canonicalOrder(const ConvDims &dims) {
  Shape order{dims.batch};
  order.append(dims.spatial.begin(), dims.spatial.end());
  order.push_back(dims.feature);
  return order;
}

// The input as [batch, spatial..., feature] in the type of the sums, with its
// padding and dilation written out as zeros.
Tensor spreadInput(const Tensor &input, const Convolution &conv, ElementType wide) {
  Tensor ordered = convert(transpose(input, canonicalOrder(conv.input)), wide);
  Tensor zero = convert(Tensor::scalar<int64_t>(ElementType::I64, 0), wide);
  Shape low{0}, interior{0}, shape{ordered.getShape()[0]};
  for (size_t i = 0; i < conv.strides.size(); ++i) {
    int64_t size = ordered.getShape()[i + 1];
    low.push_back(conv.padLow[i]);
    interior.push_back(conv.inputDilation[i] - 1);
    int64_t dilated = size == 0 ? 0 : (size - 1) * conv.inputDilation[i] + 1;
    shape.push_back(std::max<int64_t>(dilated + conv.padLow[i] + conv.padHigh[i], 0));
  }
  low.push_back(0);
  interior.push_back(0);
  shape.push_back(ordered.getShape().back());
  return pad(ordered, zero, low, interior, shape);
}

// The kernel as [output feature, spatial..., input feature of a group].
Tensor orderKernel(const Tensor &kernel, const Convolution &conv, ElementType wide) {
  Tensor ordered = convert(transpose(kernel, canonicalOrder(conv.kernel)), wide);
  Shape reversed;
  for (auto [i, isReversed] : llvm::enumerate(conv.reversed))
    if (isReversed)
      reversed.push_back(static_cast<int64_t>(i) + 1);
  return reverse(ordered, reversed);
}

// Every result is the sum over the window and a group's features. Groups follow
// each other among the output features; each has its part of the input's
// features or of its batch.
template <class T>
void accumulate(const Tensor &input, const Tensor &kernel, const Convolution &conv,
                Tensor &result) {
  int64_t batch = result.getShape().front(), outputs = result.getShape().back();
  int64_t groups = conv.featureGroups * conv.batchGroups, features = kernel.getShape().back();
  Shape inputStrides = rowMajorStrides(input.getShape());
  ArrayRef<int64_t> places = ArrayRef(result.getShape()).drop_front().drop_back();
  ArrayRef<int64_t> window = kernel.getShape().drop_front().drop_back();
  const T *in = input.data<T>(), *weights = kernel.data<T>();
  T *out = result.mutableData<T>();
  int64_t weightsOfOutput = numElements(window) * features;
  for (int64_t b = 0; b < batch; ++b)
    forEachIndex(places, [&](ArrayRef<int64_t> place) {
      for (int64_t o = 0; o < outputs; ++o, ++out) {
        int64_t group = o / (outputs / groups);
        const T *corner = in + (conv.featureGroups > 1 ? group * features : 0) +
                          (conv.batchGroups > 1 ? group * batch + b : b) * inputStrides[0];
        const T *weight = weights + o * weightsOfOutput;
        T sum(0);
        forEachIndex(window, [&](ArrayRef<int64_t> tap) {
          const T *value = corner;
          for (size_t i = 0; i < tap.size(); ++i)
            value += (place[i] * conv.strides[i] + tap[i] * conv.kernelDilation[i]) *
                     inputStrides[i + 1];
          for (int64_t f = 0; f < features; ++f)
            sum += value[f] * *weight++;
        });
        *out = sum;
      }
    });
}

} // namespace

Tensor convolution(const Tensor &input, const Tensor &kernel, const Convolution &conv,
                   ArrayRef<int64_t> shape, ElementType type) {
  ElementType wide = productType(input.getType());
  Tensor spread = spreadInput(input, conv, wide), ordered = orderKernel(kernel, conv, wide);
  Shape order = canonicalOrder(conv.output), orderedShape, back(order.size());
  for (auto [i, dim] : llvm::enumerate(order)) {
    orderedShape.push_back(shape[dim]);
    back[dim] = static_cast<int64_t>(i);
  }
  Tensor sums(wide, orderedShape);
  if (sums.getNumElements() > 0) {
    if (wide == ElementType::F64)
      accumulate<double>(spread, ordered, conv, sums);
    else if (wide == ElementType::C128)
      accumulate<std::complex<double>>(spread, ordered, conv, sums);
    else
      accumulate<uint64_t>(spread, ordered, conv, sums);
  }
  return transpose(convert(sums, type), back);
}

} // namespace mlir::st::ref
