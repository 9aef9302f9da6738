// Copies into L1 that are not carried out until something would see that they were
// not. An instruction that reads the whole of such a tile, or rows of it, reads where it was
// copied from; a tile that is overwritten before that was never moved at all.
//
// A copy is carried out in time when anything writes to its source, reads its destination in
// another shape, or writes to a part of it. Only one cluster's instructions touch that cluster's
// memories while it runs, so nothing else has to ask.
#pragma once

#include "backends/dtu/simulator/CopyPlan.h"

#include <cstdint>
#include <vector>

namespace st::dtu {

/// `rows` rows of `rowBytes` bytes, `stride` bytes apart.
struct RowsView {
  const uint8_t *data = nullptr;
  int64_t rows = 0, rowBytes = 0, stride = 0;
};

class DeferredCopies {
public:
  /// Forgets all; L1s of `cores` cores.
  void reset(int64_t cores);

  /// True if plan's copy from L2 or L3 to `dst` in the L1 of `core` is put off; false where it
  /// has to be carried out at once. The caller has told of the write to dst.
  bool defer(int64_t core, const CopyPlan &plan, uint8_t *dst, const uint8_t *src);

  /// To be called before bytes low .. high-1 of the L1 of `core` are read.
  void beforeRead(int64_t core, const uint8_t *low, const uint8_t *high) {
    if (!cores[static_cast<size_t>(core)].empty())
      carryOutInto(core, low, high, /*overwritten=*/false);
  }
  /// Before they are written, each of them if `all`.
  void beforeWrite(int64_t core, const uint8_t *low, const uint8_t *high, bool all) {
    if (!cores[static_cast<size_t>(core)].empty())
      carryOutInto(core, low, high, all);
  }
  /// Before bytes of L2 or L3 are written.
  void beforeSourceWrite(const uint8_t *low, const uint8_t *high);

  /// Where what `view` of the L1 of `core` would read lies now. Where `dense`, no rows that lie
  /// apart take the place of rows that do not.
  RowsView find(int64_t core, const RowsView &view, bool dense);

private:
  struct Deferred {
    uint8_t *dst = nullptr; ///< rows side by side
    RowsView src;
    const uint8_t *dstEnd() const { return dst + src.rows * src.rowBytes; }
  };
  static void carryOut(const Deferred &copy);
  void carryOutInto(int64_t core, const uint8_t *low, const uint8_t *high, bool overwritten);

  /// Of each core, oldest first. Few: as many as there are buffers in an L1.
  std::vector<std::vector<Deferred>> cores;
};

} // namespace st::dtu
