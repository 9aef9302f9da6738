#include "backends/dtu/simulator/DeferredCopies.h"

namespace st::dtu {
namespace {

/// A smaller copy costs less than to keep it in mind.
constexpr int64_t kLeastBytes = 1024;
/// Of a core; the oldest is carried out for another.
constexpr size_t kMostCopies = 8;

bool meet(const uint8_t *low, const uint8_t *high, const uint8_t *otherLow,
          const uint8_t *otherHigh) {
  return low < otherHigh && otherLow < high;
}

} // namespace

void DeferredCopies::reset(int64_t count) {
  cores.resize(static_cast<size_t>(count));
  for (auto &copies : cores)
    copies.clear();
}

void DeferredCopies::carryOut(const Deferred &copy) {
  const RowsView &src = copy.src;
  copyRows(copy.dst, src.rowBytes, src.data, src.stride, src.rows, src.rowBytes);
}

bool DeferredCopies::defer(int64_t core, const CopyPlan &plan, uint8_t *dst, const uint8_t *src) {
  const int64_t width = plan.dstWidth;
  if (plan.kind != CopyPlan::Kind::Rows || plan.count > 2 || plan.elements * width < kLeastBytes)
    return false;
  const CopyPlan::Dim &row = plan.dims[plan.count - 1];
  Deferred copy;
  copy.dst = dst;
  copy.src = {src, 1, row.size * width, row.size * width};
  if (plan.count == 2) {
    const CopyPlan::Dim &outer = plan.dims[0];
    // Rows that overlap or run backwards are nobody's tile.
    if (outer.dst != copy.src.rowBytes || outer.src < copy.src.rowBytes)
      return false;
    copy.src.rows = outer.size;
    copy.src.stride = outer.src;
  }
  auto &copies = cores[static_cast<size_t>(core)];
  if (copies.size() == kMostCopies) {
    carryOut(copies.front());
    copies.erase(copies.begin());
  }
  copies.push_back(copy);
  return true;
}

void DeferredCopies::carryOutInto(int64_t core, const uint8_t *low, const uint8_t *high,
                                  bool overwritten) {
  auto &copies = cores[static_cast<size_t>(core)];
  auto keep = copies.begin();
  for (Deferred &copy : copies) {
    if (!meet(copy.dst, copy.dstEnd(), low, high)) {
      *keep++ = copy;
      continue;
    }
    if (!overwritten || copy.dst < low || copy.dstEnd() > high)
      carryOut(copy);
  }
  copies.erase(keep, copies.end());
}

void DeferredCopies::beforeSourceWrite(const uint8_t *low, const uint8_t *high) {
  for (auto &copies : cores) {
    auto keep = copies.begin();
    for (Deferred &copy : copies) {
      const RowsView &src = copy.src;
      if (meet(src.data, src.data + (src.rows - 1) * src.stride + src.rowBytes, low, high))
        carryOut(copy);
      else
        *keep++ = copy;
    }
    copies.erase(keep, copies.end());
  }
}

RowsView DeferredCopies::find(int64_t core, const RowsView &view, bool dense) {
  auto &copies = cores[static_cast<size_t>(core)];
  const uint8_t *low = view.data;
  const uint8_t *high = low + (view.rows - 1) * view.stride + view.rowBytes;
  for (const Deferred &copy : copies) {
    if (!meet(copy.dst, copy.dstEnd(), low, high))
      continue;
    const RowsView &src = copy.src;
    const int64_t offset = low - copy.dst;
    RowsView found = view;
    if (low < copy.dst || high > copy.dstEnd())
      break;
    if (src.rows == 1 || src.stride == src.rowBytes) {
      found.data = src.data + offset;
      return found;
    }
    const int64_t row = offset / src.rowBytes, column = offset % src.rowBytes;
    if (dense || column + view.rowBytes > src.rowBytes ||
        (view.rows > 1 && view.stride != src.rowBytes))
      break;
    found.data = src.data + row * src.stride + column;
    found.stride = src.stride;
    return found;
  }
  beforeRead(core, low, high);
  return view;
}

} // namespace st::dtu
