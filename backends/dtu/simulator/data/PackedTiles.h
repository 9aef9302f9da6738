// Operands of products, packed for the host's matrix routines. The cores of a cluster multiply with
// the same tile one after the other after copying it from the same source, so the tile is packed
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
  /// Forgets all tiles; called at the start of a task.
  void reset() { tiles.clear(); }

  /// Returns the buffer of `bytes` bytes for the packed form of `rows` in L2 or L3. The caller
  /// fills it if it is not filled; it stays filled until an instruction writes to the rows.
  PackedB get(const RowsView &rows, DType type, bool transposed, int64_t bytes);

  /// Must be called before bytes of L2 or L3 are written.
  void beforeSourceWrite(const uint8_t *low, const uint8_t *high);

private:
  struct Tile {
    RowsView rows; ///< no data: the entry is empty
    DType type = DType::F32;
    bool transposed = false;
    HostBuffer packed;
  };
  /// Most recently used first.
  std::vector<Tile> tiles;
};

} // namespace st::dtu
