#include "backends/dtu/simulator/data/PackedTiles.h"

#include <algorithm>

namespace st::dtu {

/// A core may run a few steps ahead of others that use the same tiles.
constexpr size_t kMaxTiles = 12;

PackedB PackedTiles::get(const RowsView &rows, DType type, bool transposed, int64_t bytes) {
  auto tile = std::find_if(tiles.begin(), tiles.end(), [&](const Tile &known) {
    return known.rows.data == rows.data && known.rows.rows == rows.rows &&
           known.rows.rowBytes == rows.rowBytes && known.rows.stride == rows.stride &&
           known.type == type && known.transposed == transposed;
  });
  const bool isFilled = tile != tiles.end();
  if (!isFilled && tiles.size() < kMaxTiles)
    tile = tiles.emplace(tiles.end());
  else if (!isFilled)
    --tile;
  std::rotate(tiles.begin(), tile, tile + 1);
  Tile &found = tiles.front();
  if (!isFilled) {
    found.rows = rows;
    found.type = type;
    found.transposed = transposed;
  }
  return {found.packed.grow(bytes), isFilled};
}

void PackedTiles::beforeSourceWrite(const uint8_t *low, const uint8_t *high) {
  for (Tile &tile : tiles) {
    const RowsView &rows = tile.rows;
    if (rows.data && rows.data < high &&
        low < rows.data + (rows.rows - 1) * rows.stride + rows.rowBytes)
      tile.rows.data = nullptr;
  }
}

} // namespace st::dtu
