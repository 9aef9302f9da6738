// Copies into on-chip memories that are deferred until an instruction would observe them. An
// instruction that reads all of such a tile, or whole rows of it, reads the copy's source instead.
// A copy out of such a tile copies from that source. A tile that is overwritten first is never
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
  static bool canWait(const CopyPlan &plan, RowsView &rows);
  /// Defers copying `src` to `dst`, where its rows become contiguous. The caller has announced the
  /// write to `dst`, and took `src` from find() if it is in L2.
  void defer(Place place, uint8_t *dst, const RowsView &src);

  /// Must be called before bytes low .. high-1 of a place are read.
  void beforeRead(Place place, const uint8_t *low, const uint8_t *high) {
    if (!places[static_cast<size_t>(place)].empty())
      carryOutInto(place, low, high, /*overwritten=*/false);
  }
  /// Must be called before these bytes are written; `all` if every one of them is.
  void beforeWrite(Place place, const uint8_t *low, const uint8_t *high, bool all) {
    if (!places[static_cast<size_t>(place)].empty())
      carryOutInto(place, low, high, all);
  }
  /// Must be called before bytes of L2 or L3 are written.
  void beforeSourceWrite(const uint8_t *low, const uint8_t *high);

  /// Which forms of rows find() may return.
  enum class Found : uint8_t {
    Apart, ///< equally many rows, possibly with another stride
    Split, ///< a row may be returned as several consecutive rows
  };
  /// Returns where the data that `view` of a place would read is now.
  RowsView find(Place place, const RowsView &view, Found wanted);

private:
  struct Deferred {
    uint8_t *dst = nullptr; ///< contiguous rows
    RowsView src;           ///< a single row if the source is contiguous as well
    const uint8_t *dstEnd() const { return dst + src.rows * src.rowBytes; }
  };
  static void carryOut(const Deferred &copy);
  static Deferred part(const Deferred &copy, int64_t first, int64_t end);
  static bool append(Deferred &copy, const Deferred &other);
  void carryOutInto(Place place, const uint8_t *low, const uint8_t *high, bool overwritten);

  /// Deferred copies of each place, oldest first. There are few: as many as the place has buffers.
  /// The source of a copy from L2 never overlaps the destination of another deferred copy.
  std::vector<std::vector<Deferred>> places;
};

} // namespace st::dtu
