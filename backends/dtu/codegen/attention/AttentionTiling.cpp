// The tiles of fused attention-like kernels that hold full rows: the L1 layout, and the sizes with
// the lowest estimated time.
#include "backends/dtu/codegen/attention/AttentionPlan.h"
#include "backends/dtu/isa/Names.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mlir::dtu;

static int64_t align(int64_t bytes) { return llvm::alignTo(bytes, kBufferAlignment); }

/// Adds the L1 and L2 layout to a tiling with numbers of rows, block columns and block rows.
static AttentionTiling layOut(const FusedAttention &fused, const TileStorage &storage,
                              int64_t workers, AttentionTiling tiling) {
  const int64_t columns = fused.space.getSize(unsigned(fused.columnGroup())), rows = tiling.rows,
                block = tiling.block, rowBlock = tiling.rowBlock;
  TileShape shape{fused.rowGroup(), fused.columnGroup(), rows, columns};
  tiling.end = storage.bytes(shape);
  auto take = [&](int64_t bytes) {
    int64_t start = tiling.end;
    tiling.end += align(bytes);
    return start;
  };
  auto addBlock = [&](const AttentionProduct &product) {
    int64_t bytes = block * product.matrix.width * hw::byteWidth(product.type);
    tiling.blockBytes = std::max(tiling.blockBytes, align(bytes));
  };
  if (!fused.columnProducts.empty()) {
    tiling.share = llvm::divideCeil(columns, workers);
    int64_t matrixBytes = 0;
    for (const AttentionProduct &product : fused.columnProducts) {
      int64_t bytes = rowBlock * hw::byteWidth(product.type);
      tiling.slotMatrix = std::max(tiling.slotMatrix, align(bytes * tiling.share));
      matrixBytes = std::max(matrixBytes, align(bytes * product.matrix.width));
    }
    tiling.slotBytes = tiling.slotMatrix + matrixBytes;
    tiling.slots = storage.temporaries(shape);
    // Sums that are rounded are complete before the next tile; sums that are stored are not.
    int64_t sums = tiling.slots + 2 * tiling.slotBytes;
    for (const AttentionProduct &product : fused.columnProducts) {
      tiling.columnResults.push_back(sums);
      if (product.resultType != hw::DType::F32)
        sums += align(tiling.share * product.matrix.width * hw::byteWidth(hw::DType::F32));
    }
    tiling.end = std::max(tiling.end, sums);
    for (auto [product, sum] : llvm::zip_equal(fused.columnProducts, tiling.columnResults)) {
      tiling.columnRounded.push_back(
          take(tiling.share * product.matrix.width * hw::byteWidth(product.resultType)));
      if (product.resultType == hw::DType::F32)
        sum = tiling.columnRounded.back();
    }
  }
  for (const AttentionProduct &product : fused.producers) {
    addBlock(product);
    tiling.rowOperands.push_back(take(rows * product.matrix.width * hw::byteWidth(product.type)));
  }
  int64_t firstResult = tiling.end;
  for (const AttentionProduct &product : fused.consumers) {
    addBlock(product);
    int64_t elements = rows * product.matrix.width;
    tiling.results.push_back(take(elements * hw::byteWidth(hw::DType::F32)));
    bool isRounded = product.resultType != hw::DType::F32;
    tiling.rounded.push_back(isRounded ? take(elements * hw::byteWidth(product.resultType))
                                       : tiling.results.back());
  }
  tiling.resultBytes = take(tiling.end - firstResult) - firstResult;
  tiling.blocks = take(2 * tiling.blockBytes);
  int64_t allRows = fused.space.getSize(unsigned(fused.rowGroup()));
  for (const AttentionPanel &panel : fused.panels) {
    tiling.panels.push_back(tiling.panelsEnd);
    tiling.panelsEnd += align(allRows * columns * hw::byteWidth(panel.type));
  }
  return tiling;
}

static double ceilDiv(int64_t a, int64_t b) { return static_cast<double>(llvm::divideCeil(a, b)); }

/// Estimated nanoseconds of the row-contracting products of one outer iteration: a block is
/// multiplied while the next one arrives.
static double estimateColumns(const FusedAttention &fused, int64_t rowBlock,
                              const Machine &machine) {
  int64_t columns = fused.space.getSize(unsigned(fused.columnGroup()));
  int64_t rows = fused.space.getSize(unsigned(fused.rowGroup()));
  int64_t share = llvm::divideCeil(columns, machine.workers);
  double time = 0;
  for (const AttentionProduct &product : fused.columnProducts) {
    int64_t width = hw::byteWidth(product.type), matrixWidth = product.matrix.width;
    double step = machine.matmulTime(share, matrixWidth, rowBlock, width == 2);
    auto part = double(rowBlock * share * width), block = double(rowBlock * matrixWidth * width);
    double load = 2 * machine.dteLatency + 4 * machine.syncTime +
                  (part + block / double(machine.workers)) / machine.dteRate;
    // The first block's load and the result's store overlap with no product.
    if (&product == fused.columnProducts.begin())
      time += load;
    time += ceilDiv(rows, rowBlock) * std::max(step + 2 * machine.syncTime, load);
  }
  return time;
}

namespace {
/// Averages over the elements of a worker's rows that the mask keeps.
struct VisibleWork {
  double blocks = 0;  ///< that the workers load for a tile of all workers
  double strips = 0;  ///< of a tile
  double parts = 0;   ///< blocks in which a strip has columns
  double columns = 0; ///< of a strip
};
} // namespace

static VisibleWork getVisibleWork(const FusedAttention &fused, const AttentionTiling &tiling,
                                  const Machine &machine) {
  const int64_t columns = fused.space.getSize(unsigned(fused.columnGroup())),
                rows = fused.space.getSize(unsigned(fused.rowGroup()));
  const double allBlocks = ceilDiv(columns, tiling.block);
  if (tiling.band.isAll())
    return {allBlocks, 1, allBlocks, static_cast<double>(columns)};
  auto average = [&](int64_t rowTile, int64_t columnTile) {
    const std::optional<int64_t> tiles =
        tiling.band.countTiles(rows, rowTile * machine.workers, columns, columnTile);
    return double(*tiles) / ceilDiv(rows, rowTile * machine.workers);
  };
  return {average(tiling.rows, tiling.block), double(tiling.rows) / double(tiling.strip),
          average(tiling.strip, tiling.block),
          average(tiling.strip, kMaskedColumns) * kMaskedColumns};
}

/// Estimated nanoseconds for the rows of one outer iteration: a block is multiplied while the next
/// one arrives.
static double estimate(const FusedAttention &fused, const AttentionTiling &tiling,
                       const Machine &machine) {
  const int64_t rows = fused.space.getSize(unsigned(fused.rowGroup()));
  const VisibleWork work = getVisibleWork(fused, tiling, machine);
  const int64_t stripRows = tiling.band.isAll() ? tiling.rows : tiling.strip,
                partColumns =
                    tiling.band.isAll() ? tiling.block : std::llround(work.columns / work.parts);
  double time = 0;
  auto add = [&](const AttentionProduct &product, bool computesRows) {
    const int64_t width = hw::byteWidth(product.type), across = product.matrix.width;
    const double part = computesRows
                            ? machine.matmulTime(stripRows, partColumns, across, width == 2)
                            : machine.matmulTime(stripRows, across, partColumns, width == 2);
    const auto bytes = double(tiling.block * across * width);
    time += std::max(work.strips * work.parts * part + work.blocks * 2 * machine.syncTime,
                     work.blocks *
                         (machine.dteLatency + 4 * machine.syncTime + bytes / machine.dteRate));
  };
  for (const AttentionProduct &product : fused.producers)
    add(product, /*computesRows=*/true);
  for (const AttentionProduct &product : fused.consumers)
    add(product, /*computesRows=*/false);
  for (const TileOp &op : fused.program.ops)
    time += work.strips * machine.vectorTime(stripRows, std::llround(work.columns), 4,
                                             hw::isTranscendental(op.op));
  // Panel rows are stored while the core multiplies them. The time is the same for all tilings
  // except for the latency.
  time += machine.dteLatency * static_cast<double>(fused.panels.size());
  return ceilDiv(rows, tiling.rows * machine.workers) * time;
}

namespace {
/// A block height for the row-contracting products. Larger blocks are faster and take more bytes.
struct RowBlock {
  int64_t rows = 0;
  double time = 0;
};
} // namespace

/// The Pareto-optimal block heights in memory and time.
static SmallVector<RowBlock> getRowBlocks(const FusedAttention &fused, const Machine &machine) {
  constexpr int64_t kMaxRows = 512;
  if (fused.columnProducts.empty())
    return {{0, 0}};
  int64_t rows = fused.space.getSize(unsigned(fused.rowGroup()));
  int64_t maximum = llvm::alignTo(std::min(kMaxRows, rows), machine.workers);
  SmallVector<RowBlock> blocks;
  for (int64_t block = machine.workers; block <= maximum; block += machine.workers) {
    double time = estimateColumns(fused, block, machine);
    if (blocks.empty() || time < blocks.back().time)
      blocks.push_back({block, time});
  }
  return blocks;
}

/// The numbers of rows and of block columns to try, without a layout.
static SmallVector<AttentionTiling, 0> getTilings(const FusedAttention &fused, int64_t workers) {
  constexpr int64_t kMaxRows = 64, kMaxColumns = 512;
  // The matrix engine processes 16 rows at a time. The bounds of all strips are in registers, which
  // limits their number.
  constexpr int64_t kStrips[] = {16, 32}, kMaxBounds = 4;
  const int64_t columns = fused.space.getSize(unsigned(fused.columnGroup())),
                rows = fused.space.getSize(unsigned(fused.rowGroup())),
                maxRows = std::min<int64_t>(kMaxRows, llvm::divideCeil(rows, workers)),
                maskedStep = std::lcm(workers, kMaskedColumns);
  // Every row, tile and block of columns needs an element in the band, which initialises its sums.
  const bool skips = !fused.band.isAll() && fused.band.countTiles(rows, 1, columns, kMaskedColumns);
  const int64_t bounds = int64_t(fused.band.hasFirst()) + int64_t(fused.band.hasLast());
  SmallVector<AttentionTiling, 0> tilings;
  auto addBlocks = [&](AttentionTiling tiling, int64_t step) {
    for (int64_t last = llvm::alignTo(std::min(kMaxColumns, columns), step); tiling.block < last;) {
      tiling.block += step;
      if (tiling.band.isAll() ||
          tiling.band.countTiles(rows, tiling.rows * workers, columns, tiling.block))
        tilings.push_back(tiling);
    }
  };
  for (int64_t tileRows = 1; tileRows <= maxRows; ++tileRows) {
    AttentionTiling tiling;
    tiling.rows = tileRows;
    addBlocks(tiling, workers);
    if (!skips)
      continue;
    tiling.band = fused.band;
    tiling.rowStep = workers;
    SmallVector<int64_t> strips(std::begin(kStrips), std::end(kStrips));
    if (!llvm::is_contained(strips, tileRows))
      strips.push_back(tileRows);
    for (int64_t strip : strips) {
      tiling.strip = strip;
      if (tileRows % strip == 0 && tileRows / strip * bounds <= kMaxBounds)
        addBlocks(tiling, maskedStep);
    }
  }
  return tilings;
}

std::optional<AttentionTiling> mlir::dtu::chooseTiling(const FusedAttention &fused,
                                                       const TileStorage &storage,
                                                       const Machine &machine) {
  std::optional<AttentionTiling> best;
  double bestTime = 0;
  SmallVector<RowBlock> rowBlocks = getRowBlocks(fused, machine);
  for (const AttentionTiling &tried : getTilings(fused, machine.workers)) {
    auto layOutWith = [&](const RowBlock &rowBlock) {
      AttentionTiling tiling = tried;
      tiling.rowBlock = rowBlock.rows;
      return layOut(fused, storage, machine.workers, std::move(tiling));
    };
    auto *firstTooLarge = llvm::partition_point(rowBlocks, [&](const RowBlock &rowBlock) {
      return layOutWith(rowBlock).end <= machine.l1Bytes;
    });
    if (firstTooLarge == rowBlocks.begin())
      continue;
    const RowBlock &rowBlock = *std::prev(firstTooLarge);
    AttentionTiling tiling = layOutWith(rowBlock);
    double time = estimate(fused, tiling, machine) + rowBlock.time;
    if (best && time >= bestTime)
      continue;
    best = std::move(tiling);
    bestTime = time;
  }
  return best;
}
