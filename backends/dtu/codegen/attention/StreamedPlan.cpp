#include "backends/dtu/codegen/attention/StreamedKernel.h"
#include "backends/dtu/codegen/kernels/LoopPlan.h"
#include "backends/dtu/isa/Names.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dtu;

static int64_t align(int64_t bytes) { return llvm::alignTo(bytes, kBufferAlignment); }

/// Returns true if two products read the same matrix in the same form.
static bool readSameMatrix(const AttentionProduct &a, const AttentionProduct &b) {
  const StreamedMatrix &left = a.matrix, &right = b.matrix;
  return a.type == b.type && left.argument == right.argument && left.offset == right.offset &&
         left.strides == right.strides && left.width == right.width &&
         left.widthStride == right.widthStride && left.streamInside == right.streamInside;
}

static bool readsValue(const TileProgram &program, const TilePhase &pass, int value) {
  return llvm::any_of(pass.ops, [&](int op) {
    return llvm::any_of(program.ops[op].sources,
                        [&](const TileRef &source) { return source.value == value; });
  });
}

/// The last outputs of the row program are operands of products.
static void collectPassesOf(FusedAttention &fused, StreamedPlan &plan) {
  const GroupSet streamed = GroupSet(1) << fused.streamed;
  setPassRates(fused.program, streamed, ~streamed);
  plan.passes = collectPasses(fused.program, streamed);
  for (TilePhase &pass : plan.passes) {
    SmallVector<int> stored;
    for (int output : pass.outputs) {
      if (static_cast<size_t>(output) < fused.stored.size())
        stored.push_back(output);
      else
        pass.kept.push_back(fused.program.outputs[output].ref.value);
    }
    pass.outputs = std::move(stored);
  }
  mergeSoftmaxPasses(fused, plan);
  for (TilePhase &pass : plan.passes) {
    SmallVector<unsigned> &producers = plan.producers.emplace_back();
    for (auto [index, product] : llvm::enumerate(fused.producers))
      if (readsValue(fused.program, pass, product.value))
        producers.push_back(index);
  }
}

/// The L1 layout for the given numbers of parallel and of streamed elements.
static AttentionTiling layOut(FusedAttention &fused, const TileStorage &storage, int64_t rows,
                              int64_t block) {
  AttentionTiling tiling;
  tiling.rows = rows;
  tiling.block = block;
  tiling.end = storage.bytes({fused.parallel, fused.streamed, rows, block});
  auto take = [&](int64_t bytes) {
    int64_t start = tiling.end;
    tiling.end += align(bytes);
    return start;
  };
  for (const AttentionProduct &product : fused.producers)
    tiling.rowOperands.push_back(take(rows * product.matrix.width * hw::byteWidth(product.type)));
  for (const AttentionProduct &product : fused.consumers) {
    int64_t elements = rows * product.matrix.width;
    tiling.results.push_back(take(elements * hw::byteWidth(hw::DType::F32)));
    bool isRounded = product.resultType != hw::DType::F32;
    tiling.rounded.push_back(isRounded ? take(elements * hw::byteWidth(product.resultType))
                                       : tiling.results.back());
  }
  SmallVector<AttentionProduct *> products = getProducts(fused);
  for (auto [index, product] : llvm::enumerate(products)) {
    auto earlier = ArrayRef(products).take_front(index);
    const auto *same = llvm::find_if(earlier, [&, product = product](AttentionProduct *other) {
      return readSameMatrix(*product, *other);
    });
    if (same != earlier.end()) {
      tiling.matrices.push_back(tiling.matrices[same - earlier.begin()]);
      continue;
    }
    tiling.matrices.push_back(tiling.blockBytes);
    tiling.blockBytes += align(block * product->matrix.width * hw::byteWidth(product->type));
  }
  tiling.blocks = take(2 * tiling.blockBytes);
  return tiling;
}

namespace {
/// Estimated nanoseconds of a block in a pass.
struct BlockTime {
  double compute = 0, load = 0;
};
} // namespace

static BlockTime estimateBlock(FusedAttention &fused, const StreamedPlan &plan, size_t pass,
                               const AttentionTiling &tiling, const Machine &machine) {
  BlockTime time{2 * machine.syncTime, 0};
  double bytes = 0;
  auto add = [&](const AttentionProduct &product, int64_t made, int64_t depth) {
    int64_t width = hw::byteWidth(product.type);
    time.compute += machine.matmulTime(tiling.rows, made, depth, width == 2);
    bytes += double(tiling.block * product.matrix.width * width);
  };
  for (unsigned producer : plan.producers[pass])
    add(fused.producers[producer], tiling.block, fused.producers[producer].matrix.width);
  if (plan.multiplies(pass))
    for (const AttentionProduct &product : fused.consumers)
      add(product, product.matrix.width, tiling.block);
  for (int index : plan.passes[pass].ops) {
    const TileOp &op = fused.program.ops[index];
    bool ofTile = op.groups >> fused.streamed & 1;
    time.compute +=
        machine.vectorTime(ofTile ? tiling.rows : 1, ofTile ? tiling.block : tiling.rows, 4,
                           hw::isTranscendental(op.op));
  }
  for (size_t consumer = 0; consumer < plan.rescales.size(); ++consumer)
    time.compute +=
        machine.vectorTime(tiling.rows, fused.consumers[consumer].matrix.width, 4, false);
  time.load = machine.dteLatency + 4 * machine.syncTime + bytes / machine.dteRate;
  return time;
}

/// Estimated nanoseconds of the items of one iteration of the outer loops. A block is computed
/// while the next one arrives. If one worker needs a block, all workers load it.
static double estimate(FusedAttention &fused, const StreamedPlan &plan,
                       const AttentionTiling &tiling, const Machine &machine) {
  const int64_t rows = fused.space.getSize(unsigned(fused.parallel)),
                length = fused.space.getSize(unsigned(fused.streamed)),
                rowTile = tiling.rows * machine.workers;
  const mlir::st::DiagonalBand band =
      fused.parallel < fused.streamed ? fused.band : fused.band.transpose();
  auto countBlocks = [&](int64_t tile) {
    auto visible = band.countTiles(rows, tile, length, tiling.block);
    return visible ? static_cast<double>(*visible) / double(llvm::divideCeil(rows, tile))
                   : static_cast<double>(llvm::divideCeil(length, tiling.block));
  };
  // Under a causal mask, one worker computes all blocks of an item and the others wait for it.
  // Under a sliding window, each worker computes some of the blocks.
  const double shared = countBlocks(rowTile),
               own = band.hasFirst() && band.hasLast() ? countBlocks(tiling.rows) : shared;
  // An item starts by loading its operands and ends by storing its results.
  double time = 4 * machine.dteLatency;
  for (size_t pass = 0; pass < plan.passes.size(); ++pass) {
    if (plan.isIdle(pass))
      continue;
    BlockTime block = estimateBlock(fused, plan, pass, tiling, machine);
    time += std::max(own * block.compute, shared * block.load);
  }
  return static_cast<double>(llvm::divideCeil(rows, rowTile)) * time;
}

llvm::Expected<StreamedPlan> mlir::dtu::planStreamed(FusedAttention &fused, TileStorage &storage,
                                                     const Machine &machine) {
  constexpr int64_t kMaxRows = 128, kMaxBlock = 512;
  StreamedPlan plan;
  collectPassesOf(fused, plan);
  if (!storage.assign(plan.passes, {fused.parallel, fused.streamed, 1, 1}))
    return llvm::createStringError("has more constants than a core's scalar area can hold");
  const int64_t rows = fused.space.getSize(unsigned(fused.parallel)),
                length = fused.space.getSize(unsigned(fused.streamed)),
                share = llvm::divideCeil(rows, machine.workers),
                longest = llvm::alignTo(std::min(kMaxBlock, length), machine.workers);
  double bestTime = 0;
  for (int64_t tileRows = 1; tileRows <= std::min(kMaxRows, share); ++tileRows)
    for (int64_t block = machine.workers; block <= longest; block += machine.workers) {
      AttentionTiling tiling = layOut(fused, storage, tileRows, block);
      if (tiling.end > machine.l1Bytes)
        break;
      double time = estimate(fused, plan, tiling, machine);
      if (plan.tiling.rows != 0 && time >= bestTime)
        continue;
      plan.tiling = tiling;
      bestTime = time;
    }
  if (plan.tiling.rows == 0)
    return llvm::createStringError("does not fit the memory of a core, " + Twine(machine.l1Bytes) +
                                   " bytes");
  storage.place({fused.parallel, fused.streamed, plan.tiling.rows, plan.tiling.block});
  return plan;
}
