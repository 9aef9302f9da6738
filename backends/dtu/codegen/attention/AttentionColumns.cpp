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
    copy.add(position.rows, rowBytes, rowBytes);
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

/// The queues meet before each block. Hence all rows of a panel are in L2 before any queue reads
/// them, and all queues have read them before the rows of the next iteration are stored.
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

/// Adds a block, which begins the sums if it is the block `before`.
void AttentionColumns::multiply(const AttentionProduct &product, size_t index, const Expr &block,
                                const Expr &before, const Expr &slot) const {
  StreamBuilder &core = builder.core;
  hw::Matmul matmul;
  matmul.type = product.type;
  for (hw::Address *address : {&matmul.a, &matmul.b, &matmul.c})
    address->space = hw::Space::L1;
  matmul.a.offset = slot.toAffine();
  matmul.b.offset = (slot + tiling.slotMatrix).toAffine();
  matmul.c.offset = Expr(tiling.columnResults[index]).toAffine();
  matmul.m = ownColumns(core);
  matmul.n = {product.matrix.width, hw::kZero, 0};
  matmul.k = blockRows(core, block);
  matmul.lda = tiling.share;
  matmul.ldb = product.matrix.streamInside ? tiling.rowBlock : product.matrix.width;
  matmul.ldc = product.matrix.width;
  matmul.transposeA = true;
  matmul.transposeB = product.matrix.streamInside;
  if (Expr number = block - before; !number.isConstant())
    matmul.accumulateReg = core.toRegister(number);
  core.emit(std::move(matmul));
}

void AttentionColumns::multiply() const {
  StreamBuilder &core = builder.core;
  StreamBuilder::Scope scope(core);
  // All workers receive all blocks, and multiply those that a mask leaves for their columns.
  auto [begin, end] = AttentionCode::getBlocks(core, band, Expr::instance() * tiling.share,
                                               tiling.share, code.allRows, tiling.rowBlock);
  emitBlocks(core, [&, begin = begin, end = end](size_t index, Expr block, Expr slot) {
    auto multiplyBlock = [&](Expr) {
      multiply(fused.columnProducts[index], index, block, begin, slot);
    };
    core.wait(builder.semaphore(Sem::Full));
    if (band.isAll())
      multiplyBlock(block);
    else
      core.when(begin, block + 1, [&](Expr) { core.when(block, end, multiplyBlock); });
    core.signal(builder.semaphore(Sem::Empty));
  });
  for (auto [product, from, to] :
       llvm::zip_equal(fused.columnProducts, tiling.columnResults, tiling.columnRounded)) {
    StreamBuilder::Scope scope(core);
    code.round(product, ownColumns(core), from, to);
  }
  core.signal(builder.semaphore(Sem::Done));
}
