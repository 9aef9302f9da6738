#include "backends/dtu/simulator/data/DeferredCopies.h"

#include <algorithm>

namespace st::dtu {
namespace {

/// Copying fewer bytes costs less than tracking a deferred copy.
constexpr int64_t kMinBytes = 1024;
/// The maximum number of deferred copies per place. Before one more is added, the oldest is
/// executed.
constexpr size_t kMaxCopies = 16;

bool isDense(const RowsView &rows) { return rows.rows == 1 || rows.stride == rows.rowBytes; }

bool meet(const uint8_t *low, const uint8_t *high, const uint8_t *otherLow,
          const uint8_t *otherHigh) {
  return low < otherHigh && otherLow < high;
}

} // namespace

void DeferredCopies::reset(int64_t cores) {
  places.resize(static_cast<size_t>(cores) + 1);
  for (Copies &copies : places) {
    copies.list.clear();
    copies.blocks = 0;
  }
}

/// Rows first .. end-1 of a tile, or bytes if the tile is a single row.
DeferredCopies::Deferred DeferredCopies::part(const Deferred &copy, int64_t first, int64_t end) {
  Deferred result = copy;
  if (copy.src.rows == 1) {
    result.dst += first;
    result.src.data += first;
    result.src.rowBytes = result.src.stride = end - first;
    return result;
  }
  result.dst += first * copy.src.rowBytes;
  result.src.data += first * copy.src.stride;
  result.src.rows = end - first;
  return result;
}

/// Returns true if `other` continued `copy` on both sides and has been merged into it.
bool DeferredCopies::append(Deferred &copy, const Deferred &other) {
  RowsView &src = copy.src;
  if (copy.dstEnd() != other.dst)
    return false;
  if (src.rows == 1 && other.src.rows == 1 && src.data + src.rowBytes == other.src.data) {
    src.rowBytes += other.src.rowBytes;
    src.stride = src.rowBytes;
    return true;
  }
  if (src.rows == 1 || src.rowBytes != other.src.rowBytes ||
      src.data + src.rows * src.stride != other.src.data)
    return false;
  if (other.src.rows > 1 && other.src.stride != src.stride)
    return false;
  src.rows += other.src.rows;
  return true;
}

void DeferredCopies::carryOut(const Deferred &copy) {
  const RowsView &src = copy.src;
  copyRows(copy.dst, src.rowBytes, src.data, src.stride, src.rows, src.rowBytes);
}

bool DeferredCopies::canDefer(const CopyPlan &plan, RowsView &rows) {
  const int64_t width = plan.dstWidth;
  if (plan.kind != CopyPlan::Kind::Rows || plan.count > 2 || plan.elements * width < kMinBytes)
    return false;
  const CopyPlan::Dim &row = plan.dims[plan.count - 1];
  rows = {nullptr, 1, row.size * width, row.size * width};
  if (plan.count == 2) {
    const CopyPlan::Dim &outer = plan.dims[0];
    // Rows that overlap or run backwards do not form a tile.
    if (outer.dst != rows.rowBytes || outer.src < rows.rowBytes)
      return false;
    rows.rows = outer.size;
    rows.stride = outer.src;
  }
  return true;
}

void DeferredCopies::defer(Place place, uint8_t *dst, const RowsView &src) {
  std::vector<Deferred> &copies = places[static_cast<size_t>(place)].list;
  Deferred added = {dst, src};
  if (isDense(src))
    added.src = {src.data, 1, src.rows * src.rowBytes, src.rows * src.rowBytes};
  // Several queues may each copy some rows of one tile.
  for (auto it = copies.begin(); it != copies.end();) {
    if (!append(*it, added) && !append(added, *it)) {
      ++it;
      continue;
    }
    if (it->dst < added.dst)
      added = *it;
    it = copies.erase(it);
  }
  if (copies.size() == kMaxCopies) {
    carryOut(copies.front());
    copies.erase(copies.begin());
  }
  places[static_cast<size_t>(place)].add(added);
}

void DeferredCopies::carryOutInto(Place place, const uint8_t *low, const uint8_t *high,
                                  bool overwritten) {
  Copies &into = places[static_cast<size_t>(place)];
  std::vector<Deferred> &copies = into.list;
  const auto meets = [&](const Deferred &copy) { return meet(copy.dst, copy.dstEnd(), low, high); };
  auto keep = std::find_if(copies.begin(), copies.end(), meets);
  if (keep == copies.end())
    return;
  Deferred tail; // Tiles do not overlap, so at most one extends past `high`.
  for (auto it = keep; it != copies.end(); ++it) {
    Deferred &copy = *it;
    if (!meets(copy)) {
      *keep++ = copy;
      continue;
    }
    if (!overwritten) {
      carryOut(copy);
      continue;
    }
    const int64_t size = copy.dstEnd() - copy.dst;
    const int64_t from = std::max<int64_t>(low - copy.dst, 0),
                  to = std::min<int64_t>(high - copy.dst, size);
    const bool dense = copy.src.rows == 1;
    const int64_t unit = dense ? 1 : copy.src.rowBytes;
    const int64_t first = from / unit, end = (to + unit - 1) / unit;
    // The remainder of partly written rows is still deferred.
    if (from % unit)
      carryOut(part(copy, first, first + 1));
    if (to % unit && (end - 1 > first || from % unit == 0))
      carryOut(part(copy, end - 1, end));
    if (end * unit < size)
      tail = part(copy, end, size / unit);
    if (first > 0)
      *keep++ = part(copy, 0, first);
  }
  copies.erase(keep, copies.end());
  if (tail.dst)
    copies.push_back(tail);
  into.blocks = 0;
  for (const Deferred &copy : copies)
    into.blocks |= blocksOf(copy.dst, copy.dstEnd());
}

void DeferredCopies::beforeSourceWrite(const uint8_t *low, const uint8_t *high) {
  const auto readsFrom = [&](const Deferred &copy) {
    const RowsView &src = copy.src;
    return meet(src.data, src.data + (src.rows - 1) * src.stride + src.rowBytes, low, high);
  };
  for (Copies &copies : places) {
    auto keep = std::find_if(copies.list.begin(), copies.list.end(), readsFrom);
    for (auto it = keep; it != copies.list.end(); ++it) {
      if (readsFrom(*it))
        carryOut(*it);
      else
        *keep++ = *it;
    }
    copies.list.erase(keep, copies.list.end());
  }
}

void DeferredCopies::findAmong(Place place, RowsView &view, const uint8_t *high, Found wanted) {
  const uint8_t *low = view.data;
  for (const Deferred &copy : places[static_cast<size_t>(place)].list) {
    if (!meet(copy.dst, copy.dstEnd(), low, high))
      continue;
    const RowsView &src = copy.src;
    const int64_t offset = low - copy.dst;
    if (low < copy.dst || high > copy.dstEnd())
      break;
    if (src.rows == 1) {
      view.data = src.data + offset;
      view.isElsewhere = true;
      return;
    }
    RowsView found = view;
    found.isElsewhere = true;
    const int64_t row = offset / src.rowBytes, column = offset % src.rowBytes;
    found.data = src.data + row * src.stride + column;
    found.stride = src.stride;
    if (column + view.rowBytes <= src.rowBytes && (view.rows == 1 || view.stride == src.rowBytes)) {
      view = found;
      return;
    }
    if (wanted == Found::Split && view.rows == 1 && column == 0 &&
        view.rowBytes % src.rowBytes == 0) {
      found.rows = view.rowBytes / src.rowBytes;
      found.rowBytes = src.rowBytes;
      view = found;
      return;
    }
    break;
  }
  beforeRead(place, low, high);
}

} // namespace st::dtu
