// Operands of products as the host's matrix routines want them. The cores of a cluster multiply
// with the same tile one after the other, each having copied it from the same place: it is packed
// once for all of them.
#pragma once

#include "backends/dtu/simulator/data/DeferredCopies.h"
#include "backends/dtu/simulator/data/HostBuffer.h"
#include "backends/dtu/simulator/data/HostMatmul.h"

#include <cstdint>
#include <vector>

namespace st::dtu {

class PackedTiles {
public:
  /// Forgets all, as where another task begins.
  void reset() { tiles.clear(); }

  /// Where `bytes` bytes of what `rows` of L2 or L3 are packed to belong. The caller fills them
  /// unless they are filled; they are until something writes to the rows.
  PackedB get(const RowsView &rows, DType type, bool transposed, int64_t bytes);

  /// Before bytes of L2 or L3 are written.
  void beforeSourceWrite(const uint8_t *low, const uint8_t *high);

private:
  struct Tile {
    RowsView rows; ///< no data: nothing
    DType type = DType::F32;
    bool transposed = false;
    HostBuffer packed;
  };
  /// The last used first.
  std::vector<Tile> tiles;
};

} // namespace st::dtu
