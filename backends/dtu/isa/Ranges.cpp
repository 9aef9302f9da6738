#include "backends/dtu/isa/Ranges.h"

#include <algorithm>
#include <limits>

namespace st::dtu {
namespace {

using Wide = __int128;

// The run-time checks cover larger values; the limit keeps the sums below within 128 bits.
constexpr int64_t kMaxValue = int64_t(1) << 48;

int64_t clampToInt64(Wide value) {
  Wide low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::clamp(value, low, high));
}

bool uses(const Affine &offset, const std::vector<RangeDim> &dims, uint8_t reg) {
  for (const Affine::Term &term : offset.terms)
    if (term.reg == reg)
      return true;
  for (const RangeDim &dim : dims)
    if (dim.extent->reg == reg)
      return true;
  return false;
}

} // namespace

struct RegisterRanges::Extremes {
  Wide low = 0, high = 0;
};

bool RegisterRanges::enterLoop(const Loop &loop) {
  known[loop.reg].reset();
  if (!loop.start.terms.empty() || !loop.limit.terms.empty())
    return false;
  int64_t start = loop.start.constant, limit = loop.limit.constant;
  if (start >= limit)
    return false;
  if (start < -kMaxValue || limit > kMaxValue)
    return true;
  known[loop.reg] = {{start, start + (limit - 1 - start) / loop.step * loop.step, loop.step}};
  return true;
}

bool RegisterRanges::addRegister(uint8_t reg, const Affine &offset,
                                 const std::vector<RangeDim> &dims, Extremes &extremes) const {
  if (!known[reg])
    return false;
  Progression range = *known[reg];
  Wide coefficient = 0;
  for (const Affine::Term &term : offset.terms)
    if (term.reg == reg)
      coefficient += term.coefficient;

  // From the smallest limit on, the access is empty.
  if (reg != kZero)
    for (const RangeDim &dim : dims)
      if (dim.extent->reg == reg) {
        if (dim.extent->limit <= range.first)
          return false;
        int64_t last = std::min(range.last, dim.extent->limit - 1);
        range.last = range.first + (last - range.first) / range.step * range.step;
      }

  // Both extremes are piecewise linear in the register, so they occur at its ends or next to a
  // point from which a ragged extent shrinks.
  std::vector<int64_t> candidates = {range.first, range.last};
  if (reg != kZero)
    for (const RangeDim &dim : dims)
      if (dim.extent->reg == reg) {
        int64_t knee = std::clamp(dim.extent->limit - dim.extent->tile, range.first, range.last);
        int64_t below = range.first + (knee - range.first) / range.step * range.step;
        candidates.push_back(below);
        candidates.push_back(std::min(below + range.step, range.last));
      }
  bool first = true;
  Extremes best;
  for (int64_t value : candidates) {
    Wide low = coefficient * value, high = low;
    for (const RangeDim &dim : dims)
      if (dim.extent->reg == reg) {
        int64_t extent = dim.extent->tile;
        if (reg != kZero)
          extent = std::min(extent, dim.extent->limit - value);
        Wide span = Wide(dim.stride) * (extent - 1);
        (span < 0 ? low : high) += span;
      }
    best.low = first ? low : std::min(best.low, low);
    best.high = first ? high : std::max(best.high, high);
    first = false;
  }
  extremes.low += best.low;
  extremes.high += best.high;
  return true;
}

std::optional<ByteRange> RegisterRanges::access(const Affine &offset,
                                                const std::vector<RangeDim> &dims,
                                                unsigned width) const {
  for (const RangeDim &dim : dims)
    if (dim.extent->tile <= 0 || dim.extent->limit > kMaxValue || dim.extent->limit < -kMaxValue)
      return std::nullopt;
  Extremes extremes{offset.constant, offset.constant};
  for (uint8_t reg = 0; reg < kNumRegisters; ++reg)
    if (uses(offset, dims, reg) && !addRegister(reg, offset, dims, extremes))
      return std::nullopt;
  return ByteRange{clampToInt64(extremes.low), clampToInt64(extremes.high + width)};
}

} // namespace st::dtu
