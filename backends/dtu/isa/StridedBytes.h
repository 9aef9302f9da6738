// The bytes that a strided access touches, and whether two such sets overlap.
#pragma once

#include "absl/container/inlined_vector.h"

#include <cstdint>

namespace st::dtu {

/// Runs of `run` bytes: one at `base` plus each combination of stride multiples.
class StridedBytes {
public:
  struct Dim {
    int64_t count, stride; ///< strides are positive
  };
  using Dims = absl::InlinedVector<Dim, 4>;

  /// An access of elements of `width` bytes starting at `offset`. Sizes and strides may be in any
  /// order and strides of any sign. Empty if a size is 0.
  StridedBytes(int64_t offset, Dims dims, int64_t width);

  /// The bytes of `count` such accesses, each `delta` bytes after the previous one.
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

  int64_t low = 0, high = 0; ///< all bytes are in [low, high)

private:
  void simplify();

  int64_t run = 0;
  Dims dims; ///< in order of decreasing stride
};

} // namespace st::dtu
