#include "backends/cuda/codegen/attention/CrossingProduct.h"

using namespace mlir;
using namespace mlir::cuda;

static constexpr int64_t kWarp = 32, kQuad = 4, kColumns = 8, kNumbers = 4;
/// f32 numbers in an access of 16 bytes.
static constexpr int64_t kAccess = 4;

namespace {
class CrossingEmitter {
public:
  CrossingEmitter(CrossingWriter writer, const AttentionProduct &product, const CrossingTile &tile)
      : emitter(writer.emitter), fused(writer.fused), operands(writer.operands), tile(writer.tile),
        product(product), of(tile),
        share(CoreOperands::shareCrossing(product, writer.operands.plan)) {
    const int64_t below = operands.plan.streamedSize / share.rows;
    Value warp = emitter.div(emitter.thread(), kWarp);
    row = emitter.mul(emitter.rem(warp, below), share.rows);
    column = emitter.mul(emitter.div(warp, below), share.columns);
  }

  void emit();

private:
  KernelEmitter &emitter;
  const FusedAttention &fused;
  CoreOperands &operands;
  AttentionTile &tile;
  const AttentionProduct &product;
  const CrossingTile &of;
  const CoreOperands::CrossingShare share;
  Value row, column; ///< offset of this thread's warp in the tile and in the result

  AttentionTile::Numbers multiply();
  AttentionTile::Numbers addBefore(AttentionTile::Numbers sums);
  Value getPlace(size_t access);
  void storeSums(ArrayRef<Number> sums);
  void storeResult(ArrayRef<Number> sums);
  Value hasTicket(Value ticket);
};
} // namespace

/// Ordered by product of 16 rows, then by group of 8 columns.
AttentionTile::Numbers CrossingEmitter::multiply() {
  const Number zero =
      emitter.constant(emitter.builder.getF32FloatAttr(0), emitter.builder.getF32Type());
  const int64_t cores = share.rows / CoreOperands::kRows, columns = share.columns / kColumns;
  AttentionTile::Numbers sums(cores * columns * kNumbers, zero);
  for (int64_t depth = 0; depth < operands.plan.parallelSize; depth += CoreOperands::kDepth) {
    SmallVector<SmallVector<Value>> a;
    for (int64_t core = 0; core < cores; ++core)
      a.push_back(operands.getPanelTransposed(of.panel, depth,
                                              emitter.add(row, core * CoreOperands::kRows)));
    for (int64_t next = 0; next < columns; next += 2) {
      SmallVector<Value> b =
          operands.getCrossing(product, depth, emitter.add(column, next * kColumns));
      for (int64_t core = 0; core < cores; ++core)
        for (int64_t i = 0; i < 2; ++i) {
          auto addends =
              MutableArrayRef(sums).slice((core * columns + next + i) * kNumbers, kNumbers);
          llvm::copy(emitter.multiplyMatrices(a[core], ArrayRef(b).slice(2 * i, 2), addends),
                     addends.begin());
        }
    }
  }
  return sums;
}

/// Offset of this thread's `access`th four numbers among all sums. The accesses of a warp are
/// contiguous.
Value CrossingEmitter::getPlace(size_t access) {
  const int64_t threads = tile.shape.threads,
                ofTile = share.rows * share.columns * (threads / kWarp);
  Value number = emitter.add(emitter.mulValues(of.serial.head, of.serial.tiles), of.number);
  Value first = emitter.add(emitter.mul(number, ofTile), emitter.mul(emitter.thread(), kAccess));
  return emitter.add(first, static_cast<int64_t>(access) * threads * kAccess);
}

Value CrossingEmitter::hasTicket(Value ticket) { return emitter.equal(of.serial.ticket, ticket); }

/// Adds the sums of the previous blocks; the first block has none.
AttentionTile::Numbers CrossingEmitter::addBefore(AttentionTile::Numbers sums) {
  return emitter.choose(
      hasTicket(of.tickets.first), [&] { return sums; },
      [&] {
        AttentionTile::Numbers added;
        for (size_t i = 0; i < sums.size(); i += kAccess) {
          Number before = emitter.load(of.serial.sums, getPlace(i / kAccess),
                                       emitter.builder.getF32Type(), kAccess, true);
          for (auto [j, number] : llvm::enumerate(elementsOf(before)))
            added.push_back(number + sums[i + j]);
        }
        return added;
      });
}

void CrossingEmitter::storeSums(ArrayRef<Number> sums) {
  for (size_t i = 0; i < sums.size(); i += kAccess)
    emitter.store(of.serial.sums, getPlace(i / kAccess), joinElements(sums.slice(i, kAccess)),
                  true);
}

void CrossingEmitter::storeResult(ArrayRef<Number> sums) {
  const AttentionMatrix &matrix = product.streamed;
  Value lane = emitter.rem(emitter.thread(), kWarp);
  Value outer = tile.getOuterPosition(matrix);
  Type type = getComputeType(matrix.element);
  const bool inPairs = matrix.widthStride == 1 && product.width % 2 == 0;
  const bool isAligned = llvm::all_of(matrix.strides, [](int64_t s) { return s % 2 == 0; });
  const int64_t ofCore = share.columns / kColumns * kNumbers;
  Value first = emitter.add(emitter.add(emitter.mul(of.number, tile.shape.streamedSize), row),
                            emitter.div(lane, kQuad));
  for (int64_t i = 0; i < static_cast<int64_t>(sums.size()); i += inPairs ? 2 : 1) {
    AttentionTile::LoopIndex index = tile.getLoopIndex(
        emitter.add(first, i / ofCore * CoreOperands::kRows + i % kNumbers / 2 * kColumns),
        fused.streamed);
    Value at = emitter.add(emitter.add(column, emitter.mul(emitter.rem(lane, kQuad), 2)),
                           i % ofCore / kNumbers * kColumns + i % 2);
    Value exists = index.exists;
    if (product.width % CoreOperands::kDepth != 0)
      exists = emitter.both(exists, emitter.less(at, product.width));
    Value position = emitter.add(
        outer, emitter.add(emitter.mul(index.coordinate, matrix.strides[fused.streamed]),
                           emitter.mul(at, matrix.widthStride)));
    Number stored = inPairs ? joinElements(sums.slice(i, 2)) : sums[i];
    emitter.onlyIf(
        exists, [&] { emitter.store(matrix.buffer, position, stored.toFloat(type), isAligned); });
  }
}

void CrossingEmitter::emit() {
  AttentionTile::Numbers sums = addBefore(multiply());
  Value isLast = hasTicket(of.tickets.last);
  emitter.onlyIf(isLast, [&] { storeResult(sums); });
  emitter.onlyIf(emitter.isNot(isLast), [&] { storeSums(sums); });
}

void mlir::cuda::crossTile(CrossingWriter writer, const AttentionProduct &product,
                           const CrossingTile &tile) {
  CrossingEmitter(writer, product, tile).emit();
}

// ---- memory -------------------------------------------------------------------------------------

static int64_t countHeads(const FusedAttention &fused) {
  int64_t heads = 1;
  for (unsigned group = 0; group < fused.space.getNumGroups(); ++group)
    if (group != fused.parallel && group != fused.streamed)
      heads *= fused.space.getSize(group);
  return heads;
}

int64_t mlir::cuda::countCrossingSums(const FusedAttention &fused) {
  const auto rows = static_cast<int64_t>(
      llvm::alignTo(fused.space.getSize(fused.streamed), AttentionTile::kSize));
  int64_t columns = 0;
  for (const AttentionProduct &product : fused.crossing)
    columns += static_cast<int64_t>(llvm::alignTo(product.width, CoreOperands::kDepth));
  return countHeads(fused) * rows * columns;
}

int64_t mlir::cuda::countCrossingSemaphores(const FusedAttention &fused) {
  return countHeads(fused) *
             llvm::divideCeil(fused.space.getSize(fused.streamed), CoreOperands::kDepth) +
         1;
}
