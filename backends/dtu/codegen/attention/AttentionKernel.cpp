// Kernels of kind "chain": fused attention-like kernels of matmuls, row work on their results, and
// further matmuls.
//
// For each iteration of the outer loops, every worker holds some of the rows in its L1, with all
// their columns. The matrices that all rows multiply with arrive in blocks of columns. Each queue
// loads a share of a block for all cores: the queues meet before, when all cores have left that
// half of the double buffer, and after, when all shares have arrived.
//
// Products that contract the rows run after the last of these (ChainColumns).
#include "backends/dtu/codegen/attention/ChainColumns.h"

using namespace mlir;
using namespace mlir::dtu;

namespace {
class ChainKernel : ChainCode {
public:
  ChainKernel(ProgramBuilder &builder, const Chain &chain, const ChainTiling &tiling,
              const TileStorage &storage, const TilePhase &phase)
      : ChainCode(builder, chain, tiling, storage), phase(phase), columnPart(*this),
        blocks(llvm::divideCeil(columns, tiling.block)) {}

  void emit(const KernelContext &context);

private:
  const TilePhase &phase;
  ChainColumns columnPart;
  int64_t blocks; // column blocks of the streamed matrices
  SmallVector<TileDigit> digits;
  int64_t items = 1;

  TilePosition positionOf(StreamBuilder &stream, const Expr &item) const;
  Expr slotOf(StreamBuilder &stream, const Expr &item, size_t product, const Expr &block) const;
  hw::Extent blockColumns(StreamBuilder &stream, const Expr &block) const;

  void emitQueue();
  void startItem(const Expr &item);
  void loadRowOperands(const TilePosition &position);
  void loadBlock(const ChainProduct &product, const TilePosition &position, const Expr &block,
                 const Expr &slot);
  void storeRows(const TilePosition &position);
  void storeResults(const TilePosition &position, const Expr &item);
  void finishItem(const TilePosition &position, const Expr &item);

  void emitCore();
  void multiply(const ChainProduct &product, bool makesRows, size_t index,
                const TilePosition &position, const Expr &block, const Expr &slot,
                const Expr &resultSlot);

  Expr rowTileOf(StreamBuilder &stream, const Expr &item) const {
    return stream.index(item, 1, digits.back().count);
  }
  /// Runs `body` for the blocks of products in order, those of the first product starting at
  /// `first`.
  void emitBlocks(StreamBuilder &stream, bool ofProducers, int64_t first, const Expr &item,
                  llvm::function_ref<void(size_t index, Expr block, Expr slot)> body) const;
};
} // namespace

TilePosition ChainKernel::positionOf(StreamBuilder &stream, const Expr &item) const {
  TilePosition position;
  position.at.assign(chain.space.getNumGroups(), Expr(0));
  int64_t inner = 1;
  for (const TileDigit &digit : llvm::reverse(digits)) {
    bool isOutermost = &digit == digits.begin();
    if (digit.count > 1)
      position.at[digit.group] =
          stream.index(item, inner, isOutermost ? 0 : digit.count, digit.tile);
    inner *= digit.count;
  }
  const TileDigit &rows = digits.back();
  int64_t size = chain.space.getSize(rows.group);
  position.at[rows.group] += Expr::instance() * tiling.rows;
  position.rows =
      stream.extent(tiling.rows, position.at[rows.group], size, rows.count * rows.tile == size);
  position.cols = {columns, hw::kZero, 0};
  return position;
}

/// The half of the double buffer that holds a block of a product's matrix.
Expr ChainKernel::slotOf(StreamBuilder &stream, const Expr &item, size_t product,
                         const Expr &block) const {
  auto perItem = static_cast<int64_t>(chain.producers.size() + chain.consumers.size()) * blocks;
  Expr number = block + static_cast<int64_t>(product) * blocks;
  if (perItem % 2 != 0)
    number += item * perItem;
  return stream.index(number, 1, 2, tiling.blockBytes) + tiling.blocks;
}

hw::Extent ChainKernel::blockColumns(StreamBuilder &stream, const Expr &block) const {
  return stream.extent(tiling.block, block * tiling.block, columns, columns % tiling.block == 0);
}

void ChainKernel::emitBlocks(
    StreamBuilder &stream, bool ofProducers, int64_t first, const Expr &item,
    llvm::function_ref<void(size_t index, Expr block, Expr slot)> body) const {
  size_t count = ofProducers ? chain.producers.size() : chain.consumers.size();
  size_t before = ofProducers ? 0 : chain.producers.size();
  for (size_t index = 0; index < count; ++index) {
    int64_t start = index == 0 ? first : 0;
    if (start == blocks)
      continue;
    stream.loop(start, blocks, 1, [&](Expr block) {
      StreamBuilder::Scope scope(stream);
      body(index, block, slotOf(stream, item, before + index, block));
    });
  }
}

// ---- queue ------------------------------------------------------------------------------------

/// Loads the row operands of the products that compute the tile.
void ChainKernel::loadRowOperands(const TilePosition &position) {
  StreamBuilder &dte = builder.dte;
  for (auto [product, target] : llvm::zip_equal(chain.producers, tiling.rowOperands)) {
    StreamBuilder::Scope scope(dte);
    const MatmulOperand &rows = product.rows;
    int64_t width = hw::byteWidth(product.type), bytes = hw::byteWidth(rows.type);
    CopyShape copy;
    copy.add(position.rows, product.matrix.width * width, rows.strides[chain.rowGroup()] * bytes);
    copy.add({product.matrix.width, hw::kZero, 0}, width, rows.depth.front() * bytes);
    Expr source = rowAddress(dte, emitter.argumentBases[rows.argument] + rows.offset * bytes,
                             rows.strides, position, bytes);
    emitCopy(dte, l1Address(target), l3Address(source), std::move(copy), product.type, rows.type);
  }
}

void ChainKernel::loadBlock(const ChainProduct &product, const TilePosition &position,
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
void ChainKernel::storeRows(const TilePosition &position) {
  StreamBuilder &dte = builder.dte;
  if (chain.stored.empty() && chain.panels.empty())
    return;
  dte.wait(builder.semaphore(Sem::Done));
  for (unsigned output = 0; output < chain.stored.size(); ++output)
    emitter.store(dte, 0, static_cast<int>(output), position);
  columnPart.storeRows(position);
}

void ChainKernel::storeResults(const TilePosition &position, const Expr &item) {
  StreamBuilder &dte = builder.dte;
  for (auto [product, from] : llvm::zip_equal(chain.consumers, tiling.rounded)) {
    StreamBuilder::Scope scope(dte);
    Expr place = dte.index(item, 1, 2, tiling.resultBytes) + from;
    storeResult(product, position.rows, product.resultStrides[chain.rowGroup()], position, place);
  }
}

/// Loads the tile's row operands and the first block while the core works on the previous tile.
void ChainKernel::startItem(const Expr &item) {
  StreamBuilder &dte = builder.dte;
  StreamBuilder::Scope scope(dte);
  TilePosition position = positionOf(dte, item);
  loadRowOperands(position);
  loadBlock(chain.producers.front(), position, 0, slotOf(dte, item, 0, 0));
}

/// Finishes a tile while the core multiplies its rows, and starts the next one.
void ChainKernel::finishItem(const TilePosition &position, const Expr &item) {
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
  if (chain.columnProducts.empty())
    return finishRows();
  int64_t last = digits.back().count - 1;
  Expr tile = rowTileOf(dte, item);
  dte.when(tile, last, [&](Expr) { finishRows(); });
  dte.when(last - 1, tile, [&](Expr) {
    TilePosition point = position;
    point.at[chain.rowGroup()] = 0;
    // The blocks of rows overwrite the core's tile.
    dte.wait(builder.semaphore(Sem::Done));
    columnPart.load(point);
    storeResults(position, item);
    startNext();
    dte.wait(builder.semaphore(Sem::Done));
    columnPart.store(point);
  });
}

void ChainKernel::emitQueue() {
  StreamBuilder &dte = builder.dte;
  startItem(0);
  dte.signal(builder.semaphore(Sem::Epilogue));
  dte.loop(0, items, 1, [&](Expr item) {
    StreamBuilder::Scope scope(dte);
    TilePosition position = positionOf(dte, item);
    auto load = [&](ArrayRef<ChainProduct> products) {
      return [&, products](size_t index, Expr block, Expr slot) {
        loadBlock(products[index], position, block, slot);
      };
    };
    emitBlocks(dte, true, 1, item, load(chain.producers));
    for (int input : phase.inputs)
      emitter.load(dte, 0, input, position);
    dte.signal(builder.semaphore(Sem::Epilogue));
    emitBlocks(dte, false, 0, item, load(chain.consumers));
    storeRows(position);
    dte.wait(builder.semaphore(Sem::Made));
    finishItem(position, item);
  });
  // The cores have emptied all buffers, so the next kernel may use them.
  dte.wait(builder.semaphore(Sem::Empty), 2);
}

// ---- core -------------------------------------------------------------------------------------

void ChainKernel::multiply(const ChainProduct &product, bool makesRows, size_t index,
                           const TilePosition &position, const Expr &block, const Expr &slot,
                           const Expr &resultSlot) {
  StreamBuilder &core = builder.core;
  int64_t width = hw::byteWidth(product.type);
  hw::Extent across{product.matrix.width, hw::kZero, 0}, walked = blockColumns(core, block);
  Expr tile = storage.offset(0, product.value, 0);
  hw::Matmul matmul;
  matmul.type = product.type;
  for (hw::Address *address : {&matmul.a, &matmul.b, &matmul.c})
    address->space = hw::Space::L1;
  matmul.b.offset = slot.toAffine();
  matmul.ldb = product.matrix.streamInside ? tiling.block : product.matrix.width;
  matmul.m = position.rows;
  if (makesRows) {
    matmul.a.offset = Expr(tiling.rowOperands[index]).toAffine();
    matmul.c.offset = (tile + block * (tiling.block * 4)).toAffine();
    matmul.n = walked;
    matmul.k = across;
    matmul.lda = product.matrix.width;
    matmul.ldc = columns;
    matmul.transposeB = !product.matrix.streamInside;
  } else {
    matmul.a.offset = (tile + block * (tiling.block * width)).toAffine();
    matmul.c.offset = (resultSlot + tiling.results[index]).toAffine();
    matmul.n = across;
    matmul.k = walked;
    matmul.lda = columns;
    matmul.ldc = product.matrix.width;
    matmul.transposeB = product.matrix.streamInside;
    if (!block.isConstant())
      matmul.accumulateReg = core.toRegister(block);
  }
  core.wait(builder.semaphore(Sem::Full));
  core.emit(std::move(matmul));
  core.signal(builder.semaphore(Sem::Empty));
}

void ChainKernel::emitCore() {
  StreamBuilder &core = builder.core;
  core.signal(builder.semaphore(Sem::Empty), 2);
  core.loop(0, items, 1, [&](Expr item) {
    StreamBuilder::Scope scope(core);
    TilePosition position = positionOf(core, item);
    Expr resultSlot = core.index(item, 1, 2, tiling.resultBytes);
    // The previous tile is stored and the operands of this one have arrived.
    core.wait(builder.semaphore(Sem::Epilogue));
    emitBlocks(core, true, 0, item, [&](size_t index, Expr block, Expr slot) {
      multiply(chain.producers[index], true, index, position, block, slot, 0);
    });
    core.signal(builder.semaphore(Sem::Made));
    core.wait(builder.semaphore(Sem::Epilogue));
    for (int op : phase.ops)
      emitter.compute(core, 0, op, position);
    if (!chain.stored.empty() || !chain.panels.empty())
      core.signal(builder.semaphore(Sem::Done));
    emitBlocks(core, false, 0, item, [&](size_t index, Expr block, Expr slot) {
      multiply(chain.consumers[index], false, index, position, block, slot, resultSlot);
    });
    for (auto [product, from, to] :
         llvm::zip_equal(chain.consumers, tiling.results, tiling.rounded))
      round(product, position.rows, resultSlot + from, resultSlot + to);
    core.signal(builder.semaphore(Sem::Done));
    if (!chain.columnProducts.empty())
      core.when(digits.back().count - 2, rowTileOf(core, item),
                [&](Expr) { columnPart.multiply(); });
  });
  core.wait(builder.semaphore(Sem::Epilogue));
}

// ---- all of it --------------------------------------------------------------------------------

void ChainKernel::emit(const KernelContext &context) {
  StreamBuilder::Scope dteScope(builder.dte), coreScope(builder.core);
  for (const Placement &place : context.inputs)
    emitter.argumentBases.push_back(baseOf(builder.dte, place));
  for (const Placement &place : context.results)
    resultBases.push_back(baseOf(builder.dte, place));
  for (unsigned index : chain.stored)
    emitter.resultBases.push_back(resultBases[index]);
  builder.useL1(tiling.end);
  builder.useL2(tiling.panelsEnd);
  for (unsigned group = 0; group < chain.space.getNumGroups(); ++group) {
    if (static_cast<int>(group) == chain.columnGroup())
      continue;
    int64_t tile =
        static_cast<int>(group) == chain.rowGroup() ? tiling.rows * builder.workers() : 1;
    int64_t size = chain.space.getSize(group);
    digits.push_back({group, tile, static_cast<int64_t>(llvm::divideCeil(size, tile))});
    items *= digits.back().count;
  }
  TilePosition origin;
  origin.at.assign(chain.space.getNumGroups(), Expr(0));
  origin.rows = {tiling.rows, hw::kZero, 0};
  origin.cols = {columns, hw::kZero, 0};
  emitter.prepare(builder, phase.ops, origin);
  emitQueue();
  emitCore();
}

LogicalResult mlir::dtu::emitChainKernel(KernelContext &context) {
  FailureOr<Chain> chain = analyzeChain(context.body);
  if (failed(chain))
    return failure();
  GroupSet moving = ~(GroupSet(1) << chain->columnGroup());
  TilePhase phase;
  for (auto [index, op] : llvm::enumerate(chain->program.ops))
    if (chain->program.values[op.dst].rate == Rate::Step || (op.reduction && op.groups & moving))
      phase.ops.push_back(index);
  for (auto [index, value] : llvm::enumerate(chain->program.values))
    if (value.kind == TileValue::Kind::Input && value.rate == Rate::Step)
      phase.inputs.push_back(index);
  for (unsigned index = 0; index < chain->program.outputs.size(); ++index)
    phase.outputs.push_back(index);
  TileStorage storage(chain->program, /*slots=*/1);
  TileShape shape{chain->rowGroup(), chain->columnGroup(), 1, 1};
  Operation *op = context.body.getParentOp();
  if (!storage.assign(phase, shape))
    return op->emitOpError("has more constants than a core keeps");
  const Machine &machine = context.builder.machine;
  std::optional<ChainTiling> tiling = chooseTiling(*chain, storage, machine);
  if (!tiling)
    return op->emitOpError("does not fit the memory of a core, ") << machine.l1Bytes << " bytes";
  if (tiling->panelsEnd > machine.l2Bytes)
    return op->emitOpError("keeps ")
           << tiling->panelsEnd << " bytes of rows, which do not fit the memory of a cluster, "
           << machine.l2Bytes << " bytes";
  if (!chain->panels.empty())
    context.claimL2();
  shape.rows = tiling->rows;
  shape.cols = chain->space.getSize(unsigned(chain->columnGroup()));
  storage.place(shape);
  ChainKernel(context.builder, *chain, *tiling, storage, phase).emit(context);
  return success();
}
