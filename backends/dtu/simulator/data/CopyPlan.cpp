#include "backends/dtu/simulator/data/CopyPlan.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace st::dtu {
namespace {

using Wide = __int128;

/// Far outside any memory, and small enough that adding a size cannot overflow.
constexpr int64_t kFar = int64_t(1) << 61;

int64_t clampFar(Wide value) { return static_cast<int64_t>(std::clamp<Wide>(value, -kFar, kFar)); }

/// Low and high byte of one side of a copy, relative to its address.
void span(const CopyPlan &plan, int64_t CopyPlan::Dim::*stride, unsigned width, int64_t &low,
          int64_t &high) {
  Wide lowest = 0, highest = 0;
  for (unsigned i = 0; i < plan.count; ++i) {
    Wide reach = Wide(plan.dims[i].*stride) * (plan.dims[i].size - 1);
    (reach < 0 ? lowest : highest) += reach;
  }
  low = clampFar(lowest);
  high = clampFar(highest + width);
}

/// Merges dimensions that are contiguous on both sides.
void mergeDims(CopyPlan &plan) {
  unsigned kept = 0;
  for (unsigned i = 0; i < plan.count; ++i) {
    CopyPlan::Dim dim = plan.dims[i];
    if (kept) {
      CopyPlan::Dim &outer = plan.dims[kept - 1];
      if (Wide(dim.dst) * dim.size == outer.dst && Wide(dim.src) * dim.size == outer.src &&
          outer.size <= std::numeric_limits<int64_t>::max() / dim.size) {
        outer = {outer.size * dim.size, dim.dst, dim.src};
        continue;
      }
    }
    plan.dims[kept++] = dim;
  }
  plan.count = static_cast<uint8_t>(kept);
}

/// Chooses the kind of copy for the innermost dimensions; may reorder them.
void chooseKind(CopyPlan &plan) {
  int64_t dstWidth = plan.dstWidth, srcWidth = plan.srcWidth;
  if (plan.count == 0) {
    plan.dims[0] = {1, dstWidth, srcWidth};
    plan.count = 1;
  }
  const CopyPlan::Dim &last = plan.dims[plan.count - 1];
  plan.kind = CopyPlan::Kind::Elements;
  if (last.dst == dstWidth && last.src == srcWidth)
    plan.kind = CopyPlan::Kind::Rows;
  else if (last.dst == dstWidth && last.src == 0)
    plan.kind = CopyPlan::Kind::Broadcast;
  else if (last.dst == dstWidth && dstWidth == srcWidth)
    for (int i = plan.count - 2; i >= 0; --i)
      if (plan.dims[i].src == srcWidth) {
        std::rotate(plan.dims.begin() + i, plan.dims.begin() + i + 1,
                    plan.dims.begin() + plan.count - 1);
        plan.kind = CopyPlan::Kind::Transpose;
        break;
      }
}

/// Calls body(dst, src) for each position of the first `levels` dimensions.
template <typename Body>
void forEach(const CopyPlan &plan, unsigned levels, uint8_t *dst, const uint8_t *src,
             const Body &body, unsigned level = 0) {
  if (level == levels) {
    body(dst, src);
    return;
  }
  const CopyPlan::Dim dim = plan.dims[level];
  if (level + 1 == levels) {
    for (int64_t i = 0; i < dim.size; ++i)
      body(dst + i * dim.dst, src + i * dim.src);
    return;
  }
  for (int64_t i = 0; i < dim.size; ++i)
    forEach(plan, levels, dst + i * dim.dst, src + i * dim.src, body, level + 1);
}

template <typename T> void fillRow(uint8_t *dst, int64_t count, int64_t stride, T value) {
  if (stride == sizeof(T)) {
    std::fill_n(reinterpret_cast<T *>(dst), count, value);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(dst + i * stride, &value, sizeof(T));
}

void fillRow(uint8_t *dst, int64_t count, int64_t stride, unsigned width, uint64_t value) {
  switch (width) {
  case 1:
    return fillRow<uint8_t>(dst, count, stride, static_cast<uint8_t>(value));
  case 2:
    return fillRow<uint16_t>(dst, count, stride, static_cast<uint16_t>(value));
  case 4:
    return fillRow<uint32_t>(dst, count, stride, static_cast<uint32_t>(value));
  default:
    return fillRow<uint64_t>(dst, count, stride, value);
  }
}

template <typename T> void moveRow(uint8_t *dst, const uint8_t *src, const CopyPlan::Dim &dim) {
  for (int64_t i = 0; i < dim.size; ++i) {
    T value;
    std::memcpy(&value, src + i * dim.src, sizeof(T));
    std::memcpy(dst + i * dim.dst, &value, sizeof(T));
  }
}

void moveRow(uint8_t *dst, const uint8_t *src, const CopyPlan::Dim &dim, unsigned width) {
  switch (width) {
  case 1:
    return moveRow<uint8_t>(dst, src, dim);
  case 2:
    return moveRow<uint16_t>(dst, src, dim);
  case 4:
    return moveRow<uint32_t>(dst, src, dim);
  default:
    return moveRow<uint64_t>(dst, src, dim);
  }
}

uint64_t loadElement(const uint8_t *src, unsigned width) {
  uint64_t value = 0;
  std::memcpy(&value, src, width);
  return value;
}

/// Like memcpy, but writes complete cache lines around the caches, without reading them first.
/// Other threads see the lines after finishStreams().
void streamRow(uint8_t *dst, const uint8_t *src, size_t bytes) {
  using Vector [[gnu::vector_size(16), gnu::may_alias]] = long long;
  constexpr size_t line = 64;
  const size_t head = -reinterpret_cast<uintptr_t>(dst) % line;
  if (bytes < head + line) {
    std::memcpy(dst, src, bytes);
    return;
  }
  std::memcpy(dst, src, head);
  size_t i = head;
  for (; i + line <= bytes; i += line)
    for (size_t part = 0; part < line; part += sizeof(Vector)) {
      Vector value;
      std::memcpy(&value, src + i + part, sizeof(Vector));
      __builtin_nontemporal_store(value, reinterpret_cast<Vector *>(dst + i + part));
    }
  std::memcpy(dst + i, src + i, bytes - i);
}

/// For rows so short that a call per row would cost more than the copy.
template <size_t Bytes>
void copyShortRows(uint8_t *dst, int64_t dstStride, const uint8_t *src, int64_t srcStride,
                   int64_t rows) {
  for (int64_t r = 0; r < rows; ++r)
    std::memcpy(dst + r * dstStride, src + r * srcStride, Bytes);
}

/// Elements of a row that pass through buffers at a time.
constexpr int64_t kBlock = 256;

} // namespace

CopyPlan planCopy(size_t count, const int64_t *sizes, const int64_t *dstStrides,
                  const int64_t *srcStrides, unsigned dstWidth, unsigned srcWidth) {
  CopyPlan plan;
  plan.dstWidth = static_cast<uint8_t>(dstWidth);
  plan.srcWidth = static_cast<uint8_t>(srcWidth);
  plan.elements = 1;
  for (size_t i = 0; i < count; ++i) {
    if (sizes[i] <= 0)
      return CopyPlan();
    if (__builtin_mul_overflow(plan.elements, sizes[i], &plan.elements))
      plan.elements = kFar;
    if (sizes[i] != 1)
      plan.dims[plan.count++] = {sizes[i], dstStrides[i], srcStrides[i]};
  }
  span(plan, &CopyPlan::Dim::dst, dstWidth, plan.dstLow, plan.dstHigh);
  span(plan, &CopyPlan::Dim::src, srcWidth, plan.srcLow, plan.srcHigh);
  // The order of dimensions is free: the widest destination stride goes outermost.
  for (unsigned i = 1; i < plan.count; ++i)
    for (unsigned j = i; j > 0 && std::abs(plan.dims[j].dst) > std::abs(plan.dims[j - 1].dst); --j)
      std::swap(plan.dims[j], plan.dims[j - 1]);
  mergeDims(plan);
  chooseKind(plan);
  return plan;
}

bool isDense(const CopyPlan &plan) {
  int64_t bytes = plan.dstWidth;
  for (unsigned i = plan.count; i-- > 0;) {
    if (plan.dims[i].dst != bytes)
      return false;
    bytes *= plan.dims[i].size;
  }
  return true;
}

void denseStrides(size_t count, const int64_t *sizes, unsigned width, int64_t *strides) {
  int64_t stride = width;
  for (size_t i = count; i-- > 0;) {
    strides[i] = stride;
    if (__builtin_mul_overflow(stride, std::max<int64_t>(sizes[i], 1), &stride))
      stride = kFar;
  }
}

void runCopy(const CopyPlan &plan, uint8_t *dst, const uint8_t *src, TransposeKernel transpose,
             bool stream) {
  const CopyPlan::Dim *last = &plan.dims[plan.count ? plan.count - 1 : 0];
  const unsigned width = plan.dstWidth;
  switch (plan.kind) {
  case CopyPlan::Kind::Empty:
    return;
  case CopyPlan::Kind::Rows: {
    size_t bytes = static_cast<size_t>(last->size) * width;
    if (plan.mayOverlap)
      return forEach(plan, plan.count - 1, dst, src,
                     [&](uint8_t *d, const uint8_t *s) { std::memmove(d, s, bytes); });
    if (plan.count == 1) {
      copyRows(dst, 0, src, 0, 1, static_cast<int64_t>(bytes), stream);
      return;
    }
    return forEach(plan, plan.count - 2, dst, src, [&](uint8_t *d, const uint8_t *s) {
      copyRows(d, last[-1].dst, s, last[-1].src, last[-1].size, static_cast<int64_t>(bytes),
               stream);
    });
  }
  case CopyPlan::Kind::Broadcast:
    return forEach(plan, plan.count - 1, dst, src, [&](uint8_t *d, const uint8_t *s) {
      fillRow(d, last->size, width, width, loadElement(s, width));
    });
  case CopyPlan::Kind::Transpose: {
    // dims[count-2] runs contiguously in src, dims[count-1] in dst.
    const CopyPlan::Dim &across = last[-1];
    return forEach(plan, plan.count - 2, dst, src, [&](uint8_t *d, const uint8_t *s) {
      transpose(d, s, last->size, across.size, across.dst, last->src);
    });
  }
  case CopyPlan::Kind::Elements:
    return forEach(plan, plan.count - 1, dst, src,
                   [&](uint8_t *d, const uint8_t *s) { moveRow(d, s, *last, width); });
  }
}

void copyRows(uint8_t *dst, int64_t dstStride, const uint8_t *src, int64_t srcStride, int64_t rows,
              int64_t bytes, bool stream) {
  switch (bytes) {
  case 2:
    return copyShortRows<2>(dst, dstStride, src, srcStride, rows);
  case 4:
    return copyShortRows<4>(dst, dstStride, src, srcStride, rows);
  case 8:
    return copyShortRows<8>(dst, dstStride, src, srcStride, rows);
  case 16:
    return copyShortRows<16>(dst, dstStride, src, srcStride, rows);
  default:
    break;
  }
  const size_t size = static_cast<size_t>(bytes);
  for (int64_t r = 0; r < rows; ++r, dst += dstStride, src += srcStride) {
    if (stream)
      streamRow(dst, src, size);
    else
      std::memcpy(dst, src, size);
  }
}

void finishStreams() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

void runConvertingCopy(const CopyPlan &plan, uint8_t *dst, const uint8_t *src,
                       ConvertKernel convert) {
  if (plan.kind == CopyPlan::Kind::Empty)
    return;
  const CopyPlan::Dim &last = plan.dims[plan.count - 1];
  alignas(64) uint8_t in[kBlock * 8], out[kBlock * 8];
  const bool gather = last.src != plan.srcWidth, scatter = last.dst != plan.dstWidth;
  forEach(plan, plan.count - 1, dst, src, [&](uint8_t *d, const uint8_t *s) {
    for (int64_t i = 0; i < last.size; i += kBlock) {
      int64_t n = gather || scatter ? std::min(kBlock, last.size - i) : last.size;
      const uint8_t *from = s + i * last.src;
      uint8_t *to = d + i * last.dst;
      if (gather) {
        moveRow(in, from, {n, plan.srcWidth, last.src}, plan.srcWidth);
        from = in;
      }
      convert(scatter ? out : to, from, n);
      if (scatter)
        moveRow(to, out, {n, last.dst, plan.dstWidth}, plan.dstWidth);
      if (!gather && !scatter)
        break;
    }
  });
}

void runFill(const CopyPlan &plan, uint8_t *dst, uint64_t value) {
  if (plan.kind == CopyPlan::Kind::Empty)
    return;
  const CopyPlan::Dim &last = plan.dims[plan.count - 1];
  forEach(plan, plan.count - 1, dst, dst, [&](uint8_t *d, const uint8_t *) {
    fillRow(d, last.size, last.dst, plan.dstWidth, value);
  });
}

void runCombine(const CopyPlan &plan, uint8_t *dst, const uint8_t *src, TileKernel combine,
                ConvertKernel toF32, ConvertKernel fromF32) {
  if (plan.kind == CopyPlan::Kind::Empty)
    return;
  const CopyPlan::Dim &last = plan.dims[plan.count - 1];
  const unsigned width = plan.dstWidth;
  const bool gather = last.src != width, scatter = last.dst != width;
  alignas(64) uint8_t held[kBlock * 8], packed[kBlock * 8], wideHeld[kBlock * 4],
      wideSrc[kBlock * 4];
  forEach(plan, plan.count - 1, dst, src, [&](uint8_t *d, const uint8_t *s) {
    for (int64_t i = 0; i < last.size;) {
      const int64_t n = toF32 || gather || scatter ? std::min(kBlock, last.size - i) : last.size;
      uint8_t *to = d + i * last.dst, *sum = to;
      const uint8_t *from = s + i * last.src;
      if (scatter) {
        moveRow(held, to, {n, width, last.dst}, width);
        sum = held;
      }
      if (gather) {
        moveRow(packed, from, {n, width, last.src}, width);
        from = packed;
      }
      if (toF32) {
        toF32(wideHeld, sum, n);
        toF32(wideSrc, from, n);
      }
      TileArgs args;
      args.rows = 1;
      args.cols = n;
      args.dst = toF32 ? wideHeld : sum;
      args.src[0] = args.dst;
      args.src[1] = toF32 ? wideSrc : from;
      combine(args);
      if (toF32)
        fromF32(sum, wideHeld, n);
      if (scatter)
        moveRow(to, held, {n, last.dst, width}, width);
      i += n;
    }
  });
}

} // namespace st::dtu
