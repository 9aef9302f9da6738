// The bytes that a strided access touches, and whether two such sets meet.
#pragma once

#include "absl/container/inlined_vector.h"

#include <cstdint>

namespace st::dtu {

/// Runs of `run` bytes: one at `base` plus each combination of multiples of the strides.
class StridedBytes {
public:
  struct Dim {
    int64_t count, stride; ///< strides are positive
  };
  using Dims = absl::InlinedVector<Dim, 4>;

  /// An access of elements of `width` bytes from `offset` on; sizes and strides may be in any
  /// order, strides of any sign. Empty where a size is 0.
  StridedBytes(int64_t offset, Dims dims, int64_t width);

  /// The bytes of `count` such accesses, each `delta` bytes behind the one before.
  StridedBytes repeated(int64_t count, int64_t delta) const;

  StridedBytes shifted(int64_t bytes) const {
    StridedBytes result = *this;
    result.low += bytes;
    result.high += bytes;
    return result;
  }

  bool empty() const { return high == low; }
  bool hasShapeOf(const StridedBytes &other) const;
  bool meets(const StridedBytes &other) const;

  int64_t low = 0, high = 0; ///< bytes from low to before high hold all of them

private:
  void simplify();

  int64_t run = 0;
  Dims dims; ///< outermost, of the largest stride, first
};

} // namespace st::dtu
