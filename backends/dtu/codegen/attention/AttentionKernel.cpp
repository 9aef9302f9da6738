// Kernels of kind "attention": fused attention-like kernels of matmuls, row work on their results,
// and further matmuls.
//
// For each iteration of the outer loops, every worker holds some of the rows in its L1, with all
// their columns. The matrices by which all rows are multiplied arrive in blocks of columns. Each
// queue loads a share of a block for all cores: the queues synchronise before, when all cores have
// finished with that half of the double buffer, and after, when all shares have arrived.
//
// Products that contract the rows run after the last of these (AttentionColumns).
#include "backends/dtu/codegen/attention/AttentionColumns.h"
#include "backends/dtu/codegen/attention/StreamedKernel.h"

using namespace mlir;
using namespace mlir::dtu;

namespace {
class AttentionKernel : AttentionCode {
public:
  AttentionKernel(ProgramBuilder &builder, const FusedAttention &fused,
                  const AttentionTiling &tiling, const TileStorage &storage, const TilePhase &phase)
      : AttentionCode(builder, fused, tiling, storage), phase(phase), columnPart(*this),
        blocks(llvm::divideCeil(columns, tiling.block)) {}

  void emit(const KernelContext &context);

private:
  const TilePhase &phase;
  AttentionColumns columnPart;
  int64_t blocks;               // column blocks of the streamed matrices
  Expr queueBlocks, coreBlocks; // the number of blocks that each stream has passed, under a mask

  /// Rows of a tile and the columns [begin, end) that the mask keeps for them.
  struct Strip {
    TilePosition position;
    Expr begin, end;
  };

  bool isMasked() const { return !tiling.band.isAll(); }
  Blocks blocksOf(StreamBuilder &stream, const Expr &item) const;
  TilePosition withColumns(StreamBuilder &stream, const TilePosition &position, const Expr &begin,
                           const Expr &end) const;
  SmallVector<Strip, 0> stripsOf(const TilePosition &position) const;
  void computeRows(const Strip &strip) const;
  void clearMasked(const Strip &strip) const;
  Expr slotOf(StreamBuilder &stream, const Expr &item, size_t product, const Expr &block) const;
  void passBlock(StreamBuilder &stream) const;
  hw::Extent blockColumns(StreamBuilder &stream, const Expr &block) const;

  void emitQueue();
  void startItem(const Expr &item);
  void loadBlock(const AttentionProduct &product, const TilePosition &position, const Expr &block,
                 const Expr &slot);
  void loadInputs(const TilePosition &position, const Blocks &range);
  void storeRows(const TilePosition &position);
  void storeResults(const TilePosition &position, const Expr &item);
  void finishItem(const TilePosition &position, const Expr &item);

  void emitCore();
  void multiply(const AttentionProduct &product, bool computesRows, size_t index,
                ArrayRef<Strip> strips, const Expr &block, const Expr &slot,
                const Expr &resultSlot);
  void multiplyStrip(const AttentionProduct &product, bool computesRows, size_t index,
                     const Strip &strip, const Expr &block, const Expr &slot,
                     const Expr &resultSlot);

  Expr rowTileOf(StreamBuilder &stream, const Expr &item) const {
    return stream.index(item, 1, digits.back().count);
  }
  /// Runs `body` for the blocks of products in order, without the `first` blocks of the first one.
  void emitBlocks(StreamBuilder &stream, bool ofProducers, int64_t first, const Expr &item,
                  const Blocks &range,
                  llvm::function_ref<void(size_t index, Expr block, Expr slot)> body) const;
};
} // namespace

/// The column blocks that some row of an item needs, the same for all workers: they load together.
AttentionCode::Blocks AttentionKernel::blocksOf(StreamBuilder &stream, const Expr &item) const {
  const TileDigit &rows = digits.back();
  Expr first = isMasked() ? stream.index(item, 1, rows.count, rows.tile) : Expr(0);
  return getBlocks(stream, tiling.band, first, rows.tile, columns, tiling.block);
}

/// The position of the part of a tile in the columns [begin, end).
TilePosition AttentionKernel::withColumns(StreamBuilder &stream, const TilePosition &position,
                                          const Expr &begin, const Expr &end) const {
  TilePosition part = position;
  part.firstCol = part.at[fused.columnGroup()] = begin;
  part.cols = stream.extent(columns, begin + (Expr(columns) - end), columns, false);
  return part;
}

/// Core: the strips of a tile.
SmallVector<AttentionKernel::Strip, 0>
AttentionKernel::stripsOf(const TilePosition &position) const {
  SmallVector<Strip, 0> strips;
  if (!isMasked()) {
    strips.push_back({position, 0, columns});
    return strips;
  }
  StreamBuilder &core = builder.core;
  const int64_t size = tiling.strip, step = tiling.rowStep;
  for (int64_t first = 0; first < tiling.rows; first += size) {
    Strip &strip = strips.emplace_back(Strip{position, 0, columns});
    TilePosition &part = strip.position;
    part.firstRow = first;
    part.at[fused.rowGroup()] += first * step;
    part.rows = {size, position.rows.reg, position.rows.limit - first};
    auto [begin, end] = getBlocks(core, tiling.band, part.at[fused.rowGroup()],
                                  (size - 1) * step + 1, columns, kMaskedColumns);
    auto toColumns = [&](const Expr &vectors) {
      const Expr number = vectors * kMaskedColumns;
      return columns % kMaskedColumns == 0 ? number : core.clamp(number, 0, columns);
    };
    strip.begin = toColumns(begin);
    strip.end = toColumns(end);
  }
  return strips;
}

/// Core: the row work of a strip.
void AttentionKernel::computeRows(const Strip &strip) const {
  StreamBuilder &core = builder.core;
  StreamBuilder::Scope scope(core);
  TilePosition part = strip.position;
  if (isMasked())
    part = withColumns(core, part, strip.begin, strip.end);
  for (int op : phase.ops)
    emitter.compute(core, 0, op, part);
  if (isMasked())
    clearMasked(strip);
}

/// Core: clears the part of the panels outside the columns of a strip, which products over rows
/// read.
void AttentionKernel::clearMasked(const Strip &strip) const {
  StreamBuilder &core = builder.core;
  auto clear = [&](const AttentionPanel &panel, const Expr &first, hw::Extent extent) {
    const int64_t start = strip.position.firstRow * columns;
    hw::Vector fill;
    fill.op = hw::VectorOp::Fill;
    fill.dst.address.space = hw::Space::L1;
    fill.dst.address.offset =
        (storage.offset(0, panel.value, 0) + (first + start) * hw::byteWidth(panel.type))
            .toAffine();
    fill.dst.type = panel.type;
    fill.dst.rowStride = columns;
    fill.dst.colStride = 1;
    fill.rows = strip.position.rows;
    fill.cols = extent;
    core.emit(std::move(fill));
  };
  for (const AttentionPanel &panel : fused.panels) {
    StreamBuilder::Scope scope(core);
    if (tiling.band.hasFirst())
      clear(panel, 0, core.extent(columns, Expr(columns) - strip.begin, columns, false));
    if (tiling.band.hasLast())
      clear(panel, strip.end, core.extent(columns, core.materialize(strip.end), columns, false));
  }
}

/// Under a mask, counts a block that the stream has passed.
void AttentionKernel::passBlock(StreamBuilder &stream) const {
  if (isMasked())
    stream.count(&stream == &builder.core ? coreBlocks : queueBlocks);
}

/// The half of the double buffer that holds a block of a product's matrix.
Expr AttentionKernel::slotOf(StreamBuilder &stream, const Expr &item, size_t product,
                             const Expr &block) const {
  if (isMasked())
    return stream.index(&stream == &builder.core ? coreBlocks : queueBlocks, 1, 2,
                        tiling.blockBytes) +
           tiling.blocks;
  auto perItem = static_cast<int64_t>(fused.producers.size() + fused.consumers.size()) * blocks;
  Expr number = block + static_cast<int64_t>(product) * blocks;
  if (perItem % 2 != 0)
    number += item * perItem;
  return stream.index(number, 1, 2, tiling.blockBytes) + tiling.blocks;
}

hw::Extent AttentionKernel::blockColumns(StreamBuilder &stream, const Expr &block) const {
  return stream.extent(tiling.block, block * tiling.block, columns, columns % tiling.block == 0);
}

void AttentionKernel::emitBlocks(
    StreamBuilder &stream, bool ofProducers, int64_t first, const Expr &item, const Blocks &range,
    llvm::function_ref<void(size_t index, Expr block, Expr slot)> body) const {
  size_t count = ofProducers ? fused.producers.size() : fused.consumers.size();
  size_t before = ofProducers ? 0 : fused.producers.size();
  for (size_t index = 0; index < count; ++index) {
    Expr start = range.begin + (index == 0 ? first : 0);
    stream.loop(start, range.end, 1, [&](Expr block) {
      StreamBuilder::Scope scope(stream);
      body(index, block, slotOf(stream, item, before + index, block));
      passBlock(stream);
    });
  }
}

// ---- queue ------------------------------------------------------------------------------------

void AttentionKernel::loadBlock(const AttentionProduct &product, const TilePosition &position,
                                const Expr &block, const Expr &slot) {
  StreamBuilder &dte = builder.dte;
  StreamBuilder::Scope scope(dte);
  dte.wait(builder.semaphore(Sem::Empty));
  builder.barrierOfQueues();
  loadShare(product, position, block * tiling.block, tiling.block, slot);
  builder.barrierOfQueues();
  dte.signal(builder.semaphore(Sem::Full));
}

/// Stores row values that are results or go to a panel, while the core multiplies them.
void AttentionKernel::storeRows(const TilePosition &position) {
  StreamBuilder &dte = builder.dte;
  if (fused.stored.empty() && fused.panels.empty())
    return;
  dte.wait(builder.semaphore(Sem::Done));
  for (unsigned output = 0; output < fused.stored.size(); ++output)
    emitter.store(dte, 0, static_cast<int>(output), position);
  columnPart.storeRows(position);
}

void AttentionKernel::storeResults(const TilePosition &position, const Expr &item) {
  StreamBuilder &dte = builder.dte;
  for (auto [product, from] : llvm::zip_equal(fused.consumers, tiling.rounded)) {
    StreamBuilder::Scope scope(dte);
    Expr place = dte.index(item, 1, 2, tiling.resultBytes) + from;
    storeResult(product, position.rows, product.resultStrides[fused.rowGroup()] * position.rowStep,
                position, place);
  }
}

/// Loads the tile's row operands and the first block while the core works on the previous tile.
void AttentionKernel::startItem(const Expr &item) {
  StreamBuilder &dte = builder.dte;
  StreamBuilder::Scope scope(dte);
  TilePosition position = positionOf(dte, item);
  loadRowOperands(position);
  loadBlock(fused.producers.front(), position, blocksOf(dte, item).begin, slotOf(dte, item, 0, 0));
  passBlock(dte);
}

/// Finishes a tile while the core multiplies its rows, and starts the next one.
void AttentionKernel::finishItem(const TilePosition &position, const Expr &item) {
  StreamBuilder &dte = builder.dte;
  auto startNext = [&] {
    dte.when(item + 1, items, [&](Expr next) { startItem(next); });
    // The tile has one buffer, which has been stored; results have two.
    dte.signal(builder.semaphore(Sem::Epilogue));
  };
  auto finishRows = [&] {
    startNext();
    dte.wait(builder.semaphore(Sem::Done));
    storeResults(position, item);
  };
  if (fused.columnProducts.empty())
    return finishRows();
  int64_t last = digits.back().count - 1;
  Expr tile = rowTileOf(dte, item);
  dte.when(tile, last, [&](Expr) { finishRows(); });
  dte.when(last - 1, tile, [&](Expr) {
    TilePosition point = position;
    point.at[fused.rowGroup()] = 0;
    // The blocks of rows overwrite the core's tile.
    dte.wait(builder.semaphore(Sem::Done));
    columnPart.load(point);
    storeResults(position, item);
    startNext();
    dte.wait(builder.semaphore(Sem::Done));
    columnPart.store(point);
  });
}

/// Loads the operands of a tile's row work, in the columns that some row of the item needs.
void AttentionKernel::loadInputs(const TilePosition &position, const Blocks &range) {
  StreamBuilder &dte = builder.dte;
  StreamBuilder::Scope scope(dte);
  TilePosition part = position;
  if (isMasked() && !phase.inputs.empty()) {
    Expr begin = dte.materialize(range.begin * tiling.block);
    part = withColumns(dte, position, begin, dte.clamp(range.end * tiling.block, 0, columns));
  }
  for (int input : phase.inputs)
    emitter.load(dte, 0, input, part);
}

void AttentionKernel::emitQueue() {
  StreamBuilder &dte = builder.dte;
  if (isMasked())
    queueBlocks = dte.counter();
  startItem(0);
  dte.signal(builder.semaphore(Sem::Epilogue));
  dte.loop(0, items, 1, [&](Expr item) {
    StreamBuilder::Scope scope(dte);
    TilePosition position = positionOf(dte, item);
    Blocks range = blocksOf(dte, item);
    auto load = [&](ArrayRef<AttentionProduct> products) {
      return [&, products](size_t index, Expr block, Expr slot) {
        loadBlock(products[index], position, block, slot);
      };
    };
    emitBlocks(dte, true, 1, item, range, load(fused.producers));
    loadInputs(position, range);
    dte.signal(builder.semaphore(Sem::Epilogue));
    emitBlocks(dte, false, 0, item, range, load(fused.consumers));
    storeRows(position);
    dte.wait(builder.semaphore(Sem::Produced));
    finishItem(position, item);
  });
  // The cores have emptied all buffers, so the next kernel may use them.
  dte.wait(builder.semaphore(Sem::Empty), 2);
}

// ---- core -------------------------------------------------------------------------------------

/// Multiplies a strip with its columns of a block.
void AttentionKernel::multiplyStrip(const AttentionProduct &product, bool computesRows,
                                    size_t index, const Strip &strip, const Expr &block,
                                    const Expr &slot, const Expr &resultSlot) {
  StreamBuilder &core = builder.core;
  const int64_t width = hw::byteWidth(product.type), across = product.matrix.width,
                sumBytes = hw::byteWidth(hw::DType::F32), firstRow = strip.position.firstRow;
  const bool streamInside = product.matrix.streamInside;
  const Expr start = block * tiling.block, limit = start + std::min(tiling.block, columns);
  Expr begin = start;
  hw::Extent walked = blockColumns(core, block);
  auto emit = [&] {
    const Expr tile = storage.offset(0, product.value, 0) +
                      (begin + firstRow * columns) * (computesRows ? sumBytes : width);
    hw::Matmul matmul;
    matmul.type = product.type;
    for (hw::Address *address : {&matmul.a, &matmul.b, &matmul.c})
      address->space = hw::Space::L1;
    matmul.b.offset = (slot + (begin - start) * (streamInside ? width : across * width)).toAffine();
    matmul.ldb = streamInside ? tiling.block : across;
    matmul.m = strip.position.rows;
    if (computesRows) {
      matmul.a.offset = Expr(tiling.rowOperands[index] + firstRow * across * width).toAffine();
      matmul.c.offset = tile.toAffine();
      matmul.n = walked;
      matmul.k = {across, hw::kZero, 0};
      matmul.lda = across;
      matmul.ldc = columns;
      matmul.transposeB = !streamInside;
    } else {
      matmul.a.offset = tile.toAffine();
      matmul.c.offset =
          (resultSlot + (tiling.results[index] + firstRow * across * sumBytes)).toAffine();
      matmul.n = {across, hw::kZero, 0};
      matmul.k = walked;
      matmul.lda = columns;
      matmul.ldc = across;
      matmul.transposeB = streamInside;
      if (Expr before = begin - strip.begin; !before.isConstant())
        matmul.accumulateReg = core.toRegister(before);
    }
    core.emit(std::move(matmul));
  };
  if (!isMasked())
    return emit();
  if (tiling.band.hasFirst())
    begin = core.clamp(strip.begin, start, limit);
  const Expr end = core.clamp(strip.end, start, limit);
  const int64_t maximum = std::min(tiling.block, columns);
  walked = core.extent(maximum, begin + (Expr(maximum) - end), maximum, false);
  core.when(begin, end, [&](Expr) { emit(); });
}

void AttentionKernel::multiply(const AttentionProduct &product, bool computesRows, size_t index,
                               ArrayRef<Strip> strips, const Expr &block, const Expr &slot,
                               const Expr &resultSlot) {
  StreamBuilder &core = builder.core;
  core.wait(builder.semaphore(Sem::Full));
  for (const Strip &strip : strips) {
    StreamBuilder::Scope scope(core);
    multiplyStrip(product, computesRows, index, strip, block, slot, resultSlot);
  }
  core.signal(builder.semaphore(Sem::Empty));
}

void AttentionKernel::emitCore() {
  StreamBuilder &core = builder.core;
  core.signal(builder.semaphore(Sem::Empty), 2);
  if (isMasked())
    coreBlocks = core.counter();
  core.loop(0, items, 1, [&](Expr item) {
    StreamBuilder::Scope scope(core);
    TilePosition position = positionOf(core, item);
    Blocks range = blocksOf(core, item);
    const SmallVector<Strip, 0> strips = stripsOf(position);
    Expr resultSlot = core.index(item, 1, 2, tiling.resultBytes);
    // The previous tile is stored and the operands of this one have arrived.
    core.wait(builder.semaphore(Sem::Epilogue));
    emitBlocks(core, true, 0, item, range, [&](size_t index, Expr block, Expr slot) {
      multiply(fused.producers[index], true, index, strips, block, slot, 0);
    });
    core.signal(builder.semaphore(Sem::Produced));
    core.wait(builder.semaphore(Sem::Epilogue));
    llvm::for_each(strips, [&](const Strip &strip) { computeRows(strip); });
    if (!fused.stored.empty() || !fused.panels.empty())
      core.signal(builder.semaphore(Sem::Done));
    emitBlocks(core, false, 0, item, range, [&](size_t index, Expr block, Expr slot) {
      multiply(fused.consumers[index], false, index, strips, block, slot, resultSlot);
    });
    for (auto [product, from, to] :
         llvm::zip_equal(fused.consumers, tiling.results, tiling.rounded))
      round(product, position.rows, resultSlot + from, resultSlot + to);
    core.signal(builder.semaphore(Sem::Done));
    if (!fused.columnProducts.empty())
      core.when(digits.back().count - 2, rowTileOf(core, item),
                [&](Expr) { columnPart.multiply(); });
  });
  core.wait(builder.semaphore(Sem::Epilogue));
}

// ---- the kernel -------------------------------------------------------------------------------

void AttentionKernel::emit(const KernelContext &context) {
  StreamBuilder::Scope dteScope(builder.dte), coreScope(builder.core);
  setBases(context);
  builder.useL1(tiling.end);
  builder.useL2(tiling.panelsEnd);
  TilePosition origin;
  origin.at.assign(fused.space.getNumGroups(), Expr(0));
  origin.rows = {tiling.rows, hw::kZero, 0};
  origin.cols = {columns, hw::kZero, 0};
  emitter.prepare(builder, phase.ops, origin);
  emitQueue();
  emitCore();
}

LogicalResult mlir::dtu::emitAttentionKernel(KernelContext &context) {
  FailureOr<FusedAttention> fused = analyzeAttention(context.body);
  if (failed(fused))
    return failure();
  if (fused->isStreamed)
    return emitStreamedKernel(context, *fused);
  GroupSet moving = ~(GroupSet(1) << fused->columnGroup());
  TilePhase phase;
  for (auto [index, op] : llvm::enumerate(fused->program.ops))
    if (fused->program.values[op.dst].rate == Rate::Step || (op.reduction && op.groups & moving))
      phase.ops.push_back(index);
  for (auto [index, value] : llvm::enumerate(fused->program.values))
    if (value.kind == TileValue::Kind::Input && value.rate == Rate::Step)
      phase.inputs.push_back(index);
  for (unsigned index = 0; index < fused->program.outputs.size(); ++index)
    phase.outputs.push_back(index);
  TileStorage storage(fused->program, /*slots=*/1);
  TileShape shape{fused->rowGroup(), fused->columnGroup(), 1, 1};
  Operation *op = context.body.getParentOp();
  if (!storage.assign(phase, shape))
    return op->emitOpError("has more constants than a core's scalar area can hold");
  const Machine &machine = context.builder.machine;
  std::optional<AttentionTiling> tiling = chooseTiling(*fused, storage, machine);
  if (!tiling)
    return op->emitOpError("does not fit the memory of a core, ") << machine.l1Bytes << " bytes";
  if (tiling->panelsEnd > machine.l2Bytes)
    return op->emitOpError("keeps ")
           << tiling->panelsEnd << " bytes of rows, which do not fit the memory of a cluster, "
           << machine.l2Bytes << " bytes";
  if (!fused->panels.empty())
    context.claimL2();
  shape.rows = tiling->rows;
  shape.cols = fused->space.getSize(unsigned(fused->columnGroup()));
  storage.place(shape);
  AttentionKernel(context.builder, *fused, *tiling, storage, phase).emit(context);
  return success();
}
