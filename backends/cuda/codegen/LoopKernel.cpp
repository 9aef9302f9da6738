// Kernels of kind "loop" and "reduce": elementwise work and reductions over one space.
//
// Three shapes, by what is reduced. Points: a thread computes all values at a few neighbouring
// points. Rows: threads share a row, whose columns they hold in registers or, where these are too
// many, read again for each reduction. Columns: a warp stands side by side on what is kept, and the
// warps of a block share what is reduced. A value that does not vary along what is reduced is
// computed once a row; every other value once a chunk of it.
#include "backends/cuda/codegen/Geometry.h"
#include "backends/cuda/codegen/KernelEmitter.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::GroupSet;
using mlir::st::IterationSpace;
namespace hlo = mlir::stablehlo;

static constexpr int64_t kWarp = 32;

namespace {
class LoopKernel {
public:
  LoopKernel(KernelEmitter &emitter, IterationSpace space)
      : emitter(emitter), space(std::move(space)), coordinates(this->space.getNumGroups()) {}

  LogicalResult emit();

private:
  /// Values at one point, or at `width` neighbours of the innermost group.
  using Known = DenseMap<Value, Value>;
  struct Chunk {
    Known known;
    SmallVector<Value> coordinates;
    Value exists; // null: always
  };
  /// One reduction under way.
  struct Sum {
    hlo::ReduceOp op;
    Combiner combiner;
  };

  KernelEmitter &emitter;
  IterationSpace space;
  GroupSet reduced = 0; ///< groups that reductions run over
  int64_t width = 1;
  SmallVector<Value> coordinates; ///< of the current point, by group
  Known ofRow, ofChunk;
  SmallVector<SmallVector<Sum>> levels;

  LogicalResult findReductions();
  Work getWork() const;
  LogicalResult emitPoints(const Geometry &geometry);
  LogicalResult emitRows(const Geometry &geometry);
  LogicalResult emitColumns(const Geometry &geometry);

  SmallVector<unsigned> groupsIn(GroupSet set) const;
  SmallVector<int64_t> sizesOf(ArrayRef<unsigned> groups) const;
  void setPosition(ArrayRef<unsigned> groups, Value position);
  bool isOfRow(Value value) const { return (space.getGroups(value) & reduced) == 0; }

  FailureOr<Number> get(Value value);
  FailureOr<Number> compute(Value value);
  FailureOr<Number> computeIota(hlo::IotaOp iota);
  Number loadAccess(BlockArgument argument, Value seenAs, int64_t offset);
  LogicalResult prepare(Value value, DenseSet<Value> &seen);

  FailureOr<Number> accumulate(const Sum &sum, Number total, Value valid);
  Number identityOf(const Sum &sum);
  LogicalResult finishSum(Sum &sum, Number total);
  LogicalResult storeResults(bool ofRows, GroupSet looped, Value condition);
  LogicalResult storeResult(unsigned result, GroupSet looped, Value condition);
};
} // namespace

static Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

// ---- the space ----------------------------------------------------------------------------------

SmallVector<unsigned> LoopKernel::groupsIn(GroupSet set) const {
  SmallVector<unsigned> groups;
  for (unsigned group = 0; group < space.getNumGroups(); ++group)
    if (set >> group & 1)
      groups.push_back(group);
  return groups;
}

SmallVector<int64_t> LoopKernel::sizesOf(ArrayRef<unsigned> groups) const {
  return llvm::map_to_vector(groups, [&](unsigned group) { return space.getSize(group); });
}

void LoopKernel::setPosition(ArrayRef<unsigned> groups, Value position) {
  SmallVector<Value> values = emitter.delinearize(position, sizesOf(groups));
  for (auto [group, value] : llvm::zip_equal(groups, values))
    coordinates[group] = value;
}

/// Sorts reductions by how many others each depends on.
LogicalResult LoopKernel::findReductions() {
  DenseMap<Value, size_t> levelOf;
  std::optional<GroupSet> found;
  for (Operation &op : emitter.body.without_terminator()) {
    size_t level = 0;
    for (Value operand : op.getOperands())
      level = std::max(level, levelOf.lookup(operand));
    if (auto reduce = dyn_cast<hlo::ReduceOp>(op); reduce && !op.use_empty()) {
      FailureOr<Combiner> combiner = Combiner::get(&op);
      if (failed(combiner))
        return failure();
      GroupSet kept = space.getGroups(reduce.getResult(0));
      GroupSet own = space.getGroups(reduce.getInputs()[0]) & ~kept;
      if (own != found.value_or(own))
        return op.emitOpError("reduces other dimensions than a reduction before it in its kernel, "
                              "which has no CUDA code generation");
      found = own;
      levels.resize(std::max(levels.size(), level + 1));
      levels[level].push_back({reduce, *combiner});
      ++level;
    }
    for (Value result : op.getResults())
      levelOf[result] = level;
  }
  reduced = found.value_or(0);
  return success();
}

Work LoopKernel::getWork() const {
  Work work;
  work.isReduction = !levels.empty();
  unsigned groups = space.getNumGroups();
  GroupSet all = (GroupSet(1) << groups) - 1;
  work.kept = space.getVolume(all & ~reduced);
  work.reduced = space.getVolume(reduced);
  work.innermost = groups == 0 ? 1 : space.getSize(groups - 1);
  // Nothing but dimensions of size 1 may be reduced: then each point is a row of its own.
  work.reducesInnermost = reduced == 0 || (reduced >> (groups - 1) & 1);
  if (work.isReduction && reduced == 0)
    work.innermost = 1;
  work.bytes = 1;
  auto see = [&](Type type) {
    unsigned bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    work.bytes = std::max<int64_t>(work.bytes, bits / 8);
  };
  for (BlockArgument argument : emitter.body.getArguments())
    see(argument.getType());
  for (Value result : emitter.body.getTerminator()->getOperands())
    see(result.getType());
  return work;
}

// ---- values -------------------------------------------------------------------------------------

FailureOr<Number> LoopKernel::get(Value value) {
  Known &known = isOfRow(value) ? ofRow : ofChunk;
  if (Value found = known.lookup(value))
    return emitter.number(found);
  FailureOr<Number> number = compute(value);
  if (succeeded(number))
    known[value] = number->value;
  return number;
}

/// An access of a tensor in memory along the space.
Number LoopKernel::loadAccess(BlockArgument argument, Value seenAs, int64_t offset) {
  SmallVector<int64_t> strides = space.getStrides(seenAs);
  Value position = emitter.index(0);
  bool isAligned = offset % width == 0;
  for (auto [group, stride] : llvm::enumerate(strides)) {
    if (stride == 0)
      continue;
    position = emitter.add(position, emitter.mul(coordinates[group], stride));
    if (group + 1 < strides.size())
      isAligned &= stride % width == 0;
  }
  position = emitter.add(position, offset);
  unsigned buffer = emitter.getBuffer(argument);
  int64_t step = strides.empty() ? 0 : strides.back();
  if (width == 1 || step == 0)
    return emitter.load(buffer, position, elementOf(seenAs));
  if (step == 1)
    return emitter.load(buffer, position, elementOf(seenAs), width, isAligned);
  SmallVector<Number> elements;
  for (int64_t i = 0; i < width; ++i)
    elements.push_back(emitter.load(buffer, emitter.add(position, i * step), elementOf(seenAs)));
  return joinElements(elements);
}

FailureOr<Number> LoopKernel::computeIota(hlo::IotaOp iota) {
  std::optional<unsigned> group = space.getIotaGroup(iota);
  Number place = emitter.fromIndex(group ? coordinates[*group] : emitter.index(0));
  if (group && *group + 1 == space.getNumGroups() && width > 1)
    place = place + place.lanes(width);
  return convertNumber(place, place.element(), elementOf(iota.getResult()));
}

FailureOr<Number> LoopKernel::compute(Value value) {
  if (!getComputeType(elementOf(value)))
    return emitter.kernel->emitOpError("has values of ")
           << elementOf(value) << ", which has no CUDA code generation";
  if (auto argument = dyn_cast<BlockArgument>(value))
    return loadAccess(argument, value, 0);
  Operation *op = value.getDefiningOp();
  if (st::isArgumentSlice(op)) {
    auto slice = cast<hlo::SliceOp>(op);
    auto argument = cast<BlockArgument>(slice.getOperand());
    int64_t offset = 0;
    ArrayRef<int64_t> shape = cast<RankedTensorType>(argument.getType()).getShape();
    for (auto [start, stride] : llvm::zip_equal(slice.getStartIndices(), st::denseStrides(shape)))
      offset += start * stride;
    return loadAccess(argument, value, offset);
  }
  if (auto constant = dyn_cast<hlo::ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat)
      return op->emitOpError("of different elements in a kernel has no CUDA code generation");
    return emitter.constant(splat.getSplatValue<Attribute>(), elementOf(value));
  }
  if (auto iota = dyn_cast<hlo::IotaOp>(op))
    return computeIota(iota);
  if (isa<hlo::BroadcastInDimOp, hlo::ReshapeOp>(op))
    return get(op->getOperand(0));
  if (isa<hlo::ReduceOp>(op))
    return op->emitOpError("of what columns of a reduction give has no CUDA code generation");
  SmallVector<Number> operands;
  for (Value operand : op->getOperands()) {
    FailureOr<Number> number = get(operand);
    if (failed(number))
      return failure();
    operands.push_back(*number);
  }
  return emitElementwise(op, operands);
}

/// Computes what a value needs of its row, so that loops over chunks find it.
LogicalResult LoopKernel::prepare(Value value, DenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return success();
  if (isOfRow(value))
    return success(succeeded(get(value)));
  Operation *op = value.getDefiningOp();
  if (!op || st::isArgumentSlice(op))
    return success();
  for (Value operand : op->getOperands())
    if (failed(prepare(operand, seen)))
      return failure();
  return success();
}

// ---- results ------------------------------------------------------------------------------------

LogicalResult LoopKernel::storeResult(unsigned result, GroupSet looped, Value condition) {
  Value value = emitter.body.getTerminator()->getOperand(result);
  FailureOr<Number> number = get(value);
  if (failed(number))
    return failure();
  GroupSet own = space.getGroups(value);
  int64_t stride = 1;
  bool isVector = width > 1 && (own >> (space.getNumGroups() - 1) & 1);
  bool isAligned = true;
  Value position = emitter.index(0);
  // Along what a value does not vary, the first point stores it.
  for (unsigned group : llvm::reverse(groupsIn(own | looped))) {
    if (own >> group & 1) {
      position = emitter.add(position, emitter.mul(coordinates[group], stride));
      stride *= space.getSize(group);
      isAligned &= stride % width == 0;
    } else {
      condition = emitter.both(condition, emitter.isZero(coordinates[group]));
    }
  }
  Number stored = isVector ? number->splat(width) : *number;
  emitter.onlyIf(condition, [&] {
    emitter.store(emitter.getResultBuffer(result), position, stored, isAligned);
  });
  return success();
}

/// The results that belong to rows, or those that belong to their columns.
LogicalResult LoopKernel::storeResults(bool ofRows, GroupSet looped, Value condition) {
  for (auto [result, value] : llvm::enumerate(emitter.body.getTerminator()->getOperands()))
    if (isOfRow(value) == ofRows && failed(storeResult(result, looped, condition)))
      return failure();
  return success();
}

// ---- reductions ---------------------------------------------------------------------------------

/// As a vector where the innermost group is.
Number LoopKernel::identityOf(const Sum &sum) {
  Number identity = sum.combiner.identity(emitter.number(emitter.index(0)));
  return width > 1 ? identity.splat(width) : identity;
}

FailureOr<Number> LoopKernel::accumulate(const Sum &sum, Number total, Value valid) {
  hlo::ReduceOp op = sum.op;
  FailureOr<Number> number = get(op.getInputs()[0]);
  if (failed(number))
    return failure();
  Number term = number->isFloat() ? number->toFloat(sum.combiner.getType()) : *number;
  if (width > 1)
    term = term.splat(width);
  if (valid)
    term = emitter.number(valid).select(term, identityOf(sum));
  return sum.combiner.combine(total, term);
}

/// Makes the reduction's result known from what all terms give.
LogicalResult LoopKernel::finishSum(Sum &sum, Number total) {
  FailureOr<Number> first = get(sum.op.getInitValues()[0]);
  if (failed(first))
    return failure();
  Number start = first->isFloat() ? first->toFloat(sum.combiner.getType()) : *first;
  Number result = sum.combiner.combine(start, total);
  Type type = getComputeType(elementOf(sum.op.getResult(0)));
  ofRow[sum.op.getResult(0)] = (result.isFloat() ? result.toFloat(type) : result).value;
  return success();
}

// ---- shapes -------------------------------------------------------------------------------------

LogicalResult LoopKernel::emitPoints(const Geometry &geometry) {
  GroupSet all = (GroupSet(1) << space.getNumGroups()) - 1;
  int64_t points = space.getVolume(all), perBlock = geometry.threads * width;
  Value position = emitter.mul(
      emitter.add(emitter.mul(emitter.block(), geometry.threads), emitter.thread()), width);
  LogicalResult result = success();
  emitter.onlyIf(points % perBlock == 0 ? Value() : emitter.less(position, points), [&] {
    setPosition(groupsIn(all), position);
    result = success(succeeded(storeResults(/*ofRows=*/false, all, {})) &&
                     succeeded(storeResults(/*ofRows=*/true, all, {})));
  });
  return result;
}

LogicalResult LoopKernel::emitRows(const Geometry &geometry) {
  GroupSet all = (GroupSet(1) << space.getNumGroups()) - 1, kept = all & ~reduced;
  int64_t rows = space.getVolume(kept), vectors = space.getVolume(reduced) / width;
  int64_t perBlock = geometry.threads / geometry.sharers;
  Value lane = emitter.rem(emitter.thread(), geometry.sharers);
  Value row = emitter.add(emitter.mul(emitter.block(), perBlock),
                          emitter.div(emitter.thread(), geometry.sharers));
  Value rowExists = rows % perBlock == 0 ? Value() : emitter.less(row, rows);
  // Threads without a row go along with the last one, so that all meet at shuffles and barriers.
  setPosition(groupsIn(kept), rowExists ? emitter.min(row, rows - 1) : row);

  // Each chunk's position, clamped likewise, and whether it exists.
  auto enter = [&](Value chunk, bool isWhole) -> Value {
    Value position = emitter.add(emitter.mul(chunk, geometry.sharers), lane);
    Value exists = isWhole ? Value() : emitter.less(position, vectors);
    position = exists ? emitter.min(position, vectors - 1) : position;
    setPosition(groupsIn(reduced), emitter.mul(position, width));
    return exists;
  };
  // Registers: chunks are unrolled, and what is known of one stays known.
  SmallVector<Chunk> resident(geometry.isResident ? geometry.chunks : 0);
  using Body = llvm::function_ref<LogicalResult(Value exists, SmallVectorImpl<Number> & totals)>;
  auto forChunks = [&](SmallVector<Number> totals, Body body) -> FailureOr<SmallVector<Number>> {
    if (!geometry.isResident) {
      LogicalResult result = success();
      bool isWhole = vectors % geometry.sharers == 0;
      totals = emitter.loop(emitter.index(0), emitter.index(geometry.chunks), 1, totals,
                            [&](Value chunk, ArrayRef<Number> carried) {
                              SmallVector<Number> next(carried);
                              ofChunk.clear();
                              if (failed(body(enter(chunk, isWhole), next)))
                                result = failure();
                              ofChunk.clear();
                              return next;
                            });
      return failed(result) ? FailureOr<SmallVector<Number>>(failure()) : totals;
    }
    for (auto [i, chunk] : llvm::enumerate(resident)) {
      int64_t end = (static_cast<int64_t>(i) + 1) * geometry.sharers;
      std::swap(ofChunk, chunk.known);
      if (chunk.coordinates.empty()) {
        chunk.exists = enter(emitter.index(i), end <= vectors);
        chunk.coordinates = coordinates;
      }
      coordinates = chunk.coordinates;
      LogicalResult result = body(chunk.exists, totals);
      std::swap(ofChunk, chunk.known);
      if (failed(result))
        return failure();
    }
    return totals;
  };

  DenseSet<Value> seen;
  for (SmallVector<Sum> &level : levels) {
    seen.clear();
    SmallVector<Number> totals;
    for (Sum &sum : level) {
      if (failed(prepare(sum.op.getInputs()[0], seen)))
        return failure();
      totals.push_back(identityOf(sum));
    }
    FailureOr<SmallVector<Number>> sums =
        forChunks(totals, [&](Value exists, SmallVectorImpl<Number> &next) -> LogicalResult {
          for (auto [i, sum] : llvm::enumerate(level)) {
            FailureOr<Number> total = accumulate(sum, next[i], exists);
            if (failed(total))
              return failure();
            next[i] = *total;
          }
          return success();
        });
    if (failed(sums))
      return failure();
    for (auto [sum, total] : llvm::zip_equal(level, *sums))
      if (failed(finishSum(sum,
                           emitter.combineAcross(sum.combiner, sum.combiner.combineElements(total),
                                                 geometry.sharers, geometry.threads))))
        return failure();
  }

  bool hasColumns = false;
  seen.clear();
  for (Value value : emitter.body.getTerminator()->getOperands()) {
    hasColumns |= !isOfRow(value);
    if (failed(prepare(value, seen)))
      return failure();
  }
  if (hasColumns && failed(forChunks({}, [&](Value exists, SmallVectorImpl<Number> &) {
        return storeResults(/*ofRows=*/false, all, emitter.both(rowExists, exists));
      })))
    return failure();
  return storeResults(/*ofRows=*/true, kept, emitter.both(rowExists, emitter.isZero(lane)));
}

LogicalResult LoopKernel::emitColumns(const Geometry &geometry) {
  if (levels.size() > 1)
    return levels[1][0].op.emitOpError(
        "reduces leading dimensions of what depends on such a reduction, which has no CUDA code "
        "generation");
  GroupSet all = (GroupSet(1) << space.getNumGroups()) - 1, kept = all & ~reduced;
  int64_t points = space.getVolume(kept), perBlock = kWarp * width;
  Value lane = emitter.rem(emitter.thread(), kWarp), warp = emitter.div(emitter.thread(), kWarp);
  Value position = emitter.mul(emitter.add(emitter.mul(emitter.block(), kWarp), lane), width);
  Value exists = points % perBlock == 0 ? Value() : emitter.less(position, points);
  setPosition(groupsIn(kept), exists ? emitter.min(position, points - width) : position);

  SmallVector<Number> totals;
  DenseSet<Value> seen;
  for (Sum &sum : levels[0]) {
    if (failed(prepare(sum.op.getInputs()[0], seen)))
      return failure();
    totals.push_back(identityOf(sum));
  }
  LogicalResult result = success();
  totals = emitter.loop(warp, emitter.index(space.getVolume(reduced)), geometry.sharers, totals,
                        [&](Value i, ArrayRef<Number> carried) {
                          SmallVector<Number> next(carried);
                          setPosition(groupsIn(reduced), i);
                          ofChunk.clear();
                          for (auto [k, sum] : llvm::enumerate(levels[0])) {
                            FailureOr<Number> total = accumulate(sum, next[k], {});
                            if (failed(total))
                              result = failure();
                            else
                              next[k] = *total;
                          }
                          ofChunk.clear();
                          return next;
                        });
  if (failed(result))
    return failure();

  // What the warps have goes through shared memory to the first of them.
  SmallVector<Value> shared;
  Value own = emitter.mul(emitter.thread(), width);
  for (auto [sum, total] : llvm::zip_equal(levels[0], totals)) {
    shared.push_back(emitter.addShared(geometry.threads * width, sum.combiner.getType()));
    SmallVector<Number> elements = width > 1 ? elementsOf(total) : SmallVector<Number>{total};
    for (auto [i, element] : llvm::enumerate(elements))
      emitter.storeShared(shared.back(), emitter.add(own, i), element);
  }
  emitter.barrier();
  emitter.onlyIf(emitter.both(exists, emitter.isZero(warp)), [&] {
    for (auto [k, sum] : llvm::enumerate(levels[0])) {
      SmallVector<Number> elements =
          width > 1 ? elementsOf(totals[k]) : SmallVector<Number>{totals[k]};
      for (int64_t other = 1; other < geometry.sharers; ++other)
        for (auto [i, element] : llvm::enumerate(elements)) {
          Value place = emitter.add(own, other * perBlock + static_cast<int64_t>(i));
          Number term = emitter.loadShared(shared[k], place, sum.combiner.getType());
          element = sum.combiner.combine(element, term);
        }
      if (failed(finishSum(sum, width > 1 ? joinElements(elements) : elements[0])))
        result = failure();
    }
    if (succeeded(result))
      result = storeResults(/*ofRows=*/true, kept, {});
  });
  return result;
}

LogicalResult LoopKernel::emit() {
  if (failed(findReductions()))
    return failure();
  Work work = getWork();
  for (Value result : emitter.body.getTerminator()->getOperands())
    if (!work.reducesInnermost && !isOfRow(result))
      return emitter.kernel->emitOpError("has results along leading dimensions that it reduces, "
                                         "which has no CUDA code generation");
  if (work.reduced == 0 || work.kept == 0)
    return emitter.kernel->emitOpError("of no elements has no CUDA code generation");
  Geometry geometry = chooseGeometry(work);
  width = geometry.width;
  LogicalResult result = levels.empty()          ? emitPoints(geometry)
                         : work.reducesInnermost ? emitRows(geometry)
                                                 : emitColumns(geometry);
  if (succeeded(result))
    emitter.finish({geometry.blocks, geometry.threads});
  return result;
}

LogicalResult mlir::cuda::emitLoopKernel(KernelEmitter &emitter) {
  FailureOr<IterationSpace> space = IterationSpace::analyze(emitter.body);
  if (failed(space))
    return failure();
  space->formGroups();
  return LoopKernel(emitter, std::move(*space)).emit();
}
