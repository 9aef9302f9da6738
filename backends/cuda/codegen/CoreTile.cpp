// Tiles with tensor cores. Of eight warps each makes 16 own points of half the streamed ones, as
// m16n8k16 of nvgpu.mma.sync leaves them: a quad of four lanes has two rows eight apart, and of
// each eight columns a lane has two neighbours. These are the points that a thread works on, so
// that what a product makes is never moved. Operands come through shared memory, in 16 bits.
#include "backends/cuda/codegen/ChainTile.h"

using namespace mlir;
using namespace mlir::cuda;

/// Rows, columns and depth of a product of a warp's core, and how many numbers each lane has.
static constexpr int64_t kRows = 16, kColumns = 8, kDepth = 16, kNumbers = 4;
static constexpr int64_t kWarp = 32, kQuad = 4;
/// Warps along the own points of a tile, and cores of a warp along the streamed ones.
static constexpr int64_t kWarpsAlong = ChainTile::kSize / kRows;
static constexpr int64_t kCores = ChainTile::kSize / 2 / kColumns;
/// Most depth of an operand that comes at once.
static constexpr int64_t kSlice = 64;
/// Elements of an access, and what a row in shared memory has beyond its own, so that a quad's rows
/// lie in different banks.
static constexpr int64_t kAccess = 8, kPad = 8;
/// Of operands along the own points that are kept in registers, the depth of all together.
static constexpr int64_t kMostKept = 128;

namespace {
class CoreTile : public ChainTile {
public:
  CoreTile(KernelEmitter &emitter, const Chain &chain, const PointValues &values, Value firstOwn,
           Type narrow);

  int64_t getOwnOffset(int64_t part) const override { return part * (kRows / 2); }
  int64_t getStreamedOffset(int64_t part) const override { return part / 2 * kColumns + part % 2; }
  void begin() override;
  Numbers multiply(const ChainProduct &product, Value first) override;
  void publish(ArrayRef<Number> points) override;
  Numbers add(const ChainProduct &product, Value first, ArrayRef<Number> sums) override;
  int64_t getPartOfSum(const ChainProduct &, int64_t index) const override {
    return index % kNumbers / 2;
  }
  void store(const ChainProduct &product, ArrayRef<Number> sums) override;
  Number combine(const Combiner &combiner, Number number, int64_t part) override;

private:
  /// Rows of a matrix in shared memory: 64 points of a group, and part of the depth or columns.
  struct Rows {
    Value memory;
    int64_t pitch = 0;
  };

  void load(const Rows &rows, const ChainMatrix &matrix, unsigned group, Value first, int64_t start,
            int64_t count, int64_t width, bool zeroBeyond);
  Value pad(Value exists, Number number);
  Number narrowZero(int64_t count) { return zero().toFloat(narrow).splat(count); }
  SmallVector<Value> fetchRows(const Rows &rows, Value depth);
  SmallVector<Value> fetchColumns(const Rows &rows, Value column, int64_t depth);
  SmallVector<Value> fetchTurned(const Rows &rows, Value depth, Value column);

  Type narrow;             ///< of all operands
  Value warpRow, warpHalf; ///< first row of this warp in a tile, and which half of the columns
  Value laneRow, lanePair; ///< of this thread in a core's operands: its row, and twice its column
  Rows left, right, wide, panel;
  DenseMap<const ChainProduct *, SmallVector<Value>> kept; ///< operands along the own points
};
} // namespace

/// Points of a slice that begins at `start`, in whole cores.
static int64_t getSlice(int64_t width, int64_t start) {
  return std::min(kSlice, static_cast<int64_t>(llvm::alignTo(width - start, kDepth)));
}

// ---- threads ------------------------------------------------------------------------------------

std::unique_ptr<ChainTile> ChainTile::createCores(KernelEmitter &emitter, const Chain &chain,
                                                  const PointValues &values, Value firstOwn) {
  SmallVector<Type> types;
  for (const ChainProduct &product : chain.producers)
    types.append({product.own.element, product.streamed.element});
  for (const ChainProduct &product : chain.consumers)
    types.append({getElementTypeOrSelf(product.rows.getType()), product.streamed.element});
  if (types.empty() || !llvm::all_equal(types) || !isa<FloatType>(types.front()) ||
      types.front().getIntOrFloatBitWidth() != 16)
    return nullptr;
  return std::make_unique<CoreTile>(emitter, chain, values, firstOwn, types.front());
}

CoreTile::CoreTile(KernelEmitter &emitter, const Chain &chain, const PointValues &values,
                   Value firstOwn, Type narrow)
    : ChainTile(emitter, chain, values, firstOwn, kRows / kColumns, 2 * kCores), narrow(narrow) {
  Value warp = emitter.div(emitter.thread(), kWarp), lane = emitter.rem(emitter.thread(), kWarp);
  warpRow = emitter.mul(emitter.rem(warp, kWarpsAlong), kRows);
  warpHalf = emitter.div(warp, kWarpsAlong);
  laneRow = emitter.div(lane, kQuad);
  lanePair = emitter.mul(emitter.rem(lane, kQuad), 2);
  ownLane = emitter.add(warpRow, laneRow);
  streamedLane = emitter.add(emitter.mul(warpHalf, kSize / 2), lanePair);
  auto addRows = [&](int64_t columns) {
    const int64_t pitch = columns + kPad;
    return Rows{emitter.addShared(kSize * pitch, narrow), pitch};
  };
  int64_t depth = 0, keptDepth = 0, columns = 0;
  for (const ChainProduct &product : chain.producers) {
    depth = std::max(depth, getSlice(product.width, 0));
    keptDepth += getColumns(product);
  }
  for (const ChainProduct &product : chain.consumers)
    columns = std::max(columns, getColumns(product));
  // What products of rows are multiplied with comes where operands of the rows were.
  if (depth > 0 && columns > 0) {
    right = addRows(std::max(depth, columns));
    wide = right;
  } else if (depth > 0) {
    right = addRows(depth);
  } else {
    wide = addRows(columns);
  }
  if (keptDepth <= kMostKept)
    for (const ChainProduct &product : chain.producers)
      kept[&product] = {};
  else
    left = addRows(depth);
  if (columns > 0)
    panel = addRows(kSize);
}

// ---- operands -----------------------------------------------------------------------------------

/// Brings 64 points of a matrix along a group, from one on, and `count` along its width, from
/// `start` on, to shared memory; zeros beyond the width, and beyond the group if that matters.
void CoreTile::load(const Rows &rows, const ChainMatrix &matrix, unsigned group, Value first,
                    int64_t start, int64_t count, int64_t width, bool zeroBeyond) {
  Value outer = getOuterPosition(matrix);
  const bool isDeep = matrix.widthStride == 1;
  const bool isWhole = isDeep && width % kAccess == 0 &&
                       llvm::all_of(matrix.strides, [](int64_t s) { return s % kAccess == 0; });
  const int64_t access = isWhole ? kAccess : 1, perRow = count / access, all = kSize * perRow;
  for (int64_t begin = 0; begin < all; begin += kThreads) {
    Value number = emitter.add(emitter.thread(), begin);
    // Neighbouring threads take neighbours in memory.
    Value across = isDeep ? emitter.div(number, perRow) : emitter.rem(number, kSize);
    Value along =
        isDeep ? emitter.mul(emitter.rem(number, perRow), access) : emitter.div(number, kSize);
    auto move = [&] {
      Point point = makePoint(emitter.add(first, across), group);
      Value place = emitter.add(along, start), exists = zeroBeyond ? point.exists : Value();
      if (start + count > width) {
        exists = emitter.both(exists, emitter.less(place, width));
        place = emitter.min(place, width - access);
      }
      Value position =
          emitter.add(outer, emitter.add(emitter.mul(point.coordinate, matrix.strides[group]),
                                         emitter.mul(place, matrix.widthStride)));
      Number loaded = emitter.load(matrix.buffer, position, matrix.element, access, isWhole);
      if (exists)
        loaded = emitter.number(exists).select(loaded, narrowZero(access));
      emitter.storeShared(rows.memory, emitter.add(emitter.mul(across, rows.pitch), along), loaded);
    };
    emitter.onlyIf(begin + kThreads > all ? emitter.less(number, all) : Value(), move);
  }
}

/// A core's first operand: this warp's rows, from a depth on.
SmallVector<Value> CoreTile::fetchRows(const Rows &rows, Value depth) {
  SmallVector<Value> pairs;
  for (int64_t pair = 0; pair < kNumbers; ++pair) {
    Value place =
        emitter.add(emitter.mul(getOwnPlace(emitter.index(0), pair % 2), rows.pitch), lanePair);
    place = emitter.add(emitter.add(place, depth), pair / 2 * (kDepth / 2));
    pairs.push_back(emitter.loadSharedPair(rows.memory, place, narrow));
  }
  return pairs;
}

/// Its second operand, whose columns lie row by row.
SmallVector<Value> CoreTile::fetchColumns(const Rows &rows, Value column, int64_t depth) {
  Value place = emitter.add(emitter.mul(emitter.add(column, laneRow), rows.pitch),
                            emitter.add(lanePair, depth));
  return {emitter.loadSharedPair(rows.memory, place, narrow),
          emitter.loadSharedPair(rows.memory, emitter.add(place, kDepth / 2), narrow)};
}

/// Its second operand, whose columns lie column by column.
SmallVector<Value> CoreTile::fetchTurned(const Rows &rows, Value depth, Value column) {
  Value place = emitter.add(emitter.mul(emitter.add(depth, lanePair), rows.pitch),
                            emitter.add(column, laneRow));
  SmallVector<Value> pairs;
  for (int64_t half = 0; half < 2; ++half) {
    Value upper = emitter.add(place, half * (kDepth / 2) * rows.pitch);
    Number pair[] = {emitter.loadShared(rows.memory, upper, narrow),
                     emitter.loadShared(rows.memory, emitter.add(upper, rows.pitch), narrow)};
    pairs.push_back(joinElements(pair).value);
  }
  return pairs;
}

/// Where they are few, operands along the own points stay in registers.
void CoreTile::begin() {
  for (const ChainProduct &product : chain.producers) {
    auto own = kept.find(&product);
    if (own == kept.end())
      continue;
    for (int64_t start = 0; start < product.width; start += kSlice) {
      const int64_t count = getSlice(product.width, start);
      load(right, product.own, chain.own, firstOwn, start, count, product.width, false);
      emitter.barrier();
      for (int64_t depth = 0; depth < count; depth += kDepth)
        llvm::append_range(own->second, fetchRows(right, emitter.index(depth)));
      emitter.barrier();
    }
  }
}

// ---- products -----------------------------------------------------------------------------------

ChainTile::Numbers CoreTile::multiply(const ChainProduct &product, Value first) {
  auto own = kept.find(&product);
  SmallVector<Numbers> cores(kCores, Numbers(kNumbers, zero()));
  for (int64_t start = 0; start < product.width; start += kSlice) {
    const int64_t count = getSlice(product.width, start);
    load(right, product.streamed, chain.streamed, first, start, count, product.width, false);
    if (own == kept.end())
      load(left, product.own, chain.own, firstOwn, start, count, product.width, false);
    emitter.barrier();
    for (int64_t depth = 0; depth < count; depth += kDepth) {
      SmallVector<Value> a =
          own == kept.end()
              ? fetchRows(left, emitter.index(depth))
              : SmallVector<Value>(
                    ArrayRef(own->second).slice((start + depth) / kDepth * kNumbers, kNumbers));
      for (auto [i, sums] : llvm::enumerate(cores)) {
        Value column =
            emitter.add(emitter.mul(warpHalf, kSize / 2), static_cast<int64_t>(i) * kColumns);
        sums = emitter.multiplyMatrices(a, fetchColumns(right, column, depth), sums);
      }
    }
    emitter.barrier();
  }
  Numbers points;
  for (int64_t row = 0; row < ownParts; ++row)
    for (const Numbers &sums : cores)
      points.append({sums[2 * row], sums[2 * row + 1]});
  return points;
}

void CoreTile::publish(ArrayRef<Number> points) {
  for (int64_t row = 0; row < ownParts; ++row)
    for (int64_t part = 0; part < streamedParts; part += 2) {
      Value place = emitter.add(emitter.mul(getOwnPlace(emitter.index(0), row), panel.pitch),
                                getStreamedPlace(emitter.index(0), part));
      Number pair = joinElements(points.slice(row * streamedParts + part, 2));
      emitter.storeShared(panel.memory, place, pair.toFloat(narrow));
    }
}

ChainTile::Numbers CoreTile::add(const ChainProduct &product, Value first, ArrayRef<Number> sums) {
  const int64_t columns = getColumns(product);
  const int64_t most =
      std::min(kSize, static_cast<int64_t>(llvm::alignTo(getStreamedSize(), kDepth)));
  load(wide, product.streamed, chain.streamed, first, 0, columns, product.width, true);
  emitter.barrier();
  Numbers added(sums);
  for (int64_t depth = 0; depth < most; depth += kDepth) {
    SmallVector<Value> a = fetchRows(panel, emitter.index(depth));
    for (size_t core = 0; core * kNumbers < added.size(); ++core) {
      Value column =
          emitter.add(emitter.mul(warpHalf, columns / 2), static_cast<int64_t>(core) * kColumns);
      auto own = MutableArrayRef(added).slice(core * kNumbers, kNumbers);
      llvm::copy(emitter.multiplyMatrices(a, fetchTurned(wide, emitter.index(depth), column), own),
                 own.begin());
    }
  }
  emitter.barrier();
  return added;
}

void CoreTile::store(const ChainProduct &product, ArrayRef<Number> sums) {
  const ChainMatrix &matrix = product.own;
  Value outer = getOuterPosition(matrix);
  Type type = getComputeType(matrix.element);
  const bool inPairs = matrix.widthStride == 1 && product.width % 2 == 0;
  const bool isAligned = llvm::all_of(matrix.strides, [](int64_t s) { return s % 2 == 0; });
  Value half = emitter.add(emitter.mul(warpHalf, getColumns(product) / 2), lanePair);
  for (size_t i = 0; i < sums.size(); i += inPairs ? 2 : 1) {
    Value row = getOwnPlace(firstOwn, i % kNumbers / 2);
    Value column = emitter.add(half, static_cast<int64_t>(i / kNumbers * kColumns + i % 2));
    Value exists = getOwnSize() % kSize == 0 ? Value() : emitter.less(row, getOwnSize());
    if (product.width % kDepth != 0)
      exists = emitter.both(exists, emitter.less(column, product.width));
    Value position = emitter.add(outer, emitter.add(emitter.mul(row, matrix.strides[chain.own]),
                                                    emitter.mul(column, matrix.widthStride)));
    Number stored = inPairs ? joinElements(sums.slice(i, 2)) : sums[i];
    emitter.onlyIf(
        exists, [&] { emitter.store(matrix.buffer, position, stored.toFloat(type), isAligned); });
  }
}

// ---- reductions ---------------------------------------------------------------------------------

/// A quad has half of a row, one of another warp the other.
Number CoreTile::combine(const Combiner &combiner, Number number, int64_t part) {
  for (int64_t mask = 1; mask < kQuad; mask *= 2)
    number = combiner.combine(number, emitter.shuffleXor(number, mask));
  Value shared = emitter.addShared(2 * kSize, combiner.getType());
  Value row = getOwnPlace(emitter.index(0), part);
  emitter.onlyIf(emitter.isZero(lanePair), [&] {
    emitter.storeShared(shared, emitter.add(emitter.mul(warpHalf, kSize), row), number);
  });
  emitter.barrier();
  return combiner.combine(emitter.loadShared(shared, row, combiner.getType()),
                          emitter.loadShared(shared, emitter.add(row, kSize), combiner.getType()));
}
