// Copies into on-chip memories that are not carried out until something would see that they were
// not. An instruction that reads the whole of such a tile, or rows of it, reads where it was
// copied from; a copy of such a tile comes from there, too; a tile that is overwritten before that
// was never moved at all.
//
// A copy is carried out in time when anything writes to its source, reads its destination in
// another shape, or writes to a part of it. Only one cluster's instructions touch that cluster's
// memories while it runs, so nothing else has to ask.
#pragma once

#include "backends/dtu/simulator/data/CopyPlan.h"

#include <cstdint>
#include <vector>

namespace st::dtu {

/// `rows` rows of `rowBytes` bytes, `stride` bytes apart.
struct RowsView {
  const uint8_t *data = nullptr;
  int64_t rows = 0, rowBytes = 0, stride = 0;
  bool isElsewhere = false; ///< where a copy that was put off comes from
};

class DeferredCopies {
public:
  /// Where copies go: the L1 of a core by its number, L2 by that of the cores.
  using Place = int64_t;

  /// Forgets all; `cores` L1s and an L2.
  void reset(int64_t cores);

  /// True if plan's copy can be put off; `rows` are then those that it reads, without their data.
  static bool canWait(const CopyPlan &plan, RowsView &rows);
  /// Puts off copying `src` to `dst`, where its rows come side by side. The caller has told of the
  /// write to dst, and has `src` from find() where it is in L2.
  void defer(Place place, uint8_t *dst, const RowsView &src);

  /// To be called before bytes low .. high-1 of a place are read.
  void beforeRead(Place place, const uint8_t *low, const uint8_t *high) {
    if (!places[static_cast<size_t>(place)].empty())
      carryOutInto(place, low, high, /*overwritten=*/false);
  }
  /// Before they are written, each of them if `all`.
  void beforeWrite(Place place, const uint8_t *low, const uint8_t *high, bool all) {
    if (!places[static_cast<size_t>(place)].empty())
      carryOutInto(place, low, high, all);
  }
  /// Before bytes of L2 or L3 are written.
  void beforeSourceWrite(const uint8_t *low, const uint8_t *high);

  /// What rows may be found in the place of others.
  enum class Found : uint8_t {
    Apart, ///< as many, maybe at another distance
    Split, ///< one row may come as several that follow each other
  };
  /// Where what `view` of a place would read lies now.
  RowsView find(Place place, const RowsView &view, Found wanted);

private:
  struct Deferred {
    uint8_t *dst = nullptr; ///< rows side by side
    RowsView src;           ///< one row, if they are side by side there, too
    const uint8_t *dstEnd() const { return dst + src.rows * src.rowBytes; }
  };
  static void carryOut(const Deferred &copy);
  static Deferred part(const Deferred &copy, int64_t first, int64_t end);
  static bool append(Deferred &copy, const Deferred &other);
  void carryOutInto(Place place, const uint8_t *low, const uint8_t *high, bool overwritten);

  /// Of each place, oldest first. Few: as many as there are buffers in it. What is copied from L2
  /// and put off is in no part of L2 that a copy has yet to reach.
  std::vector<std::vector<Deferred>> places;
};

} // namespace st::dtu
