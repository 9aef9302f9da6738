#include "backends/dtu/isa/StridedBytes.h"

#include <algorithm>

namespace st::dtu {

StridedBytes::StridedBytes(int64_t offset, Dims given, int64_t width) {
  low = high = offset;
  for (Dim &dim : given) {
    if (dim.count <= 0)
      return;
    if (dim.stride < 0) {
      low += dim.stride * (dim.count - 1);
      dim.stride = -dim.stride;
    }
    if (dim.count > 1 && dim.stride != 0)
      dims.push_back(dim);
  }
  run = width;
  simplify();
}

/// Merges adjacent bytes into one run.
void StridedBytes::simplify() {
  std::sort(dims.begin(), dims.end(),
            [](const Dim &a, const Dim &b) { return a.stride > b.stride; });
  while (!dims.empty() && dims.back().stride <= run) {
    run += dims.back().stride * (dims.back().count - 1);
    dims.pop_back();
  }
  high = low + run;
  for (const Dim &dim : dims)
    high += dim.stride * (dim.count - 1);
}

StridedBytes StridedBytes::repeated(int64_t count, int64_t delta) const {
  StridedBytes all = *this;
  if (count < 2 || delta == 0)
    return all;
  if (delta < 0)
    all.low += delta * (count - 1);
  all.dims.push_back({count, delta < 0 ? -delta : delta});
  all.simplify();
  return all;
}

bool StridedBytes::hasShapeOf(const StridedBytes &other) const {
  return run == other.run && std::equal(dims.begin(), dims.end(), other.dims.begin(),
                                        other.dims.end(), [](const Dim &a, const Dim &b) {
                                          return a.count == b.count && a.stride == b.stride;
                                        });
}

namespace {
/// The remainder of a set once positions in its outer dimensions are chosen.
struct Part {
  int64_t base, run;
  const StridedBytes::Dim *begin, *end;

  int64_t extent() const {
    int64_t bytes = run;
    for (const StridedBytes::Dim *dim = begin; dim != end; ++dim)
      bytes += dim->stride * (dim->count - 1);
    return bytes;
  }
};

/// Returns true if runs a + i * stride and b + j * stride overlap for some 0 <= i < na, 0 <= j <
/// nb.
bool rowsMeet(int64_t a, int64_t runA, int64_t na, int64_t b, int64_t runB, int64_t nb,
              int64_t stride) {
  // With k = i - j: a + k * stride < b + runB and b < a + k * stride + runA.
  auto floorDiv = [](int64_t x, int64_t y) { return x / y - (x % y != 0 && x < 0); };
  int64_t lowest = floorDiv(b - a - runA, stride) + 1, highest = floorDiv(b - a + runB - 1, stride);
  return std::max(lowest, -(nb - 1)) <= std::min(highest, na - 1);
}

bool partsMeet(Part a, Part b) {
  if (a.base >= b.base + b.extent() || b.base >= a.base + a.extent())
    return false;
  if (a.begin == a.end && b.begin == b.end)
    return true;
  if (a.end - a.begin == 1 && b.end - b.begin == 1 && a.begin->stride == b.begin->stride)
    return rowsMeet(a.base, a.run, a.begin->count, b.base, b.run, b.begin->count, a.begin->stride);
  if (a.begin == a.end || (b.begin != b.end && b.begin->stride > a.begin->stride))
    std::swap(a, b);
  // Visits only positions whose remainder overlaps the other set.
  Part rest{a.base, a.run, a.begin + 1, a.end};
  int64_t stride = a.begin->stride, reach = rest.extent();
  int64_t first = std::max<int64_t>(0, (b.base - a.base - reach) / stride);
  int64_t last = std::min(a.begin->count - 1, (b.base + b.extent() - a.base) / stride);
  for (int64_t i = first; i <= last; ++i) {
    rest.base = a.base + i * stride;
    if (partsMeet(rest, b))
      return true;
  }
  return false;
}
} // namespace

bool StridedBytes::meets(const StridedBytes &other) const {
  if (empty() || other.empty() || low >= other.high || other.low >= high)
    return false;
  return partsMeet(
      {low, run, dims.data(), dims.data() + dims.size()},
      {other.low, other.run, other.dims.data(), other.dims.data() + other.dims.size()});
}

} // namespace st::dtu
