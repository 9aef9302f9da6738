#include "backends/dtu/codegen/attention/ChainColumns.h"

using namespace mlir;
using namespace mlir::dtu;

/// The columns whose results a worker computes: `share` of them, starting at `share` times its
/// number.
hw::Extent ChainColumns::ownColumns(StreamBuilder &stream) const {
  return stream.extent(tiling.share, Expr::instance() * tiling.share, code.columns,
                       tiling.share * builder.workers() == code.columns);
}

hw::Extent ChainColumns::blockRows(StreamBuilder &stream, const Expr &block) const {
  return stream.extent(tiling.rowBlock, block * tiling.rowBlock, code.allRows,
                       code.allRows % tiling.rowBlock == 0);
}

void ChainColumns::emitBlocks(
    StreamBuilder &stream,
    llvm::function_ref<void(size_t index, Expr block, Expr slot)> body) const {
  for (size_t index = 0; index < chain.columnProducts.size(); ++index)
    stream.loop(0, rowBlocks, 1, [&](Expr block) {
      StreamBuilder::Scope scope(stream);
      Expr number = block + static_cast<int64_t>(index) * rowBlocks;
      body(index, block, stream.index(number, 1, 2, tiling.slotBytes) + tiling.slots);
    });
}

// ---- queue ------------------------------------------------------------------------------------

void ChainColumns::storeRows(const TilePosition &position) const {
  StreamBuilder &dte = builder.dte;
  for (auto [panel, start] : llvm::zip_equal(chain.panels, tiling.panels)) {
    StreamBuilder::Scope scope(dte);
    int64_t width = hw::byteWidth(panel.type), rowBytes = code.columns * width;
    CopyShape copy;
    copy.add(position.rows, rowBytes, rowBytes);
    copy.add(position.cols, width, width);
    Expr target = dte.compact(position.at[chain.rowGroup()]) * rowBytes + start;
    emitCopy(dte, l2Address(target), l1Address(code.storage.offset(0, panel.value, 0)),
             std::move(copy), panel.type, panel.type);
  }
}

/// Loads this worker's columns of a block of rows from L2.
void ChainColumns::loadPanelPart(const ChainProduct &product, const Expr &block,
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
void ChainColumns::load(const TilePosition &point) const {
  StreamBuilder &dte = builder.dte;
  emitBlocks(dte, [&](size_t index, Expr block, Expr slot) {
    const ChainProduct &product = chain.columnProducts[index];
    dte.wait(builder.semaphore(Sem::Empty));
    builder.barrierOfQueues();
    code.loadShare(product, point, block * tiling.rowBlock, tiling.rowBlock,
                   slot + tiling.slotMatrix);
    loadPanelPart(product, block, slot);
    builder.barrierOfQueues();
    dte.signal(builder.semaphore(Sem::Full));
  });
}

void ChainColumns::store(const TilePosition &point) const {
  StreamBuilder &dte = builder.dte;
  TilePosition own = point;
  own.at[chain.columnGroup()] = Expr::instance() * tiling.share;
  for (auto [product, from] : llvm::zip_equal(chain.columnProducts, tiling.columnRounded)) {
    StreamBuilder::Scope scope(dte);
    code.storeResult(product, ownColumns(dte), product.resultStrides[chain.columnGroup()], own,
                     from);
  }
}

// ---- core -------------------------------------------------------------------------------------

void ChainColumns::multiply(const ChainProduct &product, size_t index, const Expr &block,
                            const Expr &slot) const {
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
  if (!block.isConstant())
    matmul.accumulateReg = core.toRegister(block);
  core.wait(builder.semaphore(Sem::Full));
  core.emit(std::move(matmul));
  core.signal(builder.semaphore(Sem::Empty));
}

void ChainColumns::multiply() const {
  StreamBuilder &core = builder.core;
  emitBlocks(core, [&](size_t index, Expr block, Expr slot) {
    multiply(chain.columnProducts[index], index, block, slot);
  });
  for (auto [product, from, to] :
       llvm::zip_equal(chain.columnProducts, tiling.columnResults, tiling.columnRounded)) {
    StreamBuilder::Scope scope(core);
    code.round(product, ownColumns(core), from, to);
  }
  core.signal(builder.semaphore(Sem::Done));
}
