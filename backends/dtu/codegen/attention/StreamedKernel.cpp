// Kernels of kind "attention" whose rows do not fit L1.
//
// Every worker has some elements of the parallel dimension: rows, or columns for products that
// contract the rows. The other dimension streams: for each item of work, the code passes over all
// its blocks once for each level of reductions, and recomputes the products of a block in each
// pass. Row statistics stay in L1 between passes. The last pass multiplies the blocks with further
// matrices and adds up the results.
//
// All workers need the same blocks of the matrices. Each queue loads a share of a block for all
// cores: the queues synchronise before, when all cores have finished with that half of the double
// buffer, and after, when all shares have arrived. A core skips blocks that a mask hides from all
// of its elements.
#include "backends/dtu/codegen/attention/StreamedKernel.h"
#include "backends/dtu/codegen/attention/AttentionCode.h"

#include "llvm/Support/Error.h"

using namespace mlir;
using namespace mlir::dtu;

namespace {
class StreamedKernel : AttentionCode {
public:
  StreamedKernel(ProgramBuilder &builder, const FusedAttention &fused, const StreamedPlan &plan,
                 const TileStorage &storage);
  void emit(const KernelContext &context);

private:
  const StreamedPlan &plan;
  int64_t size, length;         // of the parallel and the streamed dimension
  mlir::st::DiagonalBand band;  // of streamed minus parallel elements
  Expr queueBlocks, coreBlocks; // the number of blocks that each stream has passed

  /// A pass over the blocks of an item.
  struct Pass {
    size_t index;
    Blocks range;
    Expr parity; // of the number of blocks before it
  };
  Pass startPass(StreamBuilder &stream, size_t index, const Blocks &range) const;
  Blocks sharedBlocks(StreamBuilder &stream, const Expr &item) const;
  TilePosition atBlock(StreamBuilder &stream, const TilePosition &position, const Pass &pass,
                       const Expr &block) const;
  bool isItemOutput(unsigned output) const {
    return !(fused.program.outputs[output].groups >> fused.streamed & 1);
  }
  Expr matrixAddress(size_t product, const TilePosition &part) const {
    return part.slot * tiling.blockBytes + (tiling.blocks + tiling.matrices[product]);
  }

  void emitQueue();
  void loadItem(const TilePosition &position);
  void loadBlock(const Pass &pass, const TilePosition &position, const Expr &block);
  void loadMatrices(const Pass &pass, const TilePosition &part, const Expr &start);
  void emitQueuePass(const Pass &pass, const TilePosition &position);
  void storeItem(const TilePosition &position);

  void emitCore();
  void emitCorePass(const Pass &pass, const TilePosition &position, const Blocks &own);
  void computeBlock(const Pass &pass, const TilePosition &part, const Expr &block,
                    const Expr &first);
  void scaleResult(size_t consumer, int value, const TilePosition &position);
  hw::Matmul makeProduct(const AttentionProduct &product, size_t number,
                         const TilePosition &part) const;
};
} // namespace

StreamedKernel::StreamedKernel(ProgramBuilder &builder, const FusedAttention &fused,
                               const StreamedPlan &plan, const TileStorage &storage)
    : AttentionCode(builder, fused, plan.tiling, storage), plan(plan),
      size(fused.space.getSize(unsigned(fused.parallel))),
      length(fused.space.getSize(unsigned(fused.streamed))) {
  mlir::st::DiagonalBand ofParallel =
      fused.parallel < fused.streamed ? fused.band : fused.band.transpose();
  // Every core needs a block that initialises its sums.
  if (ofParallel.countTiles(size, tiling.rows, length, tiling.block))
    band = ofParallel;
}

/// The blocks that some worker needs for an item, the same for all workers: they load together.
AttentionCode::Blocks StreamedKernel::sharedBlocks(StreamBuilder &stream, const Expr &item) const {
  const TileDigit &rows = digits.back();
  Expr first = band.isAll() ? Expr(0) : stream.index(item, 1, rows.count, rows.tile);
  return getBlocks(stream, band, first, rows.tile, length, tiling.block);
}

StreamedKernel::Pass StreamedKernel::startPass(StreamBuilder &stream, size_t index,
                                               const Blocks &range) const {
  const Expr &blocks = &stream == &builder.core ? coreBlocks : queueBlocks;
  return {index, range, stream.index(blocks, 1, 2)};
}

TilePosition StreamedKernel::atBlock(StreamBuilder &stream, const TilePosition &position,
                                     const Pass &pass, const Expr &block) const {
  TilePosition part = position;
  part.slot = stream.index(pass.parity + block - pass.range.begin, 1, 2);
  part.at[fused.streamed] = stream.materialize(block * tiling.block);
  part.cols =
      stream.extent(tiling.block, part.at[fused.streamed], length, length % tiling.block == 0);
  return part;
}

// ---- queue ------------------------------------------------------------------------------------

/// Loads the values that a worker keeps during an item. The core has finished the previous one.
void StreamedKernel::loadItem(const TilePosition &position) {
  StreamBuilder &dte = builder.dte;
  loadRowOperands(position);
  for (auto [index, value] : llvm::enumerate(fused.program.values))
    if (value.rate == Rate::Item && value.kind == TileValue::Kind::Input)
      emitter.load(dte, 0, static_cast<int>(index), position);
  dte.signal(builder.semaphore(Sem::Epilogue));
}

/// Loads a share of each matrix of a pass; products may read the same one.
void StreamedKernel::loadMatrices(const Pass &pass, const TilePosition &part, const Expr &start) {
  SmallVector<int64_t> loaded;
  auto load = [&](const AttentionProduct &product, size_t number) {
    if (llvm::is_contained(loaded, tiling.matrices[number]))
      return;
    loaded.push_back(tiling.matrices[number]);
    StreamBuilder::Scope scope(builder.dte);
    TilePosition place = part;
    place.at[fused.streamed] = 0;
    loadShare(product, place, start, tiling.block, matrixAddress(number, part));
  };
  for (unsigned producer : plan.producers[pass.index])
    load(fused.producers[producer], producer);
  if (plan.multiplies(pass.index))
    for (auto [index, product] : llvm::enumerate(fused.consumers))
      load(product, fused.producers.size() + index);
}

void StreamedKernel::loadBlock(const Pass &pass, const TilePosition &position, const Expr &block) {
  StreamBuilder &dte = builder.dte;
  StreamBuilder::Scope scope(dte);
  TilePosition part = atBlock(dte, position, pass, block);
  dte.wait(builder.semaphore(Sem::Empty));
  builder.barrierOfQueues();
  loadMatrices(pass, part, part.at[fused.streamed]);
  for (int input : plan.passes[pass.index].inputs)
    emitter.load(dte, pass.index, input, part);
  builder.barrierOfQueues();
  dte.signal(builder.semaphore(Sem::Full));
  dte.count(queueBlocks);
}

void StreamedKernel::emitQueuePass(const Pass &pass, const TilePosition &position) {
  StreamBuilder &dte = builder.dte;
  const TilePhase &phase = plan.passes[pass.index];
  const Expr &begin = pass.range.begin, &end = pass.range.end;
  if (phase.outputs.empty())
    return dte.loop(begin, end, 1, [&](Expr block) { loadBlock(pass, position, block); });
  // The next block arrives while the core computes one, whose values are stored then.
  dte.when(begin, end, [&](Expr block) { loadBlock(pass, position, block); });
  dte.loop(begin, end, 1, [&](Expr block) {
    StreamBuilder::Scope scope(dte);
    dte.when(block + 1, end, [&](Expr next) { loadBlock(pass, position, next); });
    TilePosition part = atBlock(dte, position, pass, block);
    dte.wait(builder.semaphore(Sem::Done));
    for (int output : phase.outputs)
      emitter.store(dte, pass.index, output, part);
  });
}

void StreamedKernel::storeItem(const TilePosition &position) {
  StreamBuilder &dte = builder.dte;
  dte.wait(builder.semaphore(Sem::Done));
  for (unsigned output = 0; output < fused.stored.size(); ++output)
    if (isItemOutput(output))
      emitter.store(dte, 0, static_cast<int>(output), position);
  for (auto [product, from] : llvm::zip_equal(fused.consumers, tiling.rounded)) {
    StreamBuilder::Scope scope(dte);
    storeResult(product, position.rows, product.resultStrides[fused.parallel], position, from);
  }
}

void StreamedKernel::emitQueue() {
  StreamBuilder &dte = builder.dte;
  queueBlocks = dte.counter();
  dte.loop(0, items, 1, [&](Expr item) {
    StreamBuilder::Scope scope(dte);
    TilePosition position = positionOf(dte, item);
    loadItem(position);
    Blocks range = sharedBlocks(dte, item);
    for (size_t index = 0; index < plan.passes.size(); ++index) {
      if (plan.isIdle(index))
        continue;
      StreamBuilder::Scope passScope(dte);
      emitQueuePass(startPass(dte, index, range), position);
    }
    storeItem(position);
  });
  // The cores have emptied all buffers, so the next kernel may use them.
  dte.wait(builder.semaphore(Sem::Empty), 2);
}

// ---- core -------------------------------------------------------------------------------------

/// The instruction without the fields that differ between products before and after the row work.
hw::Matmul StreamedKernel::makeProduct(const AttentionProduct &product, size_t number,
                                       const TilePosition &part) const {
  hw::Matmul matmul;
  matmul.type = product.type;
  for (hw::Address *address : {&matmul.a, &matmul.b, &matmul.c})
    address->space = hw::Space::L1;
  matmul.b.offset = matrixAddress(number, part).toAffine();
  matmul.ldb = product.matrix.streamInside ? tiling.block : product.matrix.width;
  matmul.m = part.rows;
  return matmul;
}

/// Multiplies the rows of a result by a row value.
void StreamedKernel::scaleResult(size_t consumer, int value, const TilePosition &position) {
  const int64_t width = fused.consumers[consumer].matrix.width;
  hw::Vector vector;
  vector.op = hw::VectorOp::Mul;
  for (hw::TileOperand *operand : {&vector.dst, &vector.src[0], &vector.src[1]}) {
    operand->address.space = hw::Space::L1;
    operand->address.offset = Expr(tiling.results[consumer]).toAffine();
    operand->type = hw::DType::F32;
    operand->rowStride = width;
    operand->colStride = 1;
  }
  vector.src[1].address.offset = storage.offset(0, value, 0).toAffine();
  vector.src[1].rowStride = 1;
  vector.src[1].colStride = 0;
  vector.rows = position.rows;
  vector.cols = {width, hw::kZero, 0};
  builder.core.emit(std::move(vector));
}

/// Computes a block; `first`: the first one that this core computes.
void StreamedKernel::computeBlock(const Pass &pass, const TilePosition &part, const Expr &block,
                                  const Expr &first) {
  StreamBuilder &core = builder.core;
  StreamBuilder::Scope scope(core);
  const TilePhase &phase = plan.passes[pass.index];
  auto tileOf = [&](const AttentionProduct &product) {
    return storage.offset(pass.index, product.value, part.slot).toAffine();
  };
  for (unsigned producer : plan.producers[pass.index]) {
    const AttentionProduct &product = fused.producers[producer];
    hw::Matmul matmul = makeProduct(product, producer, part);
    matmul.a.offset = Expr(tiling.rowOperands[producer]).toAffine();
    matmul.c.offset = tileOf(product);
    matmul.n = part.cols;
    matmul.k = {product.matrix.width, hw::kZero, 0};
    matmul.lda = product.matrix.width;
    matmul.ldc = tiling.block;
    matmul.transposeB = !product.matrix.streamInside;
    core.emit(std::move(matmul));
  }
  for (int op : phase.ops)
    emitter.compute(core, pass.index, op, part, fused.program.ops[op].reduction.has_value());
  if (!plan.multiplies(pass.index))
    return;
  for (auto [index, product] : llvm::enumerate(fused.consumers)) {
    hw::Matmul matmul = makeProduct(product, fused.producers.size() + index, part);
    matmul.a.offset = tileOf(product);
    matmul.c.offset = Expr(tiling.results[index]).toAffine();
    matmul.n = {product.matrix.width, hw::kZero, 0};
    matmul.k = part.cols;
    matmul.lda = tiling.block;
    matmul.ldc = product.matrix.width;
    matmul.transposeB = product.matrix.streamInside;
    if (!plan.rescales.empty())
      scaleResult(index, plan.rescales[index].scale, part);
    if (Expr number = block - first; !number.isConstant())
      matmul.accumulateReg = core.toRegister(number);
    core.emit(std::move(matmul));
  }
}

void StreamedKernel::emitCorePass(const Pass &pass, const TilePosition &position,
                                  const Blocks &own) {
  StreamBuilder &core = builder.core;
  const TilePhase &phase = plan.passes[pass.index];
  for (int op : phase.ops)
    if (fused.program.ops[op].reduction)
      emitter.clear(core, pass.index, op, position);
  core.loop(pass.range.begin, pass.range.end, 1, [&](Expr block) {
    StreamBuilder::Scope scope(core);
    TilePosition part = atBlock(core, position, pass, block);
    core.wait(builder.semaphore(Sem::Full));
    auto compute = [&](Expr) { computeBlock(pass, part, block, own.begin); };
    if (band.isAll())
      compute(block);
    else
      core.when(own.begin, block + 1, [&](Expr) { core.when(block, own.end, compute); });
    if (!phase.outputs.empty())
      core.signal(builder.semaphore(Sem::Done));
    core.signal(builder.semaphore(Sem::Empty));
    core.count(coreBlocks);
  });
}

void StreamedKernel::emitCore() {
  StreamBuilder &core = builder.core;
  core.signal(builder.semaphore(Sem::Empty), 2);
  coreBlocks = core.counter();
  core.loop(0, items, 1, [&](Expr item) {
    StreamBuilder::Scope scope(core);
    TilePosition position = positionOf(core, item);
    Blocks range = sharedBlocks(core, item);
    Blocks own = range;
    if (!band.isAll())
      own = getBlocks(core, band, position.at[fused.parallel], tiling.rows, length, tiling.block);
    // The previous item is stored and the operands of this one have arrived.
    core.wait(builder.semaphore(Sem::Epilogue));
    for (auto [index, op] : llvm::enumerate(fused.program.ops)) {
      const TileValue &value = fused.program.values[op.dst];
      if (!op.reduction && value.rate == Rate::Item && value.level == 0)
        emitter.compute(core, 0, static_cast<int>(index), position);
    }
    for (auto [index, phase] : llvm::enumerate(plan.passes)) {
      StreamBuilder::Scope passScope(core);
      if (!plan.isIdle(index))
        emitCorePass(startPass(core, index, range), position, own);
      for (int op : phase.itemOps)
        emitter.compute(core, index, op, position);
    }
    for (auto [index, rescale] : llvm::enumerate(plan.rescales))
      if (rescale.inverse >= 0)
        scaleResult(index, rescale.inverse, position);
    for (auto [product, from, to] :
         llvm::zip_equal(fused.consumers, tiling.results, tiling.rounded))
      round(product, position.rows, from, to);
    core.signal(builder.semaphore(Sem::Done));
  });
}

// ---- the kernel -------------------------------------------------------------------------------

void StreamedKernel::emit(const KernelContext &context) {
  StreamBuilder::Scope dteScope(builder.dte), coreScope(builder.core);
  setBases(context);
  builder.useL1(tiling.end);
  TilePosition origin;
  origin.at.assign(fused.space.getNumGroups(), Expr(0));
  origin.rows = {tiling.rows, hw::kZero, 0};
  origin.cols = {tiling.block, hw::kZero, 0};
  SmallVector<int> stepOps;
  for (const TilePhase &pass : plan.passes)
    llvm::append_range(stepOps, pass.ops);
  emitter.prepare(builder, stepOps, origin);
  emitQueue();
  emitCore();
}

LogicalResult mlir::dtu::emitStreamedKernel(KernelContext &context, FusedAttention &fused) {
  TileStorage storage(fused.program, /*slots=*/2, /*slotsHoldProducts=*/false);
  llvm::Expected<StreamedPlan> plan = planStreamed(fused, storage, context.builder.machine);
  if (!plan)
    return context.body.getParentOp()->emitOpError(llvm::toString(plan.takeError()));
  StreamedKernel(context.builder, fused, *plan, storage).emit(context);
  return success();
}
