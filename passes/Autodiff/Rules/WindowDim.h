//===- WindowDim.h - Geometry of windows ------------------------*- C++ -*-===//

#ifndef ST_PASSES_AUTODIFF_WINDOWDIM_H
#define ST_PASSES_AUTODIFF_WINDOWDIM_H

#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::st {

/// One dimension of a sliding window: output o reads, through window element k, position o * stride
/// + k * windowDilation - low of the operand, whose elements are baseDilation apart.
struct WindowDim {
  int64_t size, stride, baseDilation, windowDilation, low, input, output;

  int64_t reach() const { return (size - 1) * windowDilation + 1; }
  static int64_t spread(int64_t count, int64_t dilation) { return (count - 1) * dilation + 1; }
  /// The low padding of the transposed window, which maps the cotangent back to the operand: the
  /// cotangent is dilated by the stride, and the window moves by the base dilation.
  int64_t backLow() const { return reach() - 1 - low; }
  int64_t backHigh() const {
    return spread(input, baseDilation) - 1 + reach() - backLow() - spread(output, stride);
  }
};

inline SmallVector<int64_t> listOr(std::optional<ArrayRef<int64_t>> list, int64_t rank,
                                   int64_t value) {
  return list ? SmallVector<int64_t>(*list) : SmallVector<int64_t>(rank, value);
}

inline int64_t lowPadding(std::optional<DenseIntElementsAttr> padding, int64_t dim) {
  return padding ? padding->getValues<int64_t>()[{static_cast<uint64_t>(dim), 0}] : 0;
}

inline int64_t highPadding(std::optional<DenseIntElementsAttr> padding, int64_t dim) {
  return padding ? padding->getValues<int64_t>()[{static_cast<uint64_t>(dim), 1}] : 0;
}

} // namespace mlir::st

#endif // ST_PASSES_AUTODIFF_WINDOWDIM_H
