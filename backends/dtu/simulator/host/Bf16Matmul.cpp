// bf16 matrix products in the host's own bf16 instructions, compiled once for each set that has
// them: ST_BF16_MATMUL names this copy. Operands are packed into tiles of 16 rows of 16 pairs along
// k, padded with zeros, so that the same code multiplies every shape and layout. docs/dtu-isa.md
// states the order of the sums.
#include "backends/dtu/simulator/host/HostKernels.h"

#include <immintrin.h>

namespace {

using st::dtu::Bf16Operand;
using st::dtu::kBf16BlockK;
using st::dtu::kBf16BlockM;
using st::dtu::kBf16BlockN;

constexpr int64_t kTile = 16;                    // rows, and 4-byte columns, of a tile
constexpr int64_t kDepth = 2 * kTile;            // steps of k in a tile
constexpr int64_t kTileElements = kTile * kTile; // each 4 bytes
constexpr int64_t kBlock = 2 * kTile;            // rows and columns multiplied at once

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t tiles(int64_t count, int64_t size) { return (count + size - 1) / size; }

// ---- packing --------------------------------------------------------------------

/// Row r of the tile is `depth` elements of row r of the source, where k runs along rows.
inline void loadRows(__m512i *tile, const uint16_t *src, int64_t stride, int64_t rows,
                     int64_t depth) {
  __mmask32 mask = depth >= kDepth ? ~0u : (1u << depth) - 1;
  for (int64_t r = 0; r < kTile; ++r)
    tile[r] = r < rows ? _mm512_maskz_loadu_epi16(mask, src + r * stride) : _mm512_setzero_si512();
}

/// For a matrix stored with k down its columns: row p of two adjacent tiles pairs the elements of
/// source rows 2p and 2p + 1, 64 bytes of each.
inline void loadPairsOfRows(__m512i *tile, __m512i *next, const uint16_t *src, int64_t stride,
                            int64_t cols, int64_t depth) {
  const __m512i order = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40,
                                         8, 39, 7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
  const __m512i nextOrder = _mm512_add_epi16(order, _mm512_set1_epi16(16));
  __mmask32 mask = cols >= kDepth ? ~0u : (1u << cols) - 1;
  auto row = [&](int64_t l) {
    return l < depth ? _mm512_maskz_loadu_epi16(mask, src + l * stride) : _mm512_setzero_si512();
  };
  for (int64_t p = 0; p < kTile; ++p) {
    __m512i even = row(2 * p), odd = row(2 * p + 1);
    tile[p] = _mm512_permutex2var_epi16(even, order, odd);
    next[p] = _mm512_permutex2var_epi16(even, nextOrder, odd);
  }
}

/// Transposes 16 x 16 in registers: exchanges pairs, then quadruples of rows, then quarters.
inline void transpose(__m512i *tile) {
  __m512i pair[kTile], quad[kTile];
  for (int i = 0; i < 16; i += 2) {
    pair[i] = _mm512_unpacklo_epi32(tile[i], tile[i + 1]);
    pair[i + 1] = _mm512_unpackhi_epi32(tile[i], tile[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int half = 0; half < 2; ++half) {
      quad[i + 2 * half] = _mm512_unpacklo_epi64(pair[i + half], pair[i + 2 + half]);
      quad[i + 2 * half + 1] = _mm512_unpackhi_epi64(pair[i + half], pair[i + 2 + half]);
    }
  for (int i = 0; i < 4; ++i) {
    __m512i even = _mm512_shuffle_i32x4(quad[i], quad[4 + i], 0x88);
    __m512i odd = _mm512_shuffle_i32x4(quad[i], quad[4 + i], 0xdd);
    __m512i lastEven = _mm512_shuffle_i32x4(quad[8 + i], quad[12 + i], 0x88);
    __m512i lastOdd = _mm512_shuffle_i32x4(quad[8 + i], quad[12 + i], 0xdd);
    tile[i] = _mm512_shuffle_i32x4(even, lastEven, 0x88);
    tile[4 + i] = _mm512_shuffle_i32x4(odd, lastOdd, 0x88);
    tile[8 + i] = _mm512_shuffle_i32x4(even, lastEven, 0xdd);
    tile[12 + i] = _mm512_shuffle_i32x4(odd, lastOdd, 0xdd);
  }
}

inline void storeTile(uint32_t *out, const __m512i *tile) {
  for (int64_t r = 0; r < kTile; ++r)
    _mm512_storeu_si512(out + r * kTile, tile[r]);
}

// `count` rows of A or columns of B from `first` on, for `depth` steps of k from l on: strips
// of 16 rows or columns, each a tile for every 32 steps. Rows of A's tiles are rows of A;
// rows of B's are pairs along k.

template <bool Transposed>
void packAlongRows(uint32_t *out, const uint16_t *data, int64_t stride, int64_t first,
                   int64_t count, int64_t l, int64_t depth) {
  for (int64_t i = 0; i < count; i += kTile)
    for (int64_t d = 0; d < depth; d += kDepth, out += kTileElements) {
      __m512i tile[kTile];
      loadRows(tile, data + (first + i) * stride + l + d, stride, count - i, depth - d);
      if (Transposed)
        transpose(tile);
      storeTile(out, tile);
    }
}

template <bool Transposed>
void packDownColumns(uint32_t *out, const uint16_t *data, int64_t stride, int64_t first,
                     int64_t count, int64_t l, int64_t depth) {
  int64_t strip = tiles(depth, kDepth) * kTileElements;
  for (int64_t d = 0; d < depth; d += kDepth, out += kTileElements)
    for (int64_t i = 0; i < count; i += 2 * kTile) {
      __m512i tile[kTile], next[kTile];
      loadPairsOfRows(tile, next, data + (l + d) * stride + first + i, stride, count - i,
                      depth - d);
      if (Transposed) {
        transpose(tile);
        transpose(next);
      }
      storeTile(out + i / kTile * strip, tile);
      if (count - i > kTile)
        storeTile(out + (i / kTile + 1) * strip, next);
    }
}

// ---- multiplication -------------------------------------------------------------

/// Up to 32 x 32 elements of C, and the one or two strips of A and B that they need.
struct Block {
  float *c;
  int64_t ldc;
  const uint32_t *a, *b;
  int64_t depthTiles, rows, cols;
  bool accumulate;

  const uint32_t *aStrip(int64_t i) const { return a + i * depthTiles * kTileElements; }
  const uint32_t *bStrip(int64_t i) const { return b + i * depthTiles * kTileElements; }
};

inline __mmask16 columnMask(int64_t cols) {
  return static_cast<__mmask16>(cols >= kTile ? 0xffff : (1 << cols) - 1);
}

#if defined(__AMX_BF16__)

/// Shapes of the tile registers, in the layout of the instruction that loads them.
struct alignas(64) TileShapes {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};
};

inline void begin() {
  TileShapes shapes;
  for (int i = 0; i < 8; ++i) {
    shapes.rowBytes[i] = 64;
    shapes.rows[i] = 16;
  }
  _tile_loadconfig(&shapes);
}

/// Releases the tiles; otherwise each thread switch would save and restore them.
inline void end() { _tile_release(); }

// Registers 0 to 3 hold C, 4 and 5 A, 6 and 7 B.
template <int Row, int Col> inline void loadC(const Block &block) {
  constexpr int tile = 2 * Row + Col;
  int64_t rows = block.rows - Row * kTile, cols = block.cols - Col * kTile;
  const float *c = block.c + Row * kTile * block.ldc + Col * kTile;
  if (!block.accumulate)
    return _tile_zero(tile);
  if (rows >= kTile && cols >= kTile)
    return _tile_loadd(tile, c, static_cast<size_t>(block.ldc) * 4);
  alignas(64) float edge[kTileElements];
  for (int64_t r = 0; r < kTile; ++r)
    _mm512_store_ps(edge + r * kTile,
                    r < rows ? _mm512_maskz_loadu_ps(columnMask(cols), c + r * block.ldc)
                             : _mm512_setzero_ps());
  _tile_loadd(tile, edge, 64);
}

template <int Row, int Col> inline void storeC(const Block &block) {
  constexpr int tile = 2 * Row + Col;
  int64_t rows = block.rows - Row * kTile, cols = block.cols - Col * kTile;
  float *c = block.c + Row * kTile * block.ldc + Col * kTile;
  if (rows >= kTile && cols >= kTile)
    return _tile_stored(tile, c, static_cast<size_t>(block.ldc) * 4);
  alignas(64) float edge[kTileElements];
  _tile_stored(tile, edge, 64);
  for (int64_t r = 0; r < rows && r < kTile; ++r)
    _mm512_mask_storeu_ps(c + r * block.ldc, columnMask(cols), _mm512_load_ps(edge + r * kTile));
}

template <bool TwoRows, bool TwoCols> void multiplyTiles(const Block &block) {
  loadC<0, 0>(block);
  if (TwoCols)
    loadC<0, 1>(block);
  if (TwoRows)
    loadC<1, 0>(block);
  if (TwoRows && TwoCols)
    loadC<1, 1>(block);
  const uint32_t *a0 = block.aStrip(0), *a1 = block.aStrip(1);
  const uint32_t *b0 = block.bStrip(0), *b1 = block.bStrip(1);
  for (int64_t d = 0; d < block.depthTiles * kTileElements; d += kTileElements) {
    _tile_loadd(4, a0 + d, 64);
    _tile_loadd(6, b0 + d, 64);
    _tile_dpbf16ps(0, 4, 6);
    if (TwoCols) {
      _tile_loadd(7, b1 + d, 64);
      _tile_dpbf16ps(1, 4, 7);
    }
    if (TwoRows) {
      _tile_loadd(5, a1 + d, 64);
      _tile_dpbf16ps(2, 5, 6);
    }
    if (TwoRows && TwoCols)
      _tile_dpbf16ps(3, 5, 7);
  }
  storeC<0, 0>(block);
  if (TwoCols)
    storeC<0, 1>(block);
  if (TwoRows)
    storeC<1, 0>(block);
  if (TwoRows && TwoCols)
    storeC<1, 1>(block);
}

void multiply(const Block &block) {
  bool twoRows = block.rows > kTile, twoCols = block.cols > kTile;
  if (twoRows)
    return twoCols ? multiplyTiles<true, true>(block) : multiplyTiles<true, false>(block);
  return twoCols ? multiplyTiles<false, true>(block) : multiplyTiles<false, false>(block);
}

#else

inline void begin() {}
inline void end() {}

/// Eight rows of C from `row` on, in registers; strips beyond the block's edge are not read.
template <bool TwoCols> void multiplyRows(const Block &block, int64_t row) {
  constexpr int height = 8;
  constexpr int strips = TwoCols ? 2 : 1;
  __mmask16 masks[2] = {columnMask(block.cols), columnMask(TwoCols ? block.cols - kTile : kTile)};
  __m512 sum[height][strips];
  float *c = block.c + row * block.ldc;
  for (int r = 0; r < height; ++r)
    for (int s = 0; s < strips; ++s)
      sum[r][s] = block.accumulate && row + r < block.rows
                      ? _mm512_maskz_loadu_ps(masks[s], c + r * block.ldc + s * kTile)
                      : _mm512_setzero_ps();
  const uint32_t *a = block.aStrip(row / kTile) + row % kTile * kTile;
  const uint32_t *b0 = block.bStrip(0), *b1 = block.bStrip(TwoCols);
  for (int64_t d = 0; d < block.depthTiles; ++d, a += kTileElements)
    for (int64_t p = 0; p < kTile; ++p, b0 += kTile, b1 += kTile) {
      __m512bh right[2] = {reinterpret_cast<__m512bh>(_mm512_loadu_si512(b0)),
                           reinterpret_cast<__m512bh>(_mm512_loadu_si512(b1))};
      for (int r = 0; r < height; ++r) {
        __m512bh left =
            reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a[r * kTile + p])));
        for (int s = 0; s < strips; ++s)
          sum[r][s] = _mm512_dpbf16_ps(sum[r][s], left, right[s]);
      }
    }
  for (int r = 0; r < height; ++r)
    for (int s = 0; s < strips; ++s)
      if (row + r < block.rows)
        _mm512_mask_storeu_ps(c + r * block.ldc + s * kTile, masks[s], sum[r][s]);
}

void multiply(const Block &block) {
  for (int64_t row = 0; row < block.rows; row += 8)
    block.cols > kTile ? multiplyRows<true>(block, row) : multiplyRows<false>(block, row);
}

#endif

} // namespace

namespace st::dtu {

void ST_BF16_MATMUL(float *c, int64_t ldc, Bf16Operand a, Bf16Operand b, int64_t m, int64_t n,
                    int64_t k, bool accumulate, Bf16Scratch scratch) {
  uint32_t *packedA = reinterpret_cast<uint32_t *>(scratch.a);
  uint32_t *packedB = reinterpret_cast<uint32_t *>(scratch.b);
  auto packA = a.transposed ? packDownColumns<true> : packAlongRows<false>;
  auto packB = b.transposed ? packAlongRows<true> : packDownColumns<false>;
  begin();
  for (int64_t j0 = 0; j0 < n; j0 += kBf16BlockN)
    for (int64_t l = 0; l < k; l += kBf16BlockK) {
      int64_t width = smaller(n - j0, kBf16BlockN), depth = smaller(k - l, kBf16BlockK);
      int64_t depthTiles = tiles(depth, kDepth);
      if (!scratch.isPackedB)
        packB(packedB, b.data, b.stride, j0, width, l, depth);
      for (int64_t i0 = 0; i0 < m; i0 += kBf16BlockM) {
        int64_t height = smaller(m - i0, kBf16BlockM);
        packA(packedA, a.data, a.stride, i0, height, l, depth);
        for (int64_t j = 0; j < width; j += kBlock)
          for (int64_t i = 0; i < height; i += kBlock)
            multiply({c + (i0 + i) * ldc + j0 + j, ldc, packedA + i * depthTiles * kTile,
                      packedB + j * depthTiles * kTile, depthTiles, smaller(height - i, kBlock),
                      smaller(width - j, kBlock), accumulate || l > 0});
      }
    }
  end();
}

} // namespace st::dtu
