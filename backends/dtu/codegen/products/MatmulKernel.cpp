// Kernels of kind "matmul": products of one left operand, and elementwise work on their results.
//
// For each tile of the result, a worker iterates over the depth in steps. Its queue loads the
// operands of a step into one of two buffers while the core multiplies from the other. The core
// accumulates in f32, computes the epilogue in place and signals the queue, which stores the tile
// while the next one begins. Several products have one tile each at the same position, and a step
// loads the left operand once for all of them.
#include "backends/dtu/codegen/kernels/KernelContext.h"
#include "backends/dtu/codegen/products/MatmulTime.h"
#include "backends/dtu/isa/Names.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dtu;

namespace {
/// A range of one dimension: its start and its extent.
struct Range {
  Expr start;
  hw::Extent size;
};

class MatmulKernel {
public:
  MatmulKernel(ProgramBuilder &builder, const MatmulShape &shape, const MatmulTiling &tiling,
               const IterationSpace &space, const TileProgram &program, const TileStorage &storage,
               const TilePhase &phase)
      : builder(builder), shape(shape), tiling(tiling), space(space), program(program),
        storage(storage), phase(phase), emitter(program, storage) {}

  void emit(const KernelContext &context);

private:
  ProgramBuilder &builder;
  const MatmulShape &shape;
  const MatmulTiling &tiling;
  const IterationSpace &space;
  const TileProgram &program;
  const TileStorage &storage;
  const TilePhase &phase;
  TileEmitter emitter;

  SmallVector<TileDigit> digits; // of the block number: outer groups, rows, columns
  int64_t blocks = 1, depthTiles = 1, steps = 1;
  int64_t width = 4, lhsBytes = 0, rhsBytes = 0, lhsStart = 0, rhsStart = 0;
  int64_t lhsPanel = 0, rhsPanel = 0, panels = 0; // bytes of a chunk in L2: of lhs, of one rhs, of
                                                  // all
  SmallVector<int> accumulators;                  // of each product, indices in the program's
                                                  // values

  void layOut();
  Expr first() const { return tiling.isShared() ? Expr(0) : Expr::instance(); }
  int64_t stride() const { return tiling.isShared() ? 1 : builder.workers(); }
  Expr ordinal(StreamBuilder &stream, const Expr &block) const {
    return stream.index(block - first(), stride());
  }

  TilePosition positionOf(StreamBuilder &stream, const Expr &block,
                          SmallVector<Expr> *blockStart = nullptr) const;
  SmallVector<Range> depthOf(StreamBuilder &stream, const Expr &step) const;
  Expr stepSlot(StreamBuilder &stream, const Expr &order, const Expr &step, int64_t bytes) const;

  void emitQueue();
  void emitCore();
  void emitBlockLoads(const TilePosition &position, ArrayRef<Expr> blockStart, const Expr &block,
                      const Expr &order);
  void loadStep(const TilePosition &position, const Expr &order, const Expr &step,
                const Expr &inChunk, const Expr &panelSlot);
  void loadOperand(const MatmulOperand &operand, bool isLhs, const TilePosition &position,
                   ArrayRef<Range> depth, const Expr &target, const Expr &inChunk,
                   const Expr &panel);
  void stageChunk(ArrayRef<Expr> blockStart, const Expr &chunk, const Expr &panelSlot);
  void stageOperand(const MatmulOperand &operand, bool isLhs, ArrayRef<Expr> blockStart,
                    const Expr &chunkStart, const Expr &panel);
  void storeBlock(const Expr &block);
  void loadEpilogue(TilePosition position, const Expr &order);
  void multiply(const TilePosition &position, const Expr &order, const Expr &step);

  int64_t products() const { return static_cast<int64_t>(shape.rhs.size()); }
  /// Offset of an rhs panel after the lhs panel.
  int64_t rhsPanelStart(size_t index) const { return lhsPanel + int64_t(index) * rhsPanel; }
  Expr addressOf(const MatmulOperand &operand, ArrayRef<Expr> at, ArrayRef<Range> depth) const;
};
} // namespace

// ---- layout ---------------------------------------------------------------------------------

void MatmulKernel::layOut() {
  width = hw::byteWidth(shape.type);
  int64_t gridRows = std::max<int64_t>(1, tiling.gridRows),
          gridCols = std::max<int64_t>(1, tiling.gridCols);
  for (unsigned group = 0; group < space.getNumGroups(); ++group) {
    int64_t tile = static_cast<int>(group) == shape.rowGroup   ? tiling.rows * gridRows
                   : static_cast<int>(group) == shape.colGroup ? tiling.cols * gridCols
                                                               : 1;
    digits.push_back(
        {group, tile, static_cast<int64_t>(llvm::divideCeil(space.getSize(group), tile))});
    blocks *= digits.back().count;
  }
  depthTiles = llvm::divideCeil(shape.innerDepth(), tiling.depth);
  steps = depthTiles;
  for (size_t i = 0; i + 1 < shape.depthSizes.size(); ++i)
    steps *= shape.depthSizes[i];
  lhsBytes = llvm::alignTo(tiling.rows * tiling.depth * width, kBufferAlignment);
  rhsBytes = llvm::alignTo(tiling.cols * tiling.depth * width, kBufferAlignment);
  lhsStart = storage.end();
  rhsStart = lhsStart + 2 * lhsBytes;
  builder.useL1(rhsStart + 2 * products() * rhsBytes);
  int64_t chunkBytes = tiling.chunk * tiling.depth * width;
  lhsPanel = tiling.sharesLhs() ? gridRows * tiling.rows * chunkBytes : 0;
  rhsPanel = tiling.sharesRhs() ? gridCols * tiling.cols * chunkBytes : 0;
  panels = rhsPanelStart(shape.rhs.size());
  builder.useL2(2 * panels);
  for (auto [index, value] : llvm::enumerate(program.values))
    if (value.kind == TileValue::Kind::Accumulator)
      accumulators.push_back(static_cast<int>(index));
}

/// The position of the worker's tile in a block that starts at `blockStart`.
TilePosition MatmulKernel::positionOf(StreamBuilder &stream, const Expr &block,
                                      SmallVector<Expr> *blockStart) const {
  TilePosition position;
  position.at = tileStart(stream, digits, space.getNumGroups(), block);
  if (blockStart)
    *blockStart = position.at;
  auto within = [&](int group, int64_t tile, const Expr &place) -> hw::Extent {
    if (group < 0)
      return {1, hw::kZero, 0};
    position.at[group] += place * tile;
    int64_t size = space.getSize(unsigned(group));
    const TileDigit &digit = digits[group];
    return stream.extent(tile, position.at[group], size, digit.count * digit.tile == size);
  };
  Expr row = 0, col = 0;
  if (tiling.isShared()) {
    row = stream.index(Expr::instance(), tiling.gridCols);
    col = stream.index(Expr::instance(), 1, tiling.gridCols);
  }
  position.rows = within(shape.rowGroup, tiling.rows, row);
  position.cols = within(shape.colGroup, tiling.cols, col);
  return position;
}

/// The contracted dimensions' ranges in a step. The innermost one is tiled; the others advance
/// element by element.
SmallVector<Range> MatmulKernel::depthOf(StreamBuilder &stream, const Expr &step) const {
  SmallVector<Range> ranges;
  int64_t depth = shape.innerDepth();
  bool isOnly = shape.depthSizes.size() <= 1;
  Expr start =
      depthTiles == 1 ? Expr(0) : stream.index(step, 1, isOnly ? 0 : depthTiles, tiling.depth);
  ranges.push_back({start, stream.extent(tiling.depth, start, depth, depth % tiling.depth == 0)});
  int64_t inner = depthTiles;
  for (size_t i = shape.depthSizes.size(); i-- > 1;) {
    int64_t size = shape.depthSizes[i - 1];
    ranges.insert(ranges.begin(),
                  Range{stream.index(step, inner, i == 1 ? 0 : size), {1, hw::kZero, 0}});
    inner *= size;
  }
  return ranges;
}

/// Byte offset of the double buffer that a step uses.
Expr MatmulKernel::stepSlot(StreamBuilder &stream, const Expr &order, const Expr &step,
                            int64_t bytes) const {
  Expr number = steps % 2 == 0 ? step : order * steps + step;
  return stream.index(number, 1, 2, bytes);
}

/// Byte offset within the operand's tensor.
Expr MatmulKernel::addressOf(const MatmulOperand &operand, ArrayRef<Expr> at,
                             ArrayRef<Range> depth) const {
  int64_t bytes = hw::byteWidth(operand.type);
  Expr address = emitter.argumentBases[operand.argument] + operand.offset * bytes;
  for (auto [position, elements] : llvm::zip_equal(at, operand.strides))
    address = builder.dte.compact(address) + position * (elements * bytes);
  for (auto [range, elements] : llvm::zip(depth, operand.depth))
    address = builder.dte.compact(address) + range.start * (elements * bytes);
  return address;
}

// ---- queue ------------------------------------------------------------------------------------

/// Copies two dimensions of an operand between memories: free (rows or columns) and depth, in the
/// order of the operand in L1.
static CopyShape operandCopy(bool depthOutside, hw::Extent free, hw::Extent depth, int64_t freeTile,
                             int64_t depthTile, int64_t dstWidth, int64_t srcFree,
                             int64_t srcDepth) {
  CopyShape copy;
  if (depthOutside) {
    copy.add(depth, freeTile * dstWidth, srcDepth);
    copy.add(free, dstWidth, srcFree);
  } else {
    copy.add(free, depthTile * dstWidth, srcFree);
    copy.add(depth, dstWidth, srcDepth);
  }
  return copy;
}

void MatmulKernel::loadOperand(const MatmulOperand &operand, bool isLhs,
                               const TilePosition &position, ArrayRef<Range> depth,
                               const Expr &target, const Expr &inChunk, const Expr &panel) {
  StreamBuilder &dte = builder.dte;
  StreamBuilder::Scope scope(dte);
  hw::Extent free = isLhs ? position.rows : position.cols;
  int64_t freeTile = isLhs ? tiling.rows : tiling.cols;
  int64_t bytes = hw::byteWidth(operand.type);
  if (!(isLhs ? tiling.sharesLhs() : tiling.sharesRhs())) {
    int group = isLhs ? shape.rowGroup : shape.colGroup;
    int64_t srcFree = group < 0 ? 0 : operand.strides[group] * bytes;
    int64_t srcDepth = operand.depth.empty() ? 0 : operand.depth.back() * bytes;
    CopyShape copy = operandCopy(operand.depthOutside, free, depth.back().size, freeTile,
                                 tiling.depth, width, srcFree, srcDepth);
    return emitCopy(dte, l1Address(target), l3Address(addressOf(operand, position.at, depth)),
                    std::move(copy), shape.type, operand.type);
  }
  // From the panel in L2, which has the tile's layout with longer rows.
  int64_t grid = isLhs ? tiling.gridRows : tiling.gridCols,
          chunkDepth = tiling.chunk * tiling.depth;
  Expr place = isLhs ? dte.index(Expr::instance(), tiling.gridCols)
                     : dte.index(Expr::instance(), 1, tiling.gridCols);
  int64_t srcFree = operand.depthOutside ? width : chunkDepth * width;
  int64_t srcDepth = operand.depthOutside ? grid * freeTile * width : width;
  Expr source = panel + place * (freeTile * srcFree) + inChunk * (tiling.depth * srcDepth);
  emitCopy(dte, l1Address(target), l2Address(source),
           operandCopy(operand.depthOutside, free, depth.back().size, freeTile, tiling.depth, width,
                       srcFree, srcDepth),
           shape.type, shape.type);
}

void MatmulKernel::loadStep(const TilePosition &position, const Expr &order, const Expr &step,
                            const Expr &inChunk, const Expr &panelSlot) {
  StreamBuilder &dte = builder.dte;
  StreamBuilder::Scope scope(dte);
  SmallVector<Range> depth = depthOf(dte, step);
  Expr slot = stepSlot(dte, order, step, 1);
  dte.wait(builder.semaphore(Sem::Empty));
  loadOperand(shape.lhs, true, position, depth, slot * lhsBytes + lhsStart, inChunk, panelSlot);
  for (auto [index, rhs] : llvm::enumerate(shape.rhs))
    loadOperand(rhs, false, position, depth,
                slot * (products() * rhsBytes) + (rhsStart + int64_t(index) * rhsBytes), inChunk,
                panelSlot + rhsPanelStart(index));
  dte.signal(builder.semaphore(Sem::Full));
}

/// Copies this worker's share of a chunk of one operand from L3 to L2.
void MatmulKernel::stageOperand(const MatmulOperand &operand, bool isLhs, ArrayRef<Expr> blockStart,
                                const Expr &chunkStart, const Expr &panel) {
  StreamBuilder &dte = builder.dte;
  StreamBuilder::Scope scope(dte);
  int group = isLhs ? shape.rowGroup : shape.colGroup;
  int64_t freeSize = group < 0 ? 1 : space.getSize(unsigned(group)), depthSize = shape.innerDepth();
  int64_t panelFree = isLhs ? tiling.gridRows * tiling.rows : tiling.gridCols * tiling.cols;
  int64_t panelDepth = tiling.chunk * tiling.depth;
  SmallVector<Expr> at(blockStart);
  Expr depthStart = chunkStart;
  int64_t freeShare = panelFree, depthShare = panelDepth, outerBytes;
  Expr share = Expr::instance();
  if (operand.depthOutside) {
    depthShare = panelDepth / builder.workers();
    depthStart += share * depthShare;
    outerBytes = depthShare * panelFree * width;
  } else {
    freeShare = panelFree / builder.workers();
    if (group >= 0)
      at[group] += share * freeShare;
    outerBytes = freeShare * panelDepth * width;
  }
  int64_t bytes = hw::byteWidth(operand.type);
  hw::Extent free = group < 0
                        ? hw::Extent{1, hw::kZero, 0}
                        : dte.extent(freeShare, at[group], freeSize, freeSize % panelFree == 0);
  hw::Extent depth = dte.extent(depthShare, depthStart, depthSize, depthSize % panelDepth == 0);
  CopyShape copy = operandCopy(operand.depthOutside, free, depth, panelFree, panelDepth, width,
                               group < 0 ? 0 : operand.strides[group] * bytes,
                               operand.depth.empty() ? 0 : operand.depth.back() * bytes);
  Expr source = addressOf(operand, at, Range{depthStart, depth});
  emitCopy(dte, l2Address(panel + share * outerBytes), l3Address(source), std::move(copy),
           shape.type, operand.type);
}

void MatmulKernel::stageChunk(ArrayRef<Expr> blockStart, const Expr &chunk, const Expr &panelSlot) {
  Expr chunkStart = chunk * (tiling.chunk * tiling.depth);
  if (tiling.sharesLhs())
    stageOperand(shape.lhs, true, blockStart, chunkStart, panelSlot);
  if (tiling.sharesRhs())
    for (auto [index, rhs] : llvm::enumerate(shape.rhs))
      stageOperand(rhs, false, blockStart, chunkStart, panelSlot + rhsPanelStart(index));
  // After the barrier all shares have arrived. A queue overwrites this half of L2 only after the
  // next barrier, which all queues reach after their loads from it.
  builder.barrierOfQueues();
}

void MatmulKernel::loadEpilogue(TilePosition position, const Expr &order) {
  if (phase.inputs.empty())
    return;
  position.slot = builder.dte.index(order, 1, tiling.resultSlots);
  for (int input : phase.inputs)
    emitter.load(builder.dte, 0, input, position);
  builder.dte.signal(builder.semaphore(Sem::Epilogue));
}

void MatmulKernel::storeBlock(const Expr &block) {
  StreamBuilder &dte = builder.dte;
  StreamBuilder::Scope scope(dte);
  TilePosition position = positionOf(dte, block);
  position.slot = dte.index(ordinal(dte, block), 1, tiling.resultSlots);
  dte.wait(builder.semaphore(Sem::Done));
  for (int output : phase.outputs)
    emitter.store(dte, 0, output, position);
  dte.signal(builder.semaphore(Sem::Free));
}

/// All steps of a block. After the first step, when the core has work, the previous block is stored
/// and the epilogue's operands are loaded.
void MatmulKernel::emitBlockLoads(const TilePosition &position, ArrayRef<Expr> blockStart,
                                  const Expr &block, const Expr &order) {
  StreamBuilder &dte = builder.dte;
  auto loadAt = [&](const Expr &step, const Expr &inChunk, const Expr &panelSlot) {
    loadStep(position, order, step, inChunk, panelSlot);
    dte.when(step, 1, [&](Expr) {
      dte.when(0, order, [&](Expr) { storeBlock(block - stride()); });
      loadEpilogue(position, order);
    });
  };
  if (panels == 0)
    return dte.loop(0, steps, 1, [&](Expr step) { loadAt(step, 0, 0); });
  int64_t chunks = llvm::divideCeil(steps, tiling.chunk);
  dte.loop(0, chunks, 1, [&](Expr chunk) {
    Expr number = chunks % 2 == 0 ? chunk : order * chunks + chunk;
    Expr panelSlot = dte.index(number, 1, 2, panels);
    stageChunk(blockStart, chunk, panelSlot);
    Expr firstStep = chunk * tiling.chunk;
    dte.loop(0, tiling.chunk, 1, [&](Expr inChunk) {
      if (steps % tiling.chunk == 0)
        return loadAt(firstStep + inChunk, inChunk, panelSlot);
      dte.when(firstStep + inChunk, steps, [&](Expr step) { loadAt(step, inChunk, panelSlot); });
    });
  });
}

void MatmulKernel::emitQueue() {
  StreamBuilder &dte = builder.dte;
  dte.loop(first(), blocks, stride(), [&](Expr block) {
    SmallVector<Expr> blockStart;
    TilePosition position = positionOf(dte, block, &blockStart);
    emitBlockLoads(position, blockStart, block, ordinal(dte, block));
  });
  dte.when(first(), blocks, [&](Expr start) {
    storeBlock(dte.index(Expr(blocks - 1) - start, stride(), 0, stride()) + start);
  });
  // The core has emptied all buffers, so the next kernel may use them.
  dte.wait(builder.semaphore(Sem::Empty), 2);
}

// ---- core -------------------------------------------------------------------------------------

void MatmulKernel::multiply(const TilePosition &position, const Expr &order, const Expr &step) {
  StreamBuilder &core = builder.core;
  StreamBuilder::Scope scope(core);
  hw::Extent depth = depthOf(core, step).back().size;
  Expr slot = stepSlot(core, order, step, 1);
  hw::Matmul matmul;
  matmul.type = shape.type;
  for (hw::Address *address : {&matmul.a, &matmul.b, &matmul.c})
    address->space = hw::Space::L1;
  matmul.a.offset = (slot * lhsBytes + lhsStart).toAffine();
  matmul.m = position.rows;
  matmul.n = position.cols;
  matmul.k = depth;
  matmul.transposeA = shape.lhs.depthOutside;
  matmul.transposeB = !shape.rhs.front().depthOutside;
  matmul.lda = matmul.transposeA ? tiling.rows : tiling.depth;
  matmul.ldb = matmul.transposeB ? tiling.depth : tiling.cols;
  matmul.ldc = tiling.cols;
  if (!step.isConstant())
    matmul.accumulateReg = core.toRegister(step);
  core.wait(builder.semaphore(Sem::Full));
  for (auto [index, accumulator] : llvm::enumerate(accumulators)) {
    matmul.b.offset =
        (slot * (products() * rhsBytes) + (rhsStart + int64_t(index) * rhsBytes)).toAffine();
    matmul.c.offset = storage.offset(0, accumulator, position.slot).toAffine();
    core.emit(hw::Matmul(matmul));
  }
  core.signal(builder.semaphore(Sem::Empty));
}

void MatmulKernel::emitCore() {
  StreamBuilder &core = builder.core;
  core.signal(builder.semaphore(Sem::Empty), 2);
  core.signal(builder.semaphore(Sem::Free), tiling.resultSlots);
  core.loop(first(), blocks, stride(), [&](Expr block) {
    TilePosition position = positionOf(core, block);
    Expr order = ordinal(core, block);
    position.slot = core.index(order, 1, tiling.resultSlots);
    core.wait(builder.semaphore(Sem::Free));
    core.loop(0, steps, 1, [&](Expr step) { multiply(position, order, step); });
    if (!phase.inputs.empty())
      core.wait(builder.semaphore(Sem::Epilogue));
    for (int op : phase.ops)
      emitter.compute(core, 0, op, position);
    core.signal(builder.semaphore(Sem::Done));
  });
  core.wait(builder.semaphore(Sem::Free), tiling.resultSlots);
}

void MatmulKernel::emit(const KernelContext &context) {
  StreamBuilder::Scope dteScope(builder.dte), coreScope(builder.core);
  layOut();
  for (const Placement &place : context.inputs)
    emitter.argumentBases.push_back(baseOf(builder.dte, place));
  for (const Placement &place : context.results)
    emitter.resultBases.push_back(baseOf(builder.dte, place));
  TilePosition origin;
  origin.at.assign(space.getNumGroups(), Expr(0));
  origin.rows = {storage.getShape().rows, hw::kZero, 0};
  origin.cols = {storage.getShape().cols, hw::kZero, 0};
  auto work = [&] {
    emitter.prepare(builder, phase.ops, origin);
    emitQueue();
    emitCore();
  };
  if (tiling.isShared() || blocks >= builder.workers())
    return work();
  builder.dte.when(Expr::instance(), blocks, [&](Expr) {
    builder.core.when(Expr::instance(), blocks, [&](Expr) { work(); });
  });
}

// ---- entry ------------------------------------------------------------------------------------

static MatmulEpilogue epilogueOf(const TileProgram &program, const TilePhase &phase,
                                 const TileShape &tile) {
  MatmulEpilogue epilogue;
  auto moved = [&](hw::DType type, GroupSet groups, ArrayRef<int64_t> strides) {
    const int64_t width = hw::byteWidth(type);
    auto stride = [&](int group) { return group < 0 ? 0 : strides[group] * width; };
    return MatmulEpilogue::Moved{width, tile.hasRows(groups), tile.hasCols(groups),
                                 stride(tile.rowGroup), stride(tile.colGroup)};
  };
  for (int op : phase.ops)
    ++(hw::isTranscendental(program.ops[op].op) ? epilogue.transcendentals : epilogue.ops);
  for (int input : phase.inputs)
    epilogue.loads.push_back(moved(program.values[input].type, program.values[input].groups,
                                   program.values[input].strides));
  for (int output : phase.outputs)
    epilogue.stores.push_back(moved(program.outputs[output].ref.type,
                                    program.outputs[output].groups,
                                    program.outputs[output].strides));
  return epilogue;
}

LogicalResult mlir::dtu::emitMatmulKernel(KernelContext &context) {
  Operation *op = context.body.getParentOp();
  IterationSpace space;
  FailureOr<MatmulShape> shape = analyzeMatmul(context.body, space);
  if (failed(shape))
    return failure();
  SmallVector<Value> products;
  for (stablehlo::DotGeneralOp dot : shape->ops)
    products.push_back(dot.getResult());
  FailureOr<TileProgram> program = TileProgram::build(context.body, space, products);
  if (failed(program))
    return failure();
  if (program->getNumLevels() > 0)
    return op->emitOpError(
        "reduces the result of its product, which is not supported by the DTU backend");
  // Every value that is not a scalar advances with the result tiles; for a product of one element,
  // every value that is not a constant does.
  program->setRates(~GroupSet(0), 0);
  if (space.getNumGroups() == 0)
    for (TileValue &value : program->values)
      if (value.kind != TileValue::Kind::Constant)
        value.rate = Rate::Step;
  TilePhase phase;
  for (auto [index, tileOp] : llvm::enumerate(program->ops))
    if (program->values[tileOp.dst].rate == Rate::Step)
      phase.ops.push_back(index);
  for (auto [index, value] : llvm::enumerate(program->values))
    if (value.kind == TileValue::Kind::Input && value.rate == Rate::Step)
      phase.inputs.push_back(index);
  for (unsigned index = 0; index < program->outputs.size(); ++index)
    phase.outputs.push_back(index);

  TileShape tile{shape->rowGroup, shape->colGroup, 1, 1};
  auto assigned = [&](unsigned slots) {
    TileStorage storage(*program, slots);
    return storage.assign(phase, tile) ? std::optional<TileStorage>(storage) : std::nullopt;
  };
  std::optional<TileStorage> storages[] = {assigned(1), assigned(2)};
  if (!storages[0])
    return op->emitOpError("has more constants than a core's scalar area can hold");
  MatmulEpilogue epilogue = epilogueOf(*program, phase, tile);
  epilogue.bytes = [&](unsigned slots, int64_t rows, int64_t cols) {
    return storages[slots - 1]->bytes({shape->rowGroup, shape->colGroup, rows, cols});
  };
  std::optional<MatmulTiling> tiling = context.tilings.choose(getSizes(*shape, space), epilogue);
  if (!tiling)
    return op->emitOpError("does not fit the memory of a core, ")
           << context.builder.machine.l1Bytes << " bytes";
  TileStorage &storage = *storages[tiling->resultSlots - 1];
  tile.rows = tiling->rows;
  tile.cols = tiling->cols;
  storage.place(tile);
  if (tiling->isShared())
    context.claimL2();
  MatmulKernel(context.builder, *shape, *tiling, space, *program, storage, phase).emit(context);
  return success();
}
