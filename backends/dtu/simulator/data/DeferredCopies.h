// Copies into on-chip memories that are deferred until an instruction would observe them. An
// instruction that reads such a tile, or complete rows of it, reads the copy's source instead. A
// copy out of such a tile copies from that source. A tile that is overwritten first is never
// copied.
//
// A deferred copy is carried out when an instruction writes to its source, reads its destination in
// another shape, or writes to a part of its destination. While a cluster runs, only its own
// instructions touch its memories, so no other code needs to check.
#pragma once

#include "backends/dtu/simulator/data/CopyPlan.h"

#include <cstdint>
#include <vector>

namespace st::dtu {

/// `rows` rows of `rowBytes` bytes, `stride` bytes apart.
struct RowsView {
  const uint8_t *data = nullptr;
  int64_t rows = 0, rowBytes = 0, stride = 0;
  bool isElsewhere = false; ///< the data is at the source of a deferred copy
};

class DeferredCopies {
public:
  /// The destination of copies: a core's number for its L1, the number of cores for L2.
  using Place = int64_t;

  /// Forgets all deferred copies; `cores` L1s and one L2 follow.
  void reset(int64_t cores);

  /// Returns true if the plan's copy can be deferred; `rows` then describes what it reads, without
  /// the data pointer.
  static bool canDefer(const CopyPlan &plan, RowsView &rows);
  /// Defers copying `src` to `dst`, where its rows become contiguous. The caller must have called
  /// beforeWrite() for `dst`, and found `src` by find() if it is in L2.
  void defer(Place place, uint8_t *dst, const RowsView &src);

  /// Must be called before bytes low .. high-1 of a place are read.
  void beforeRead(Place place, const uint8_t *low, const uint8_t *high) {
    if (mayOverlap(place, low, high))
      carryOutInto(place, low, high, /*overwritten=*/false);
  }
  /// Must be called before these bytes are written; `all` if every one of them is.
  void beforeWrite(Place place, const uint8_t *low, const uint8_t *high, bool all) {
    if (mayOverlap(place, low, high))
      carryOutInto(place, low, high, all);
  }
  /// Must be called before bytes of L2 or L3 are written.
  void beforeSourceWrite(const uint8_t *low, const uint8_t *high);

  /// The forms of rows that find() may return.
  enum class Found : uint8_t {
    Apart, ///< equally many rows, possibly with another stride
    Split, ///< a row may be returned as several consecutive rows
  };
  /// Redirects `view` of a place to the current location of its data.
  void find(Place place, RowsView &view, Found wanted) {
    const uint8_t *high = view.data + (view.rows - 1) * view.stride + view.rowBytes;
    if (mayOverlap(place, view.data, high))
      findAmong(place, view, high, wanted);
  }

private:
  struct Deferred {
    uint8_t *dst = nullptr; ///< contiguous rows
    RowsView src;           ///< a single row if the source is contiguous as well
    const uint8_t *dstEnd() const { return dst + src.rows * src.rowBytes; }
  };
  /// The deferred copies into a place, oldest first. There are at most as many as the place has
  /// buffers. The source of a copy from L2 never overlaps the destination of another deferred copy.
  struct Copies {
    std::vector<Deferred> list;
    uint64_t blocks = 0; ///< of all destinations, and maybe of earlier ones: blocksOf()

    void add(const Deferred &copy) {
      list.push_back(copy);
      blocks |= blocksOf(copy.dst, copy.dstEnd());
    }
  };

  /// The blocks of 2 KiB that contain bytes low .. high-1, modulo 64, as a set of bits. Most
  /// instructions access no block of a deferred copy, which these sets show without a search.
  static uint64_t blocksOf(const uint8_t *low, const uint8_t *high) {
    constexpr unsigned kBlockShift = 11;
    const uint64_t first = reinterpret_cast<uintptr_t>(low) >> kBlockShift,
                   count = (reinterpret_cast<uintptr_t>(high - 1) >> kBlockShift) - first;
    if (count >= 63)
      return ~uint64_t(0);
    const uint64_t bits = (uint64_t(2) << count) - 1;
    const unsigned shift = first & 63;
    return shift ? bits << shift | bits >> (64 - shift) : bits;
  }
  bool mayOverlap(Place place, const uint8_t *low, const uint8_t *high) const {
    return places[static_cast<size_t>(place)].blocks & blocksOf(low, high);
  }

  static void carryOut(const Deferred &copy);
  static Deferred part(const Deferred &copy, int64_t first, int64_t end);
  static bool append(Deferred &copy, const Deferred &other);
  void carryOutInto(Place place, const uint8_t *low, const uint8_t *high, bool overwritten);
  void findAmong(Place place, RowsView &view, const uint8_t *high, Found wanted);

  std::vector<Copies> places;
};

} // namespace st::dtu
