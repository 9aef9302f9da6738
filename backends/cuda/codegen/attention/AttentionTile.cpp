// Tiles without tensor cores. A block has 16 x 16 threads. Each thread has every 16th element along
// both sides, and computes product results for these only.
#include "backends/cuda/codegen/attention/AttentionTile.h"

using namespace mlir;
using namespace mlir::cuda;

/// Threads along a side of a tile; elements of a thread along a side.
static constexpr int64_t kSide = 16, kPart = AttentionTile::kSize / kSide;
static constexpr int64_t kThreads = kSide * kSide;
/// Depth of a slice of a product's operands in shared memory.
static constexpr int64_t kSlice = 16;
/// Pitch of a row in shared memory; accesses along either side have no bank conflicts.
static constexpr int64_t kPitch = AttentionTile::kSize + 1;

namespace {
class PlainTile : public AttentionTile {
public:
  PlainTile(KernelEmitter &emitter, const FusedAttention &fused, const ElementValues &values,
            Value firstParallel);

  int64_t getParallelOffset(int64_t part) const override { return part * kSide; }
  int64_t getStreamedOffset(int64_t part) const override { return part * kSide; }
  Numbers multiply(const AttentionProduct &product, Value first) override;
  void publish(ArrayRef<Number> elements, size_t panel) override;
  Numbers add(const AttentionProduct &product, Value first, size_t panel,
              ArrayRef<Number> sums) override;
  int64_t getPartOfSum(const AttentionProduct &product, int64_t index) const override {
    return index / (getColumns(product) / kSide);
  }
  void store(const AttentionProduct &product, ArrayRef<Number> sums) override;
  Number combine(const Combiner &combiner, Number number, int64_t part) override;

private:
  void loadSlice(Value shared, const AttentionMatrix &matrix, Value outer, unsigned group,
                 Value first, Value depth, int64_t width);

  Value slow, fast;                ///< position of this thread along the sides of a block
  Value left, right, panel, slice; ///< shared memory
};
} // namespace

// ---- shared by all tiles ------------------------------------------------------------------------

std::unique_ptr<AttentionTile> AttentionTile::create(KernelEmitter &emitter,
                                                     const FusedAttention &fused,
                                                     const ElementValues &values,
                                                     Value firstParallel) {
  std::unique_ptr<AttentionTile> cores = createCores(emitter, fused, values, firstParallel);
  return cores || !fused.crossing.empty() ? std::move(cores)
                                          : createPlain(emitter, fused, values, firstParallel);
}

AttentionTile::LoopIndex AttentionTile::getLoopIndex(Value coordinate, unsigned group) {
  int64_t size = fused.space.getSize(group);
  if (size % (group == fused.streamed ? shape.streamedSize : shape.parallelSize) == 0)
    return {coordinate, {}};
  return {emitter.min(coordinate, size - 1), emitter.less(coordinate, size)};
}

Value AttentionTile::getOuterPosition(const AttentionMatrix &matrix) {
  Value position = emitter.index(0);
  for (auto [group, stride] : llvm::enumerate(matrix.strides))
    if (group != fused.parallel && group != fused.streamed && stride != 0)
      position = emitter.add(position, emitter.mul(values.coordinates[group], stride));
  return position;
}

// ---- tiles without tensor cores -----------------------------------------------------------------

std::unique_ptr<AttentionTile> AttentionTile::createPlain(KernelEmitter &emitter,
                                                          const FusedAttention &fused,
                                                          const ElementValues &values,
                                                          Value firstParallel) {
  return std::make_unique<PlainTile>(emitter, fused, values, firstParallel);
}

/// Two blocks share a multiprocessor if 128 registers per thread suffice: the accumulators take at
/// most a quarter of them.
static int64_t countTogether(const FusedAttention &fused) {
  int64_t columns = 0;
  for (const AttentionProduct &product : fused.consumers)
    columns += product.width;
  return kPart * llvm::divideCeil(columns, kSide) <= 32 ? 2 : 1;
}

PlainTile::PlainTile(KernelEmitter &emitter, const FusedAttention &fused,
                     const ElementValues &values, Value firstParallel)
    : AttentionTile(emitter, fused, values, firstParallel,
                    {kThreads, kPart, kPart, kSize, countTogether(fused)}) {
  slow = emitter.div(emitter.thread(), kSide);
  fast = emitter.rem(emitter.thread(), kSide);
  // True if the elements of a row are adjacent in memory.
  bool hasParallelRows = fused.parallel < fused.streamed;
  parallelLane = hasParallelRows ? slow : fast;
  streamedLane = hasParallelRows ? fast : slow;
  left = emitter.addShared(kSlice * kPitch, f32());
  right = emitter.addShared(kSlice * kPitch, f32());
  if (fused.consumers.empty())
    return;
  panel = emitter.addShared(kSize * kPitch, f32());
  int64_t columns = 0;
  for (const AttentionProduct &product : fused.consumers)
    columns = std::max(columns, getColumns(product));
  slice = emitter.addShared(kSlice * columns, f32());
}

/// Loads 64 indices of an operand along `group` and a slice of its depth into shared memory, depth
/// by depth. Out-of-bounds elements are zero.
void PlainTile::loadSlice(Value shared, const AttentionMatrix &matrix, Value outer, unsigned group,
                          Value first, Value depth, int64_t width) {
  // Adjacent threads load adjacent elements.
  bool isDeep = matrix.widthStride == 1;
  for (int64_t part = 0; part < kPart; ++part) {
    Value across = isDeep ? emitter.add(slow, part * kSide) : emitter.rem(emitter.thread(), kSize);
    Value along =
        isDeep ? fast
               : emitter.add(emitter.div(emitter.thread(), kSize), part * (kThreads / kSize));
    LoopIndex index = getLoopIndex(emitter.add(first, across), group);
    Value place = emitter.add(depth, along);
    Value exists = width % kSlice == 0 ? Value() : emitter.less(place, width);
    if (exists)
      place = emitter.min(place, width - 1);
    Value position =
        emitter.add(outer, emitter.add(emitter.mul(index.coordinate, matrix.strides[group]),
                                       emitter.mul(place, matrix.widthStride)));
    Number number = emitter.load(matrix.buffer, position, matrix.element).toFloat(f32());
    if (exists)
      number = emitter.number(exists).select(number, zero());
    emitter.storeShared(shared, emitter.add(emitter.mul(along, kPitch), across), number);
  }
}

AttentionTile::Numbers PlainTile::multiply(const AttentionProduct &product, Value first) {
  Value parallelOuter = getOuterPosition(product.parallel);
  Value streamedOuter = getOuterPosition(product.streamed);
  Numbers none(kPart * kPart, zero());
  return emitter.loop(emitter.index(0), emitter.index(product.width), kSlice, none,
                      [&](Value depth, ArrayRef<Number> carried) {
                        loadSlice(left, product.parallel, parallelOuter, fused.parallel,
                                  firstParallel, depth, product.width);
                        loadSlice(right, product.streamed, streamedOuter, fused.streamed, first,
                                  depth, product.width);
                        emitter.barrier();
                        Numbers added = emitter.loop(
                            emitter.index(0), emitter.index(kSlice), 1, carried,
                            [&](Value step, ArrayRef<Number> before) {
                              Value row = emitter.mul(step, kPitch);
                              auto fetch = [&](Value shared, Value lane, int64_t part) {
                                Value place = emitter.add(emitter.add(row, lane), part * kSide);
                                return emitter.loadShared(shared, place, f32());
                              };
                              Numbers a, b, next;
                              for (int64_t part = 0; part < kPart; ++part) {
                                a.push_back(fetch(left, parallelLane, part));
                                b.push_back(fetch(right, streamedLane, part));
                              }
                              for (int64_t element = 0; element < kPart * kPart; ++element)
                                next.push_back(
                                    a[element / kPart].fma(b[element % kPart], before[element]));
                              return next;
                            });
                        emitter.barrier();
                        return added;
                      });
}

void PlainTile::publish(ArrayRef<Number> elements, size_t) {
  for (int64_t element = 0; element < kPart * kPart; ++element) {
    Value row = getParallelPlace(emitter.index(0), element / kPart);
    Value column = getStreamedPlace(emitter.index(0), element % kPart);
    emitter.storeShared(panel, emitter.add(emitter.mul(row, kPitch), column), elements[element]);
  }
}

AttentionTile::Numbers PlainTile::add(const AttentionProduct &product, Value first, size_t,
                                      ArrayRef<Number> sums) {
  const AttentionMatrix &matrix = product.streamed;
  Value outer = getOuterPosition(matrix);
  int64_t pitch = getColumns(product), columns = pitch / kSide;
  bool isTransposed = matrix.widthStride != 1 && matrix.strides[fused.streamed] == 1;
  int64_t maximum = std::min(kSize, static_cast<int64_t>(llvm::alignTo(getStreamedSize(), kSlice)));
  return emitter.loop(
      emitter.index(0), emitter.index(maximum), kSlice, sums,
      [&](Value start, ArrayRef<Number> carried) {
        Value along = isTransposed ? fast : slow;
        LoopIndex index =
            getLoopIndex(emitter.add(emitter.add(first, start), along), fused.streamed);
        for (int64_t part = 0; part < columns; ++part) {
          Value across = emitter.add(isTransposed ? slow : fast, part * kSide);
          Value exists = index.exists, column = across;
          if (product.width % kSide != 0) {
            exists = emitter.both(exists, emitter.less(across, product.width));
            column = emitter.min(across, product.width - 1);
          }
          Value position = emitter.add(
              outer, emitter.add(emitter.mul(index.coordinate, matrix.strides[fused.streamed]),
                                 emitter.mul(column, matrix.widthStride)));
          Number number = emitter.load(matrix.buffer, position, matrix.element).toFloat(f32());
          if (exists)
            number = emitter.number(exists).select(number, zero());
          emitter.storeShared(slice, emitter.add(emitter.mul(along, pitch), across), number);
        }
        emitter.barrier();
        Numbers added = emitter.loop(
            emitter.index(0), emitter.index(kSlice), 1, carried,
            [&](Value step, ArrayRef<Number> before) {
              Numbers a, b, next;
              Value place = emitter.add(emitter.add(emitter.mul(slow, kPitch), start), step);
              for (int64_t part = 0; part < kPart; ++part)
                a.push_back(
                    emitter.loadShared(panel, emitter.add(place, part * kSide * kPitch), f32()));
              Value row = emitter.add(emitter.mul(step, pitch), fast);
              for (int64_t part = 0; part < columns; ++part)
                b.push_back(emitter.loadShared(slice, emitter.add(row, part * kSide), f32()));
              for (int64_t element = 0; element < kPart * columns; ++element)
                next.push_back(a[element / columns].fma(b[element % columns], before[element]));
              return next;
            });
        emitter.barrier();
        return added;
      });
}

void PlainTile::store(const AttentionProduct &product, ArrayRef<Number> sums) {
  const AttentionMatrix &matrix = product.parallel;
  Value outer = getOuterPosition(matrix);
  int64_t columns = getColumns(product) / kSide;
  Type type = getComputeType(matrix.element);
  for (int64_t part = 0; part < kPart; ++part) {
    Value row = emitter.add(firstParallel, emitter.add(slow, part * kSide));
    Value rowExists =
        getParallelLoop() % kSize == 0 ? Value() : emitter.less(row, getParallelLoop());
    Value start = emitter.add(outer, emitter.mul(row, matrix.strides[fused.parallel]));
    for (int64_t i = 0; i < columns; ++i) {
      Value column = emitter.add(fast, i * kSide), exists = rowExists;
      if (product.width % kSide != 0)
        exists = emitter.both(exists, emitter.less(column, product.width));
      Value position = emitter.add(start, emitter.mul(column, matrix.widthStride));
      emitter.onlyIf(exists, [&] {
        emitter.store(matrix.buffer, position, sums[part * columns + i].toFloat(type));
      });
    }
  }
}

Number PlainTile::combine(const Combiner &combiner, Number number, int64_t) {
  return emitter.combineAcross(combiner, number, kSide, kThreads);
}
