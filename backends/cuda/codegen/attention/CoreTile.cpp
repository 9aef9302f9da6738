// Tiles with tensor cores. A warp computes one or two products of 16 parallel indices below each
// other, for all indices of the reduction loop, as m16n8k16 of nvgpu.mma.sync leaves them: a quad
// of four lanes has two rows eight apart, and of each eight columns a lane has two neighbours.
// These are the elements of a thread, and what it computes from them is the first operand of the
// products that read it, so no element of a tile ever moves. Second operands come through shared
// memory (chains/CoreOperands.h): two products of 16 rows share one, at twice the registers.
#include "backends/cuda/codegen/attention/ChainTile.h"
#include "backends/cuda/codegen/attention/CoreOperands.h"

using namespace mlir;
using namespace mlir::cuda;

/// Rows, columns and depth of a core's product, and how many numbers each lane has.
static constexpr int64_t kRows = CoreOperands::kRows, kColumns = 8, kDepth = CoreOperands::kDepth,
                         kNumbers = 4;
static constexpr int64_t kWarp = 32, kQuad = 4;
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
  /// Sums of a core are those of its columns, and lie behind each other.
  int64_t getPartOfSum(const ChainProduct &product, int64_t index) const override {
    const int64_t ofCore = countSums(product) / operands.plan.cores;
    return index / ofCore * (kRows / kColumns) + index % kNumbers / 2;
  }
  void store(const ChainProduct &product, ArrayRef<Number> sums) override;
  Number combine(const Combiner &combiner, Number number, int64_t part) override;

private:
  SmallVector<Value> loadOwn(const ChainProduct &product, int64_t core, int64_t depth);
  SmallVector<SmallVector<Value>> getOwn(const ChainProduct &product, int64_t depth);

  CoreOperands operands;
  Type narrow;    ///< of all operands
  Value lanePair; ///< twice this thread's column in a core's operands
  /// Operands along the parallel loop in registers, depth by depth and there core by core.
  DenseMap<const ChainProduct *, SmallVector<SmallVector<Value>>> kept;
  /// What products read, as first operands, core by core and in it depth by depth.
  SmallVector<SmallVector<Value>> panels;
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

/// Registers of a thread that products have: sums of the consumers, parallel operands, tiles, and
/// these again as operands of the consumers.
static int64_t countRegisters(const Chain &chain, const CoreOperands::Plan &plan) {
  auto columnsOf = [](const ChainProduct &product) {
    return static_cast<int64_t>(llvm::alignTo(product.width, kDepth));
  };
  int64_t ofRow = 0; // of 32 bits
  for (const ChainProduct &product : chain.consumers)
    ofRow += columnsOf(product) + plan.streamedSize / 2;
  for (auto [i, product] : llvm::enumerate(chain.producers))
    ofRow += plan.streamedSize + (plan.keeps(i) ? columnsOf(product) / 2 : 0);
  return ofRow * plan.cores * kRows / kWarp;
}

/// The plan with copies that run ahead, then with the fewest bytes of shared memory, of those for
/// which there are registers and shared memory.
static std::optional<CoreOperands::Plan> choosePlan(const KernelEmitter &emitter,
                                                    const Chain &chain) {
  constexpr int64_t most = 208;
  std::optional<CoreOperands::Plan> best;
  int64_t bestBytes = 0;
  for (int64_t stages = CoreOperands::canCopyAsync(emitter, chain) ? 2 : 1; stages > 0 && !best;
       --stages)
    for (int64_t cores : {1, 2})
      for (int64_t size = ChainTile::kSize; size >= kDepth; size /= 2)
        for (unsigned kept = 1U << chain.producers.size(); kept-- > 0;) {
          const CoreOperands::Plan plan{size, stages, cores, kept};
          const int64_t bytes = CoreOperands::countBytes(chain, plan);
          if (countRegisters(chain, plan) > most || !CoreOperands::fits(chain, plan) ||
              (best && bytes >= bestBytes))
            continue;
          best = plan;
          bestBytes = bytes;
        }
  return best;
}

std::unique_ptr<ChainTile> ChainTile::createCores(KernelEmitter &emitter, const Chain &chain,
                                                  const PointValues &values, Value firstOwn) {
  std::optional<CoreOperands::Plan> plan;
  if (getNarrowType(chain))
    plan = choosePlan(emitter, chain);
  if (!plan)
    return nullptr;
  const int64_t threads = plan->warps() * kWarp,
                used = std::min(countRegisters(chain, *plan) + kOtherRegisters, kMostRegisters);
  const Shape shape{threads, plan->cores * kRows / kColumns, 2 * plan->streamedSize / kColumns,
                    plan->streamedSize, kRegisters / (threads * used)};
  return std::make_unique<CoreTile>(emitter, chain, values, firstOwn, shape, *plan);
}

CoreTile::CoreTile(KernelEmitter &emitter, const Chain &chain, const PointValues &values,
                   Value firstOwn, Shape shape, CoreOperands::Plan plan)
    : ChainTile(emitter, chain, values, firstOwn, shape), operands(emitter, chain, plan),
      narrow(getNarrowType(chain)) {
  Value warp = emitter.div(emitter.thread(), kWarp), lane = emitter.rem(emitter.thread(), kWarp);
  lanePair = emitter.mul(emitter.rem(lane, kQuad), 2);
  ownLane = emitter.add(emitter.mul(warp, plan.cores * kRows), emitter.div(lane, kQuad));
  streamedLane = lanePair;
}

// ---- operands -----------------------------------------------------------------------------------

/// A core's first operand from memory: this thread's pairs of its rows, from a depth on.
SmallVector<Value> CoreTile::loadOwn(const ChainProduct &product, int64_t core, int64_t depth) {
  const ChainMatrix &matrix = product.own;
  Value outer = getOuterPosition(matrix);
  const bool isAligned =
      matrix.widthStride == 1 && llvm::all_of(matrix.strides, [](int64_t s) { return s % 2 == 0; });
  const Number none = zero().toFloat(narrow);
  SmallVector<Value> pairs;
  for (int64_t pair = 0; pair < kNumbers; ++pair) {
    const int64_t part = core * (kRows / kColumns) + pair % 2;
    Value row = makePoint(getOwnPlace(firstOwn, part), chain.own).coordinate;
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

void CoreTile::begin() {
  operands.begin(*this, firstOwn);
  for (auto [i, product] : llvm::enumerate(chain.producers))
    for (int64_t depth = 0; operands.plan.keeps(i) && depth < product.width; depth += kDepth)
      for (int64_t core = 0; core < operands.plan.cores; ++core)
        kept[&product].push_back(loadOwn(product, core, depth));
}

void CoreTile::beginPass(ArrayRef<ChainProduct *> products, Value begin, Value end) {
  operands.beginPass(products, begin, end);
}

// ---- products -----------------------------------------------------------------------------------

/// First operands of all of this warp's cores.
SmallVector<SmallVector<Value>> CoreTile::getOwn(const ChainProduct &product, int64_t depth) {
  const auto cores = static_cast<size_t>(operands.plan.cores);
  if (auto found = kept.find(&product); found != kept.end())
    return SmallVector<SmallVector<Value>>(
        ArrayRef(found->second).slice(depth / kDepth * cores, cores));
  SmallVector<SmallVector<Value>> loaded;
  for (size_t core = 0; core < cores; ++core)
    loaded.push_back(operands.getOwn(product, static_cast<int64_t>(core), depth));
  return loaded;
}

ChainTile::Numbers CoreTile::multiply(const ChainProduct &product, Value) {
  const auto cores = static_cast<size_t>(operands.plan.cores);
  const size_t columns = shape.streamedSize / kColumns;
  // Of each core the sums of 8 columns, then of the next ones.
  SmallVector<Numbers> sums(cores * columns, Numbers(kNumbers, zero()));
  for (int64_t depth = 0; depth < product.width; depth += kDepth) {
    SmallVector<SmallVector<Value>> a = getOwn(product, depth);
    for (size_t column = 0; column < columns; column += 2) {
      SmallVector<Value> b =
          operands.getStreamed(product, static_cast<int64_t>(column) * kColumns, depth);
      for (size_t core = 0; core < cores; ++core)
        for (size_t i = 0; i < 2; ++i) {
          Numbers &sum = sums[core * columns + column + i];
          sum = emitter.multiplyMatrices(a[core], ArrayRef(b).slice(2 * i, 2), sum);
        }
    }
  }
  Numbers points;
  for (int64_t part = 0; part < ownParts; ++part)
    for (size_t column = 0; column < columns; ++column) {
      const Numbers &sum = sums[part / 2 * columns + column];
      points.append({sum[part % 2 * 2], sum[part % 2 * 2 + 1]});
    }
  return points;
}

/// A warp's sums of two products beside each other are, rounded, the first operand of one.
void CoreTile::publish(ArrayRef<Number> points) {
  panels.assign(operands.plan.cores, {});
  for (auto [core, panel] : llvm::enumerate(panels))
    for (int64_t column = 0; column < streamedParts; column += 2)
      for (int64_t row = 0; row < kRows / kColumns; ++row) {
        const int64_t part = static_cast<int64_t>(core) * (kRows / kColumns) + row;
        Number pair = joinElements(points.slice(part * streamedParts + column, 2));
        panel.push_back(pair.toFloat(narrow).value);
      }
}

ChainTile::Numbers CoreTile::add(const ChainProduct &product, Value, ArrayRef<Number> sums) {
  const int64_t most =
      std::min(shape.streamedSize, static_cast<int64_t>(llvm::alignTo(getStreamedSize(), kDepth)));
  const int64_t ofCore = countSums(product) / operands.plan.cores;
  Numbers added(sums);
  for (int64_t depth = 0; depth < most; depth += kDepth)
    for (int64_t column = 0; column < getColumns(product); column += 2 * kColumns) {
      SmallVector<Value> b = operands.getStreamedTurned(product, depth, column);
      for (auto [core, panel] : llvm::enumerate(panels)) {
        ArrayRef<Value> a = ArrayRef(panel).slice(depth / kDepth * kNumbers, kNumbers);
        for (int64_t i = 0; i < 2; ++i) {
          const int64_t first =
              static_cast<int64_t>(core) * ofCore + (column / kColumns + i) * kNumbers;
          auto own = MutableArrayRef(added).slice(first, kNumbers);
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
  const size_t ofCore = sums.size() / operands.plan.cores;
  for (size_t i = 0; i < sums.size(); i += inPairs ? 2 : 1) {
    Value row = getOwnPlace(firstOwn, getPartOfSum(product, static_cast<int64_t>(i)));
    Value column =
        emitter.add(lanePair, static_cast<int64_t>(i % ofCore / kNumbers * kColumns + i % 2));
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
