// Strided copies at memory speed: dimensions are merged and reordered until only rows, a
// transposition or single elements remain.
#pragma once

#include "backends/dtu/simulator/host/HostKernels.h"

#include <array>
#include <cstdint>

namespace st::dtu {

/// A copy between two strided views. The plan holds all decisions that depend on sizes alone.
struct CopyPlan {
  struct Dim {
    int64_t size = 1, dst = 0, src = 0; ///< strides in bytes
  };
  enum class Kind : uint8_t {
    Empty,
    Rows,      ///< innermost dimension contiguous on both sides
    Broadcast, ///< innermost contiguous in dst, one element in src
    Transpose, ///< last two dimensions are exchanged
    Elements,
  };
  std::array<Dim, kMaxCopyDims> dims;
  uint8_t count = 0;
  Kind kind = Kind::Empty;
  uint8_t dstWidth = 4, srcWidth = 4;
  bool mayOverlap = false;

  /// Bytes that dst and src may touch, relative to their addresses: low .. high-1.
  int64_t dstLow = 0, dstHigh = 0, srcLow = 0, srcHigh = 0;
  int64_t elements = 0;
};

/// Plans a copy of `count` dimensions with these sizes and strides.
CopyPlan planCopy(size_t count, const int64_t *sizes, const int64_t *dstStrides,
                  const int64_t *srcStrides, unsigned dstWidth, unsigned srcWidth);

/// Returns true if the destination's elements are contiguous and each is written once.
bool isDense(const CopyPlan &plan);

/// Byte strides of a dense row-major array of these sizes.
void denseStrides(size_t count, const int64_t *sizes, unsigned width, int64_t *strides);

/// Runs a plan between equal types. With `stream`, rows bypass the host's caches because they are
/// read again much later; finishStreams() makes them visible to other threads.
void runCopy(const CopyPlan &plan, uint8_t *dst, const uint8_t *src, TransposeKernel transpose,
             bool stream = false);
void finishStreams();

/// Moves `rows` rows of `bytes` bytes, which do not overlap.
void copyRows(uint8_t *dst, int64_t dstStride, const uint8_t *src, int64_t srcStride, int64_t rows,
              int64_t bytes, bool stream = false);

/// Runs a plan between two types.
void runConvertingCopy(const CopyPlan &plan, uint8_t *dst, const uint8_t *src,
                       ConvertKernel convert);

/// dst[...] = value (the low bytes), over the destination side of a plan.
void runFill(const CopyPlan &plan, uint8_t *dst, uint64_t value);

/// dst = op(dst, src) over a plan whose source is dense. `combine` works on the plan's own type,
/// or, with `toF32` and `fromF32`, on f32.
void runCombine(const CopyPlan &plan, uint8_t *dst, const uint8_t *src, TileKernel combine,
                ConvertKernel toF32, ConvertKernel fromF32);

} // namespace st::dtu
