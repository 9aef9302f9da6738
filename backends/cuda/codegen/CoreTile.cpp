// Tiles with tensor cores. Each of four warps makes 16 own points of all streamed ones, as m16n8k16
// of nvgpu.mma.sync leaves them: a quad of four lanes has two rows eight apart, and of each eight
// columns a lane has two neighbours. These are the points that a thread works on, and what they
// become is the first operand of the products that read it, so no element of a tile ever
// moves. Second operands come through shared memory (chains/CoreOperands.h).
#include "backends/cuda/codegen/ChainTile.h"
#include "backends/cuda/codegen/chains/CoreOperands.h"

using namespace mlir;
using namespace mlir::cuda;

/// Rows, columns and depth of a product of a warp's core, and how many numbers each lane has.
static constexpr int64_t kRows = 16, kColumns = 8, kDepth = CoreOperands::kDepth, kNumbers = 4;
static constexpr int64_t kWarp = 32, kQuad = 4, kWarps = ChainTile::kSize / kRows;
/// Registers of a multiprocessor, of a thread at most, and those that a thread needs beside what
/// products have in them.
static constexpr int64_t kRegisters = 65536, kMostRegisters = 255, kOtherRegisters = 64;

namespace {
class CoreTile : public ChainTile {
public:
  CoreTile(KernelEmitter &emitter, const Chain &chain, const PointValues &values, Value firstOwn,
           Shape shape, CoreOperands::Plan plan);

  int64_t getOwnOffset(int64_t part) const override { return part * (kRows / 2); }
  int64_t getStreamedOffset(int64_t part) const override { return part / 2 * kColumns + part % 2; }
  void begin() override;
  void beginPass(ArrayRef<ChainProduct *> products, Value begin, Value end) override;
  void enterTile(Value tile) override { operands.enterTile(tile); }
  Numbers multiply(const ChainProduct &product, Value first) override;
  void publish(ArrayRef<Number> points) override;
  Type getPanelType() override { return narrow; }
  Numbers add(const ChainProduct &product, Value first, ArrayRef<Number> sums) override;
  int64_t getPartOfSum(const ChainProduct &, int64_t index) const override {
    return index % kNumbers / 2;
  }
  void store(const ChainProduct &product, ArrayRef<Number> sums) override;
  Number combine(const Combiner &combiner, Number number, int64_t part) override;

private:
  SmallVector<Value> loadOwn(const ChainProduct &product, int64_t depth);

  CoreOperands operands;
  Type narrow;    ///< of all operands
  Value lanePair; ///< twice this thread's column in a core's operands
  DenseMap<const ChainProduct *, SmallVector<Value>> kept; ///< operands along the own points
  SmallVector<Value> panel; ///< what products read, as first operands of cores, depth by depth
};
} // namespace

// ---- how a block works --------------------------------------------------------------------------

/// The type of all that products read, where it is one of 16 bits.
static Type getNarrowType(const Chain &chain) {
  SmallVector<Type> types;
  for (const ChainProduct &product : chain.producers)
    types.append({product.own.element, product.streamed.element});
  for (const ChainProduct &product : chain.consumers)
    types.append({getElementTypeOrSelf(product.rows.getType()), product.streamed.element});
  if (types.empty() || !llvm::all_equal(types) || !isa<FloatType>(types.front()) ||
      types.front().getIntOrFloatBitWidth() != 16)
    return {};
  return types.front();
}

std::unique_ptr<ChainTile> ChainTile::createCores(KernelEmitter &emitter, const Chain &chain,
                                                  const PointValues &values, Value firstOwn) {
  if (!getNarrowType(chain))
    return nullptr;
  int64_t depth = 0, columns = 0;
  for (const ChainProduct &product : chain.producers)
    depth += getColumns(product);
  for (const ChainProduct &product : chain.consumers)
    columns += getColumns(product);
  /// What a thread has of rows of a warp: of f32, and of operands.
  auto ofSums = [](int64_t width) { return kRows * width / kWarp; };
  auto ofOperands = [](int64_t width) { return kRows * width / kWarp / 2; };
  const bool keepsOwn = depth <= CoreOperands::kMostKept;
  constexpr int64_t most = 128; // in products
  for (int64_t stages = CoreOperands::canCopyAsync(emitter, chain) ? 2 : 1; stages > 0; --stages)
    for (int64_t size = kSize; size >= kDepth; size /= 2) {
      const int64_t registers = ofSums(columns) + (keepsOwn ? ofOperands(depth) : 0) +
                                ofSums(size) * static_cast<int64_t>(chain.producers.size());
      CoreOperands::Plan plan{size, stages, keepsOwn};
      if ((registers > most && size > kDepth) || !CoreOperands::fits(chain, plan))
        continue;
      const int64_t used = std::min(registers + kOtherRegisters, kMostRegisters);
      Shape shape{kWarps * kWarp, kRows / kColumns, 2 * size / kColumns, size,
                  kRegisters / (kWarps * kWarp * used)};
      return std::make_unique<CoreTile>(emitter, chain, values, firstOwn, shape, plan);
    }
  return nullptr;
}

CoreTile::CoreTile(KernelEmitter &emitter, const Chain &chain, const PointValues &values,
                   Value firstOwn, Shape shape, CoreOperands::Plan plan)
    : ChainTile(emitter, chain, values, firstOwn, shape),
      operands(emitter, chain, plan, shape.threads), narrow(getNarrowType(chain)) {
  Value warp = emitter.div(emitter.thread(), kWarp), lane = emitter.rem(emitter.thread(), kWarp);
  lanePair = emitter.mul(emitter.rem(lane, kQuad), 2);
  ownLane = emitter.add(emitter.mul(warp, kRows), emitter.div(lane, kQuad));
  streamedLane = lanePair;
}

// ---- operands -----------------------------------------------------------------------------------

/// A core's first operand from memory: this thread's pairs of the own points, from a depth on.
SmallVector<Value> CoreTile::loadOwn(const ChainProduct &product, int64_t depth) {
  const ChainMatrix &matrix = product.own;
  Value outer = getOuterPosition(matrix);
  const bool isAligned =
      matrix.widthStride == 1 && llvm::all_of(matrix.strides, [](int64_t s) { return s % 2 == 0; });
  const Number none = zero().toFloat(narrow);
  SmallVector<Value> pairs;
  for (int64_t pair = 0; pair < kNumbers; ++pair) {
    Value row = makePoint(getOwnPlace(firstOwn, pair % 2), chain.own).coordinate;
    Value start = emitter.add(outer, emitter.mul(row, matrix.strides[chain.own]));
    auto load = [&](Value place, int64_t width) {
      const bool isBeyond = depth + kDepth > product.width;
      Value inside = isBeyond ? emitter.min(place, product.width - width) : place;
      Number number =
          emitter.load(matrix.buffer, emitter.add(start, emitter.mul(inside, matrix.widthStride)),
                       matrix.element, width, isAligned);
      return isBeyond ? emitter.number(emitter.less(place, product.width))
                            .select(number, width > 1 ? none.splat(width) : none)
                      : number;
    };
    Value place = emitter.add(lanePair, depth + pair / 2 * (kDepth / 2));
    if (isAligned && product.width % 2 == 0)
      pairs.push_back(load(place, 2).value);
    else
      pairs.push_back(joinElements({load(place, 1), load(emitter.add(place, 1), 1)}).value);
  }
  return pairs;
}

/// Where they are few, operands along the own points stay in registers.
void CoreTile::begin() {
  operands.begin(*this, firstOwn);
  for (const ChainProduct &product : chain.producers)
    for (int64_t depth = 0; operands.plan.keepsOwn && depth < product.width; depth += kDepth)
      llvm::append_range(kept[&product], loadOwn(product, depth));
}

void CoreTile::beginPass(ArrayRef<ChainProduct *> products, Value begin, Value end) {
  operands.beginPass(products, begin, end);
}

// ---- products -----------------------------------------------------------------------------------

ChainTile::Numbers CoreTile::multiply(const ChainProduct &product, Value) {
  SmallVector<Numbers> cores(shape.streamedSize / kColumns, Numbers(kNumbers, zero()));
  for (int64_t depth = 0; depth < product.width; depth += kDepth) {
    SmallVector<Value> a =
        operands.plan.keepsOwn
            ? SmallVector<Value>(
                  ArrayRef(kept[&product]).slice(depth / kDepth * kNumbers, kNumbers))
            : operands.getOwn(product, depth);
    for (size_t core = 0; core < cores.size(); core += 2) {
      SmallVector<Value> b =
          operands.getStreamed(product, static_cast<int64_t>(core) * kColumns, depth);
      for (size_t i = 0; i < 2; ++i)
        cores[core + i] = emitter.multiplyMatrices(a, ArrayRef(b).slice(2 * i, 2), cores[core + i]);
    }
  }
  Numbers points;
  for (int64_t row = 0; row < ownParts; ++row)
    for (const Numbers &sums : cores)
      points.append({sums[2 * row], sums[2 * row + 1]});
  return points;
}

/// A warp's sums of two cores beside each other are, rounded, the first operand of one.
void CoreTile::publish(ArrayRef<Number> points) {
  panel.clear();
  for (int64_t part = 0; part < streamedParts; part += 2)
    for (int64_t row = 0; row < ownParts; ++row) {
      Number pair = joinElements(points.slice(row * streamedParts + part, 2));
      panel.push_back(pair.toFloat(narrow).value);
    }
}

ChainTile::Numbers CoreTile::add(const ChainProduct &product, Value, ArrayRef<Number> sums) {
  const int64_t most =
      std::min(shape.streamedSize, static_cast<int64_t>(llvm::alignTo(getStreamedSize(), kDepth)));
  Numbers added(sums);
  for (int64_t depth = 0; depth < most; depth += kDepth) {
    ArrayRef<Value> a = ArrayRef(panel).slice(depth / kDepth * kNumbers, kNumbers);
    for (int64_t column = 0; column < getColumns(product); column += 2 * kColumns) {
      SmallVector<Value> b = operands.getStreamedTurned(product, depth, column);
      for (int64_t i = 0; i < 2; ++i) {
        auto own = MutableArrayRef(added).slice((column / kColumns + i) * kNumbers, kNumbers);
        llvm::copy(emitter.multiplyMatrices(a, ArrayRef(b).slice(2 * i, 2), own), own.begin());
      }
    }
  }
  return added;
}

void CoreTile::store(const ChainProduct &product, ArrayRef<Number> sums) {
  const ChainMatrix &matrix = product.own;
  Value outer = getOuterPosition(matrix);
  Type type = getComputeType(matrix.element);
  const bool inPairs = matrix.widthStride == 1 && product.width % 2 == 0;
  const bool isAligned = llvm::all_of(matrix.strides, [](int64_t s) { return s % 2 == 0; });
  for (size_t i = 0; i < sums.size(); i += inPairs ? 2 : 1) {
    Value row = getOwnPlace(firstOwn, i % kNumbers / 2);
    Value column = emitter.add(lanePair, static_cast<int64_t>(i / kNumbers * kColumns + i % 2));
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

/// A quad has all of a row.
Number CoreTile::combine(const Combiner &combiner, Number number, int64_t) {
  for (int64_t mask = 1; mask < kQuad; mask *= 2)
    number = combiner.combine(number, emitter.shuffleXor(number, mask));
  return number;
}
