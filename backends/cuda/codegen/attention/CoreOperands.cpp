#include "backends/cuda/codegen/attention/CoreOperands.h"

using namespace mlir;
using namespace mlir::cuda;

static constexpr int64_t kWarp = 32, kMatrix = 8;
/// Elements in 16 bytes: the size of an access, and of the padding at the end of a row.
static constexpr int64_t kAccess = 8;
static constexpr int64_t kBytes = 2;

int64_t CoreOperands::Rows::pitch() const { return columns() + kAccess; }

// ---- the set of operands ------------------------------------------------------------------------

/// Products that read the same matrix share its shared memory.
SmallVector<CoreOperands::Rows> CoreOperands::collectStreamed(const FusedAttention &fused,
                                                              int64_t size) {
  SmallVector<Rows> all;
  for (auto *products : {&fused.producers, &fused.consumers})
    for (const AttentionProduct &product : *products) {
      const AttentionMatrix &matrix = product.streamed;
      if (llvm::none_of(all, [&](const Rows &rows) {
            return *rows.matrix == matrix && rows.width == product.width;
          }))
        all.push_back({&matrix, fused.streamed, product.width, size, {}, {}, {}, {}});
    }
  return all;
}

/// Collects the operands that are not in registers, and those of crossing products.
SmallVector<CoreOperands::Rows> CoreOperands::collectParallel(const FusedAttention &fused,
                                                              Plan plan) {
  SmallVector<Rows> all;
  auto add = [&](const AttentionProduct &product) {
    if (llvm::none_of(all, [&](const Rows &rows) {
          return *rows.matrix == product.parallel && rows.width == product.width;
        }))
      all.push_back(
          {&product.parallel, fused.parallel, product.width, plan.parallelSize, {}, {}, {}, {}});
  };
  for (auto [i, product] : llvm::enumerate(fused.producers))
    if (!plan.keeps(i))
      add(product);
  for (const AttentionProduct &product : fused.crossing)
    add(product);
  return all;
}

size_t CoreOperands::countPanels(const FusedAttention &fused) {
  SmallVector<Value> distinct;
  for (const auto *products : {&fused.consumers, &fused.crossing})
    for (const AttentionProduct &product : *products)
      if (!llvm::is_contained(distinct, product.rows))
        distinct.push_back(product.rows);
  return distinct.size();
}

CoreOperands::CrossingShare CoreOperands::shareCrossing(const AttentionProduct &product,
                                                        Plan plan) {
  const auto columns = static_cast<int64_t>(llvm::alignTo(product.width, kDepth));
  for (int64_t rows : {2 * kRows, kRows}) {
    if (plan.streamedSize % rows != 0)
      continue;
    const int64_t below = plan.streamedSize / rows, warpsPerRow = plan.warps() / below;
    if (below <= plan.warps() && columns % (warpsPerRow * kDepth) == 0)
      return {rows, columns / warpsPerRow};
  }
  return {};
}

bool CoreOperands::canCopyAsync(const KernelEmitter &emitter, const FusedAttention &fused) {
  return llvm::all_of(collectStreamed(fused, AttentionTile::kSize), [&](const Rows &rows) {
    const AttentionMatrix &matrix = *rows.matrix;
    return matrix.widthStride == 1 && rows.width % kAccess == 0 &&
           emitter.isAligned(matrix.buffer, kAccess * kBytes) &&
           llvm::all_of(matrix.strides, [](int64_t stride) { return stride % kAccess == 0; });
  });
}

bool CoreOperands::fits(const FusedAttention &fused, Plan plan, int64_t sharedBytes) {
  int64_t bytes = 0;
  for (const AttentionProduct &product : fused.consumers)
    if (static_cast<int64_t>(llvm::alignTo(product.width, kDepth)) % (plan.warpsPerRow * kDepth) !=
        0)
      return false;
  for (const AttentionProduct &product : fused.crossing)
    if (shareCrossing(product, plan).rows == 0)
      return false;
  if (plan.columnsOfWarp() < kDepth)
    return false;
  if (plan.warpsPerRow > 1 || !fused.crossing.empty())
    bytes += static_cast<int64_t>(countPanels(fused)) * plan.parallelSize *
             (plan.streamedSize + kAccess) * kBytes;
  for (const Rows &rows : collectStreamed(fused, plan.streamedSize))
    bytes += plan.stages * rows.size * rows.pitch() * kBytes;
  for (const Rows &rows : collectParallel(fused, plan))
    bytes += rows.size * rows.pitch() * kBytes;
  return bytes <= sharedBytes;
}

/// The warps that share rows read all columns of each product together. Each warp reads its rows
/// for each tile, unless they are in registers.
int64_t CoreOperands::countBytes(const FusedAttention &fused, Plan plan) {
  constexpr int64_t size = AttentionTile::kSize;
  const int64_t below = size / (kRows * plan.cores), tiles = size / plan.streamedSize;
  auto columnsOf = [](const AttentionProduct &product) {
    return static_cast<int64_t>(llvm::alignTo(product.width, kDepth));
  };
  int64_t columns = 0;
  for (const Rows &rows : collectStreamed(fused, size))
    columns += rows.columns() * size / plan.parallelSize;
  for (auto [i, product] : llvm::enumerate(fused.producers))
    columns += columnsOf(product) * (below + (plan.keeps(i) ? 0 : tiles * plan.warpsPerRow));
  for (const AttentionProduct &product : fused.consumers)
    columns += columnsOf(product) * below + (plan.warpsPerRow - 1) * size;
  if (plan.warpsPerRow > 1 || !fused.crossing.empty())
    columns += static_cast<int64_t>(countPanels(fused)) * size;
  for (const AttentionProduct &product : fused.crossing) {
    const CrossingShare share = shareCrossing(product, plan);
    columns += columnsOf(product) / share.columns * size + columnsOf(product) * size / share.rows;
  }
  return columns * size * kBytes;
}

CoreOperands::CoreOperands(KernelEmitter &emitter, const FusedAttention &fused, Plan plan)
    : plan(plan), emitter(emitter), fused(fused), threads(plan.warps() * kWarp),
      streamed(collectStreamed(fused, plan.streamedSize)), parallel(collectParallel(fused, plan)) {
  Value warp = emitter.div(emitter.thread(), kWarp);
  warpRow = emitter.div(warp, plan.warpsPerRow);
  warpColumn = emitter.rem(warp, plan.warpsPerRow);
}

CoreOperands::Rows &CoreOperands::find(const AttentionMatrix &matrix, int64_t width) {
  return *llvm::find_if(
      streamed, [&](const Rows &rows) { return *rows.matrix == matrix && rows.width == width; });
}

// ---- loads to shared memory ---------------------------------------------------------------------

/// Sets the offset of the row that this thread passes to ldmatrix for 16 x 16 elements. The four 8
/// x 8 matrices are in row-major or (transposed) column-major order.
void CoreOperands::prepare(Rows &rows) {
  Value lane = emitter.rem(emitter.thread(), kWarp);
  Value row = emitter.rem(lane, kMatrix);
  Value second = emitter.mul(emitter.rem(emitter.div(lane, kMatrix), 2), kMatrix);
  Value third = emitter.mul(emitter.div(lane, 2 * kMatrix), kMatrix);
  rows.transposedLane = emitter.add(emitter.mul(emitter.add(row, second), rows.pitch()), third);
  rows.lane = emitter.add(emitter.mul(emitter.add(row, third), rows.pitch()), second);
  if (rows.matrix)
    rows.outer = tile->getOuterPosition(*rows.matrix);
}

void CoreOperands::begin(AttentionTile &forTile, Value firstParallel) {
  tile = &forTile;
  Type type = fused.producers.empty() ? fused.consumers.front().streamed.element
                                      : fused.producers.front().parallel.element;
  for (Rows &rows : streamed) {
    rows.memory = emitter.addShared(plan.stages * rows.size * rows.pitch(), type);
    prepare(rows);
  }
  for (Rows &rows : parallel) {
    rows.memory = emitter.addShared(rows.size * rows.pitch(), type);
    prepare(rows);
    load(rows, firstParallel, emitter.index(0));
  }
  for (size_t i = 0, end = sharesPanels() ? countPanels(fused) : 0; i < end; ++i) {
    Rows &rows = panels.emplace_back();
    rows.width = plan.streamedSize;
    rows.size = plan.parallelSize;
    rows.memory = emitter.addShared(rows.size * rows.pitch(), type);
    prepare(rows);
  }
}

/// Loads rows of a matrix from `first` on into shared memory, with zeros out of bounds. The copies
/// are asynchronous if the plan has stages for them.
void CoreOperands::load(const Rows &rows, Value first, Value target) {
  const AttentionMatrix &matrix = *rows.matrix;
  const bool isAsync = plan.stages > 1 && rows.group == fused.streamed;
  const bool isDeep = matrix.widthStride == 1;
  const bool isAligned = isDeep && rows.width % kAccess == 0 &&
                         llvm::all_of(matrix.strides, [](int64_t s) { return s % kAccess == 0; });
  const int64_t access = isAligned ? kAccess : 1, perRow = rows.columns() / access;
  const int64_t all = rows.size * perRow, stride = matrix.strides[rows.group];
  for (int64_t begin = 0; begin < all; begin += threads) {
    // Adjacent threads load adjacent elements. Terms that do not depend on the tile come first.
    Value across, along;
    int64_t below = 0; // rows
    if (isDeep && threads % perRow == 0) {
      across = emitter.div(emitter.thread(), perRow);
      along = emitter.mul(emitter.rem(emitter.thread(), perRow), access);
      below = begin / perRow;
    } else {
      Value number = emitter.add(emitter.thread(), begin);
      across = isDeep ? emitter.div(number, perRow) : emitter.rem(number, rows.size);
      along = isDeep ? emitter.mul(emitter.rem(number, perRow), access)
                     : emitter.div(number, rows.size);
    }
    auto move = [&] {
      AttentionTile::LoopIndex index =
          tile->getLoopIndex(emitter.add(emitter.add(first, across), below), rows.group);
      Value place = along, exists = index.exists;
      if (rows.columns() > rows.width) {
        exists = emitter.both(exists, emitter.less(place, rows.width));
        place = emitter.min(place, rows.width - access);
      }
      Value inRow = emitter.add(rows.outer, emitter.mul(place, matrix.widthStride));
      Value position =
          index.exists ? emitter.add(inRow, emitter.mul(index.coordinate, stride))
                       : emitter.add(emitter.add(emitter.add(inRow, emitter.mul(across, stride)),
                                                 emitter.mul(first, stride)),
                                     below * stride);
      Value to =
          emitter.add(emitter.add(emitter.add(emitter.mul(across, rows.pitch()), along), target),
                      below * rows.pitch());
      if (isAsync)
        return emitter.copyAsync(matrix.buffer, position, rows.memory, to, exists);
      Number loaded = emitter.load(matrix.buffer, position, matrix.element, access, isAligned);
      if (exists)
        loaded = emitter.number(exists).select(
            loaded,
            emitter.constant(emitter.builder.getFloatAttr(matrix.element, 0), matrix.element)
                .splat(access));
      emitter.storeShared(rows.memory, to, loaded);
    };
    emitter.onlyIf(begin + threads > all ? emitter.less(emitter.add(emitter.thread(), begin), all)
                                         : Value(),
                   move);
  }
}

/// Loads a tile, given by number, into its stage.
void CoreOperands::load(Value number) {
  for (unsigned i : loaded) {
    const Rows &rows = streamed[i];
    Value target = plan.stages > 1
                       ? emitter.mul(emitter.rem(number, plan.stages), rows.size * rows.pitch())
                       : emitter.index(0);
    load(rows, emitter.mul(number, plan.streamedSize), target);
  }
}

void CoreOperands::beginPass(ArrayRef<AttentionProduct *> products, Value begin, Value endOfPass) {
  loaded.clear();
  end = endOfPass;
  for (const AttentionProduct *product : products) {
    const auto number =
        static_cast<unsigned>(&find(product->streamed, product->width) - streamed.begin());
    if (!llvm::is_contained(loaded, number))
      loaded.push_back(number);
  }
  if (plan.stages == 1)
    return;
  // Threads may still read tiles of the previous pass.
  emitter.barrier();
  emitter.onlyIf(emitter.less(begin, end), [&] { load(begin); });
}

/// Waits for a tile's asynchronous copies, or loads the tile now.
void CoreOperands::enterTile(Value number) {
  if (plan.stages == 1) {
    emitter.barrier();
    load(number);
    emitter.barrier();
    return;
  }
  stage = emitter.rem(number, plan.stages);
  emitter.waitForCopies();
  emitter.barrier();
  Value next = emitter.add(number, 1);
  emitter.onlyIf(emitter.less(next, end), [&] { load(next); });
}

// ---- loads to registers -------------------------------------------------------------------------

SmallVector<Value> CoreOperands::getParallel(const AttentionProduct &product, int64_t core,
                                             int64_t depth) {
  const Rows &rows = findParallel(product.parallel, product.width);
  Value place =
      emitter.add(emitter.mul(warpRow, plan.cores * kRows * rows.pitch()), rows.transposedLane);
  return emitter.loadMatrices(rows.memory, emitter.add(place, core * kRows * rows.pitch() + depth),
                              false);
}

const CoreOperands::Rows &CoreOperands::findParallel(const AttentionMatrix &matrix,
                                                     int64_t width) const {
  return *llvm::find_if(
      parallel, [&](const Rows &rows) { return *rows.matrix == matrix && rows.width == width; });
}

/// Returns 16 x 16 elements of the current tile from a row and a column on; `further` is an offset
/// in elements.
SmallVector<Value> CoreOperands::loadFromTile(const AttentionProduct &product, int64_t row,
                                              int64_t column, bool isTransposed, Value further) {
  const Rows &rows = find(product.streamed, product.width);
  Value place = emitter.add(isTransposed ? rows.transposedLane : rows.lane, further);
  if (plan.stages > 1)
    place = emitter.add(place, emitter.mul(stage, rows.size * rows.pitch()));
  return emitter.loadMatrices(rows.memory, emitter.add(place, row * rows.pitch() + column),
                              isTransposed);
}

SmallVector<Value> CoreOperands::getStreamed(const AttentionProduct &product, int64_t row,
                                             int64_t depth) {
  const int64_t pitch = find(product.streamed, product.width).pitch();
  return loadFromTile(product, row, depth, /*isTransposed=*/false,
                      emitter.mul(warpColumn, plan.columnsOfWarp() * pitch));
}

SmallVector<Value> CoreOperands::getStreamedTransposed(const AttentionProduct &product,
                                                       int64_t depth, int64_t column,
                                                       Value further) {
  const Rows &rows = find(product.streamed, product.width);
  Value beyond = emitter.mul(warpColumn, rows.columns() / plan.warpsPerRow);
  if (further)
    beyond = emitter.add(beyond, emitter.mul(further, rows.pitch()));
  return loadFromTile(product, depth, column, /*isTransposed=*/true, beyond);
}

// ---- panels and crossing products ---------------------------------------------------------------

void CoreOperands::putPanel(size_t panel, Value row, Value column, Number pair) {
  const Rows &rows = panels[panel];
  emitter.storeShared(rows.memory, emitter.add(emitter.mul(row, rows.pitch()), column), pair);
}

SmallVector<Value> CoreOperands::getPanel(size_t panel, int64_t core, Value column) {
  const Rows &rows = panels[panel];
  Value place = emitter.add(emitter.mul(warpRow, plan.cores * kRows * rows.pitch()), column);
  return emitter.loadMatrices(
      rows.memory,
      emitter.add(emitter.add(place, rows.transposedLane), core * kRows * rows.pitch()), false);
}

SmallVector<Value> CoreOperands::getPanelTransposed(size_t panel, int64_t row, Value column) {
  const Rows &rows = panels[panel];
  return emitter.loadMatrices(
      rows.memory, emitter.add(emitter.add(rows.lane, column), row * rows.pitch()), true);
}

SmallVector<Value> CoreOperands::getCrossing(const AttentionProduct &product, int64_t row,
                                             Value column) {
  const Rows &rows = findParallel(product.parallel, product.width);
  return emitter.loadMatrices(
      rows.memory, emitter.add(emitter.add(rows.transposedLane, column), row * rows.pitch()), true);
}
