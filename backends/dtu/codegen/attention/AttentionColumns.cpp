#include "backends/dtu/codegen/attention/AttentionColumns.h"

using namespace mlir;
using namespace mlir::dtu;

/// The columns whose results a worker computes: `share` of them, starting at `share` times its
/// number.
hw::Extent AttentionColumns::ownColumns(StreamBuilder &stream) const {
  return stream.extent(tiling.share, Expr::instance() * tiling.share, code.columns,
                       tiling.share * builder.workers() == code.columns);
}

hw::Extent AttentionColumns::blockRows(StreamBuilder &stream, const Expr &block) const {
  return stream.extent(tiling.rowBlock, block * tiling.rowBlock, code.allRows,
                       code.allRows % tiling.rowBlock == 0);
}

void AttentionColumns::emitBlocks(
    StreamBuilder &stream,
    llvm::function_ref<void(size_t index, Expr block, Expr slot)> body) const {
  for (size_t index = 0; index < fused.columnProducts.size(); ++index)
    stream.loop(0, rowBlocks, 1, [&](Expr block) {
      StreamBuilder::Scope scope(stream);
      Expr number = block + static_cast<int64_t>(index) * rowBlocks;
      body(index, block, stream.index(number, 1, 2, tiling.slotBytes) + tiling.slots);
    });
}

// ---- queue ------------------------------------------------------------------------------------

void AttentionColumns::storeRows(const TilePosition &position) const {
  StreamBuilder &dte = builder.dte;
  for (auto [panel, start] : llvm::zip_equal(fused.panels, tiling.panels)) {
    StreamBuilder::Scope scope(dte);
    int64_t width = hw::byteWidth(panel.type), rowBytes = code.columns * width;
    CopyShape copy;
    copy.add(position.rows, rowBytes * position.rowStep, rowBytes);
    copy.add(position.cols, width, width);
    Expr target = dte.compact(position.at[fused.rowGroup()]) * rowBytes + start;
    emitCopy(dte, l2Address(target), l1Address(code.storage.offset(0, panel.value, 0)),
             std::move(copy), panel.type, panel.type);
  }
}

/// Loads this worker's columns of a block of rows from L2.
void AttentionColumns::loadPanelPart(const AttentionProduct &product, const Expr &block,
                                     const Expr &slot) const {
  StreamBuilder &dte = builder.dte;
  int64_t width = hw::byteWidth(product.type), rowBytes = code.columns * width;
  CopyShape copy;
  copy.add(blockRows(dte, block), tiling.share * width, rowBytes);
  copy.add(ownColumns(dte), width, width);
  Expr source = block * (tiling.rowBlock * rowBytes) + Expr::instance() * (tiling.share * width) +
                tiling.panels[product.panel];
  emitCopy(dte, l1Address(slot), l2Address(source), std::move(copy), product.type, product.type);
}

/// The queues synchronise before each block. Therefore all rows of a panel are in L2 before any
/// queue reads them, and all queues have read them before the rows of the next iteration are
/// stored.
void AttentionColumns::load(const TilePosition &point) const {
  StreamBuilder &dte = builder.dte;
  emitBlocks(dte, [&](size_t index, Expr block, Expr slot) {
    const AttentionProduct &product = fused.columnProducts[index];
    dte.wait(builder.semaphore(Sem::Empty));
    builder.barrierOfQueues();
    code.loadShare(product, point, block * tiling.rowBlock, tiling.rowBlock,
                   slot + tiling.slotMatrix);
    loadPanelPart(product, block, slot);
    builder.barrierOfQueues();
    dte.signal(builder.semaphore(Sem::Full));
  });
}

void AttentionColumns::store(const TilePosition &point) const {
  StreamBuilder &dte = builder.dte;
  TilePosition own = point;
  own.at[fused.columnGroup()] = Expr::instance() * tiling.share;
  for (auto [product, from] : llvm::zip_equal(fused.columnProducts, tiling.columnRounded)) {
    StreamBuilder::Scope scope(dte);
    code.storeResult(product, ownColumns(dte), product.resultStrides[fused.columnGroup()], own,
                     from);
  }
}

// ---- core -------------------------------------------------------------------------------------

/// Adds the rows of a block that the mask keeps for a strip.
void AttentionColumns::multiplyStrip(const AttentionProduct &product, size_t index,
                                     const Strip &strip, const Expr &block,
                                     const Expr &slot) const {
  StreamBuilder &core = builder.core;
  const int64_t width = hw::byteWidth(product.type), across = product.matrix.width;
  const bool streamInside = product.matrix.streamInside;
  const Expr start = block * tiling.rowBlock, limit = start + tiling.rowBlock;
  Expr begin = start;
  hw::Matmul matmul;
  auto emit = [&] {
    const Expr skipped = begin - start;
    matmul.a.offset = (slot + (skipped * tiling.share + strip.first) * width).toAffine();
    matmul.b.offset =
        (slot + tiling.slotMatrix + skipped * (streamInside ? width : across * width)).toAffine();
    if (Expr before = begin - strip.begin; !before.isConstant())
      matmul.accumulateReg = core.toRegister(before);
    core.emit(std::move(matmul));
  };
  matmul.type = product.type;
  for (hw::Address *address : {&matmul.a, &matmul.b, &matmul.c})
    address->space = hw::Space::L1;
  matmul.c.offset =
      Expr(tiling.columnResults[index] + strip.first * across * hw::byteWidth(hw::DType::F32))
          .toAffine();
  matmul.m = core.extent(strip.size, Expr::instance() * tiling.share + strip.first, code.columns,
                         tiling.share * builder.workers() == code.columns);
  matmul.n = {across, hw::kZero, 0};
  matmul.k = blockRows(core, block);
  matmul.lda = tiling.share;
  matmul.ldb = streamInside ? tiling.rowBlock : across;
  matmul.ldc = across;
  matmul.transposeA = true;
  matmul.transposeB = streamInside;
  if (band.isAll())
    return emit();
  begin = core.clamp(strip.begin, start, limit);
  const Expr end = core.clamp(strip.end, start, limit);
  matmul.k =
      core.extent(tiling.rowBlock, begin + (Expr(tiling.rowBlock) - end), tiling.rowBlock, false);
  core.when(begin, end, [&](Expr) { emit(); });
}

/// All workers receive all blocks, and multiply the rows that the mask keeps for their columns.
void AttentionColumns::multiply() const {
  StreamBuilder &core = builder.core;
  StreamBuilder::Scope scope(core);
  const int64_t stripSize = band.isAll() ? tiling.share : kColumns;
  emitBlocks(core, [&](size_t index, Expr block, Expr slot) {
    core.wait(builder.semaphore(Sem::Full));
    for (int64_t first = 0; first < tiling.share; first += stripSize) {
      StreamBuilder::Scope stripScope(core);
      Strip strip{first, std::min(stripSize, tiling.share - first), 0, code.allRows};
      if (!band.isAll()) {
        auto [begin, end] = AttentionCode::getBlocks(
            core, band, Expr::instance() * tiling.share + first, strip.size, code.allRows, kRows);
        strip.begin = begin * kRows;
        strip.end =
            code.allRows % kRows == 0 ? end * kRows : core.clamp(end * kRows, 0, code.allRows);
      }
      multiplyStrip(fused.columnProducts[index], index, strip, block, slot);
    }
    core.signal(builder.semaphore(Sem::Empty));
  });
  for (auto [product, from, to] :
       llvm::zip_equal(fused.columnProducts, tiling.columnResults, tiling.columnRounded)) {
    StreamBuilder::Scope scope(core);
    code.round(product, ownColumns(core), from, to);
  }
  core.signal(builder.semaphore(Sem::Done));
}
