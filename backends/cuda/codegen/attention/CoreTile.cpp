// Tiles with tensor cores. A warp computes one or two products of 16 parallel indices for all
// indices of the reduction loop, in the register layout of m16n8k16 of nvgpu.mma.sync: the four
// lanes of a quad hold two rows with a distance of eight, and each lane holds two adjacent ones of
// every eight columns. A thread's elementwise results then already have the layout of the
// consumers' first operand, so no element of a tile moves. Second operands are read from shared
// memory (CoreOperands.h). Two products of 16 rows may share a second operand, which doubles the
// registers.
#include "backends/cuda/codegen/attention/CrossingProduct.h"
#include "backends/cuda/codegen/kernels/SharedMemory.h"

using namespace mlir;
using namespace mlir::cuda;

/// Rows, columns and depth of a tensor-core product, and accumulators per lane.
static constexpr int64_t kRows = CoreOperands::kRows, kColumns = 8, kDepth = CoreOperands::kDepth,
                         kNumbers = 4;
static constexpr int64_t kWarp = 32, kQuad = 4;
/// Registers of a multiprocessor, the maximum per thread, and an estimate of a thread's registers
/// for values other than operands and accumulators.
static constexpr int64_t kRegisters = 65536, kMaxRegisters = 255, kOtherRegisters = 64;

namespace {
class CoreTile : public AttentionTile {
public:
  CoreTile(KernelEmitter &emitter, const FusedAttention &fused, const ElementValues &values,
           Value firstParallel, Shape shape, CoreOperands::Plan plan);

  int64_t getParallelOffset(int64_t part) const override { return part * (kRows / 2); }
  int64_t getStreamedOffset(int64_t part) const override { return part / 2 * kColumns + part % 2; }
  void begin() override;
  void beginPass(ArrayRef<AttentionProduct *> products, Value begin, Value end) override;
  void enterTile(Value tile) override { operands.enterTile(tile); }
  Numbers multiply(const AttentionProduct &product, Value first) override;
  void publish(ArrayRef<Number> elements, size_t panel) override;
  Type getPanelType() override { return narrow; }
  Numbers add(const AttentionProduct &product, Value first, size_t panel,
              ArrayRef<Number> sums) override;
  void cross(const AttentionProduct &product, Value number, size_t panel, const SerialSums &serial,
             const Tickets &tickets) override {
    crossTile({emitter, fused, operands, *this}, product, {number, panel, serial, tickets});
  }
  /// The sums of one product of 16 rows are adjacent, ordered by column.
  int64_t getPartOfSum(const AttentionProduct &product, int64_t index) const override {
    const int64_t ofCore = countSums(product) / operands.plan.cores;
    return index / ofCore * (kRows / kColumns) + index % kNumbers / 2;
  }
  void store(const AttentionProduct &product, ArrayRef<Number> sums) override;
  Number combine(const Combiner &combiner, Number number, int64_t part) override;

private:
  SmallVector<Value> loadParallel(const AttentionProduct &product, int64_t core, int64_t depth);
  SmallVector<SmallVector<Value>> getParallel(const AttentionProduct &product, int64_t depth);
  void addColumns(const AttentionProduct &product, int64_t depth, Value further,
                  ArrayRef<SmallVector<Value>> a, MutableArrayRef<Number> sums);

  CoreOperands operands;
  Type narrow;    ///< type of all operands
  Value lanePair; ///< twice this thread's column index in an operand
  /// Parallel operands in registers, by depth and then by product of 16 rows.
  DenseMap<const AttentionProduct *, SmallVector<SmallVector<Value>>> kept;
  /// The consumers' first operands: by panel, then by product of 16 rows, then by depth.
  SmallVector<SmallVector<SmallVector<Value>>> panels;
};
} // namespace

// ---- plans --------------------------------------------------------------------------------------

/// Returns the type of all operands of products if it is a single 16-bit type.
static Type getNarrowType(const FusedAttention &fused) {
  SmallVector<Type> types;
  for (const AttentionProduct &product : fused.producers)
    types.append({product.parallel.element, product.streamed.element});
  for (const AttentionProduct &product : fused.consumers)
    types.append({getElementTypeOrSelf(product.rows.getType()), product.streamed.element});
  if (types.empty() || !llvm::all_equal(types) || !isa<FloatType>(types.front()) ||
      types.front().getIntOrFloatBitWidth() != 16)
    return {};
  return types.front();
}

/// Registers of a thread for products: sums of the consumers, parallel operands, the tile, and the
/// tile as operands of the consumers.
static int64_t countRegisters(const FusedAttention &fused, const CoreOperands::Plan &plan) {
  auto columnsOf = [](const AttentionProduct &product) {
    return static_cast<int64_t>(llvm::alignTo(product.width, kDepth));
  };
  int64_t ofRow = 0; // of 32 bits
  for (const AttentionProduct &product : fused.consumers)
    ofRow += columnsOf(product) / plan.warpsPerRow + plan.columnsOfWarp() / 2;
  for (auto [i, product] : llvm::enumerate(fused.producers))
    ofRow += plan.columnsOfWarp() + (plan.keeps(i) ? columnsOf(product) / 2 : 0);
  return ofRow * plan.cores * kRows / kWarp;
}

/// Estimate of all registers of a thread.
static int64_t estimateRegisters(const FusedAttention &fused, const CoreOperands::Plan &plan) {
  return std::min(countRegisters(fused, plan) + kOtherRegisters, kMaxRegisters);
}

static int64_t countTogether(const FusedAttention &fused, const CoreOperands::Plan &plan) {
  return kRegisters / (plan.warps() * kWarp * estimateRegisters(fused, plan));
}

/// Lists the plans of a block with `parallelSize` rows and `stages` tiles in shared memory.
static SmallVector<CoreOperands::Plan> listPlans(const FusedAttention &fused, int64_t parallelSize,
                                                 int64_t stages) {
  SmallVector<CoreOperands::Plan> plans;
  for (int64_t cores : {1, 2})
    for (int64_t size = AttentionTile::kSize; size >= kDepth; size /= 2)
      for (unsigned kept = 1U << fused.producers.size(); kept-- > 0;)
        for (int64_t warpsPerRow : {1, 2})
          if (warpsPerRow == 1 || !fused.crossing.empty())
            plans.push_back({size, stages, cores, kept, parallelSize, warpsPerRow});
  return plans;
}

/// Chooses a plan that fits registers and shared memory. With crossing products it prefers most
/// rows per block, since each block reads and writes their results once. Then it prefers
/// asynchronous copies, then the least traffic of shared memory.
static std::optional<CoreOperands::Plan> choosePlan(const FusedAttention &fused, bool isAsync,
                                                    int64_t sharedBytes) {
  const bool crosses = !fused.crossing.empty();
  const int64_t maxRegisters = crosses ? 224 : 208;
  std::optional<CoreOperands::Plan> best;
  int64_t bestBytes = 0;
  const bool isLong = fused.space.getSize(fused.parallel) > AttentionTile::kSize;
  for (int64_t parallel = crosses && isLong ? 2 * AttentionTile::kSize : AttentionTile::kSize;
       parallel >= AttentionTile::kSize && !best; parallel /= 2)
    for (int64_t stages = isAsync ? 2 : 1; stages > 0 && !best; --stages)
      for (const CoreOperands::Plan &plan : listPlans(fused, parallel, stages)) {
        if (countRegisters(fused, plan) > maxRegisters || countTogether(fused, plan) == 0 ||
            !CoreOperands::fits(fused, plan, sharedBytes))
          continue;
        const int64_t bytes = CoreOperands::countBytes(fused, plan);
        if (best && bytes >= bestBytes)
          continue;
        best = plan;
        bestBytes = bytes;
      }
  return best;
}

static std::optional<CoreOperands::Plan> choosePlan(const KernelEmitter &emitter,
                                                    const FusedAttention &fused) {
  if (!getNarrowType(fused))
    return std::nullopt;
  const int64_t sharedBytes =
      fused.crossing.empty() ? kMaxStaticShared : getSharedBytes(emitter.kernel);
  return choosePlan(fused, CoreOperands::canCopyAsync(emitter, fused), sharedBytes);
}

int64_t AttentionTile::getParallelSize(const KernelEmitter &emitter, const FusedAttention &fused) {
  if (fused.crossing.empty())
    return kSize;
  std::optional<CoreOperands::Plan> plan = choosePlan(emitter, fused);
  return plan ? plan->parallelSize : 0;
}

bool AttentionTile::canCross(const FusedAttention &fused, int64_t sharedBytes) {
  return getNarrowType(fused) && choosePlan(fused, /*isAsync=*/false, sharedBytes);
}

std::unique_ptr<AttentionTile> AttentionTile::createCores(KernelEmitter &emitter,
                                                          const FusedAttention &fused,
                                                          const ElementValues &values,
                                                          Value firstParallel) {
  std::optional<CoreOperands::Plan> plan = choosePlan(emitter, fused);
  if (!plan)
    return nullptr;
  const Shape shape{
      plan->warps() * kWarp, plan->cores * kRows / kColumns, 2 * plan->columnsOfWarp() / kColumns,
      plan->streamedSize,    countTogether(fused, *plan),    plan->parallelSize};
  return std::make_unique<CoreTile>(emitter, fused, values, firstParallel, shape, *plan);
}

CoreTile::CoreTile(KernelEmitter &emitter, const FusedAttention &fused, const ElementValues &values,
                   Value firstParallel, Shape shape, CoreOperands::Plan plan)
    : AttentionTile(emitter, fused, values, firstParallel, shape), operands(emitter, fused, plan),
      narrow(getNarrowType(fused)) {
  Value lane = emitter.rem(emitter.thread(), kWarp);
  lanePair = emitter.mul(emitter.rem(lane, kQuad), 2);
  parallelLane =
      emitter.add(emitter.mul(operands.warpRow, plan.cores * kRows), emitter.div(lane, kQuad));
  streamedLane = emitter.add(lanePair, emitter.mul(operands.warpColumn, plan.columnsOfWarp()));
}

// ---- operands -----------------------------------------------------------------------------------

/// Loads a first operand from memory: this thread's pairs of its rows, from a depth on.
SmallVector<Value> CoreTile::loadParallel(const AttentionProduct &product, int64_t core,
                                          int64_t depth) {
  const AttentionMatrix &matrix = product.parallel;
  Value outer = getOuterPosition(matrix);
  const bool isAligned =
      matrix.widthStride == 1 && llvm::all_of(matrix.strides, [](int64_t s) { return s % 2 == 0; });
  const Number none = zero().toFloat(narrow);
  SmallVector<Value> pairs;
  for (int64_t pair = 0; pair < kNumbers; ++pair) {
    const int64_t part = core * (kRows / kColumns) + pair % 2;
    Value row = getLoopIndex(getParallelPlace(firstParallel, part), fused.parallel).coordinate;
    Value start = emitter.add(outer, emitter.mul(row, matrix.strides[fused.parallel]));
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
  operands.begin(*this, firstParallel);
  for (auto [i, product] : llvm::enumerate(fused.producers))
    for (int64_t depth = 0; operands.plan.keeps(i) && depth < product.width; depth += kDepth)
      for (int64_t core = 0; core < operands.plan.cores; ++core)
        kept[&product].push_back(loadParallel(product, core, depth));
}

void CoreTile::beginPass(ArrayRef<AttentionProduct *> products, Value begin, Value end) {
  operands.beginPass(products, begin, end);
}

// ---- products -----------------------------------------------------------------------------------

/// Returns the first operands of all of this warp's products.
SmallVector<SmallVector<Value>> CoreTile::getParallel(const AttentionProduct &product,
                                                      int64_t depth) {
  const auto cores = static_cast<size_t>(operands.plan.cores);
  if (auto found = kept.find(&product); found != kept.end())
    return SmallVector<SmallVector<Value>>(
        ArrayRef(found->second).slice(depth / kDepth * cores, cores));
  SmallVector<SmallVector<Value>> loaded;
  for (size_t core = 0; core < cores; ++core)
    loaded.push_back(operands.getParallel(product, static_cast<int64_t>(core), depth));
  return loaded;
}

AttentionTile::Numbers CoreTile::multiply(const AttentionProduct &product, Value) {
  const auto cores = static_cast<size_t>(operands.plan.cores);
  const size_t columns = operands.plan.columnsOfWarp() / kColumns;
  // Ordered by product of 16 rows, then by group of 8 columns.
  SmallVector<Numbers> sums(cores * columns, Numbers(kNumbers, zero()));
  for (int64_t depth = 0; depth < product.width; depth += kDepth) {
    SmallVector<SmallVector<Value>> a = getParallel(product, depth);
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
  Numbers elements;
  for (int64_t part = 0; part < parallelParts; ++part)
    for (size_t column = 0; column < columns; ++column) {
      const Numbers &sum = sums[part / 2 * columns + column];
      elements.append({sum[part % 2 * 2], sum[part % 2 * 2 + 1]});
    }
  return elements;
}

/// Two adjacent products' accumulators, once rounded, are one first operand.
void CoreTile::publish(ArrayRef<Number> elements, size_t number) {
  panels.resize(std::max(panels.size(), number + 1));
  panels[number].assign(operands.plan.cores, {});
  for (auto [core, panel] : llvm::enumerate(panels[number]))
    for (int64_t column = 0; column < streamedParts; column += 2)
      for (int64_t row = 0; row < kRows / kColumns; ++row) {
        const int64_t part = static_cast<int64_t>(core) * (kRows / kColumns) + row;
        Number pair =
            joinElements(elements.slice(part * streamedParts + column, 2)).toFloat(narrow);
        panel.push_back(pair.value);
        if (operands.sharesPanels())
          operands.putPanel(number, getParallelPlace(emitter.index(0), part),
                            getStreamedPlace(emitter.index(0), column), pair);
      }
}

/// Accumulates products of 16 indices of the reduction loop from `depth` on, offset by `further`.
void CoreTile::addColumns(const AttentionProduct &product, int64_t depth, Value further,
                          ArrayRef<SmallVector<Value>> a, MutableArrayRef<Number> sums) {
  const int64_t ofCore = countSums(product) / operands.plan.cores;
  for (int64_t column = 0; column < getColumns(product) / operands.plan.warpsPerRow;
       column += 2 * kColumns) {
    SmallVector<Value> b = operands.getStreamedTransposed(product, depth, column, further);
    for (auto [core, first] : llvm::enumerate(a))
      for (int64_t i = 0; i < 2; ++i) {
        auto addends = sums.slice(
            static_cast<int64_t>(core) * ofCore + (column / kColumns + i) * kNumbers, kNumbers);
        llvm::copy(emitter.multiplyMatrices(first, ArrayRef(b).slice(2 * i, 2), addends),
                   addends.begin());
      }
  }
}

/// Uses the columns that this warp computed first, then those of its adjacent warps.
AttentionTile::Numbers CoreTile::add(const AttentionProduct &product, Value, size_t number,
                                     ArrayRef<Number> sums) {
  const CoreOperands::Plan &plan = operands.plan;
  const int64_t columns = plan.columnsOfWarp();
  const int64_t maximum =
      plan.warpsPerRow > 1
          ? columns
          : std::min(columns, static_cast<int64_t>(llvm::alignTo(getStreamedSize(), kDepth)));
  Numbers added(sums);
  for (int64_t other = 0; other < plan.warpsPerRow; ++other) {
    Value first = emitter.mul(
        emitter.rem(emitter.add(operands.warpColumn, other), plan.warpsPerRow), columns);
    for (int64_t depth = 0; depth < maximum; depth += kDepth) {
      SmallVector<SmallVector<Value>> a;
      for (auto [core, panel] : llvm::enumerate(panels[number]))
        a.push_back(
            other == 0
                ? llvm::to_vector(ArrayRef(panel).slice(depth / kDepth * kNumbers, kNumbers))
                : operands.getPanel(number, static_cast<int64_t>(core), emitter.add(first, depth)));
      addColumns(product, depth, plan.warpsPerRow > 1 ? first : Value(), a, added);
    }
  }
  return added;
}

void CoreTile::store(const AttentionProduct &product, ArrayRef<Number> sums) {
  const AttentionMatrix &matrix = product.parallel;
  Value outer = getOuterPosition(matrix);
  Type type = getComputeType(matrix.element);
  const bool inPairs = matrix.widthStride == 1 && product.width % 2 == 0;
  const bool isAligned = llvm::all_of(matrix.strides, [](int64_t s) { return s % 2 == 0; });
  const size_t ofCore = sums.size() / operands.plan.cores;
  for (size_t i = 0; i < sums.size(); i += inPairs ? 2 : 1) {
    Value row = getParallelPlace(firstParallel, getPartOfSum(product, static_cast<int64_t>(i)));
    Value column = emitter.add(
        emitter.add(lanePair, static_cast<int64_t>(i % ofCore / kNumbers * kColumns + i % 2)),
        emitter.mul(operands.warpColumn, getColumns(product) / operands.plan.warpsPerRow));
    Value exists = getParallelLoop() % shape.parallelSize == 0
                       ? Value()
                       : emitter.less(row, getParallelLoop());
    if (product.width % kDepth != 0)
      exists = emitter.both(exists, emitter.less(column, product.width));
    Value position =
        emitter.add(outer, emitter.add(emitter.mul(row, matrix.strides[fused.parallel]),
                                       emitter.mul(column, matrix.widthStride)));
    Number stored = inPairs ? joinElements(sums.slice(i, 2)) : sums[i];
    emitter.onlyIf(
        exists, [&] { emitter.store(matrix.buffer, position, stored.toFloat(type), isAligned); });
  }
}

// ---- reductions ---------------------------------------------------------------------------------

/// The lanes of a quad share a row.
Number CoreTile::combine(const Combiner &combiner, Number number, int64_t) {
  for (int64_t mask = 1; mask < kQuad; mask *= 2)
    number = combiner.combine(number, emitter.shuffleXor(number, mask));
  return number;
}
