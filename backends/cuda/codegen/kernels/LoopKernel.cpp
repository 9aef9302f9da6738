// Kernels of kind "loop" and "reduce": elementwise work and reductions over one space.
//
// The reduced dimensions determine one of three loop nests. Elements: a thread computes all values
// at a few adjacent elements. Rows: threads share a row and hold its columns in registers, or load
// them again for each reduction except sums of exponentials relative to a maximum. Columns: the
// lanes of a warp are adjacent along kept dimensions, and a block's warps share the reduced ones.
// Values that vary along reduced dimensions are computed once per chunk, others once per row.
#include "backends/cuda/codegen/kernels/ElementValues.h"
#include "backends/cuda/codegen/kernels/Geometry.h"
#include "backends/cuda/codegen/kernels/OnlineSums.h"
#include "dialects/St/Interfaces/Notes.h"

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::GroupSet;
using mlir::st::IterationSpace;
namespace hlo = mlir::stablehlo;

static constexpr int64_t kWarp = 32;

namespace {
class LoopKernel : private ElementValues {
public:
  LoopKernel(KernelEmitter &emitter, IterationSpace space)
      : ElementValues(emitter, emitter.body, std::move(space)) {}

  LogicalResult emit();

private:
  /// Values at `width` adjacent elements of the innermost group.
  struct Chunk {
    Known known;
    SmallVector<Value> coordinates;
    Value exists; // null: always
  };

  /// A sum that is accumulated in the pass of the previous level, with the indices of its total and
  /// of its running maximum among the carried numbers.
  struct OnlineTotal {
    Sum sum;
    OnlineSum how;
    size_t total, greatest;
  };
  using OnlineSums = SmallVector<OnlineTotal>;
  OnlineSums enterOnline(ArrayRef<Sum> level, ArrayRef<Sum> next, SmallVectorImpl<Number> &totals);
  LogicalResult accumulateOnline(ArrayRef<Sum> level, OnlineSums &online, Value exists,
                                 SmallVectorImpl<Number> &carried);
  FailureOr<Number> rescale(ArrayRef<Sum> level, OnlineTotal &online, ArrayRef<Number> carried);

  /// State that the passes over the chunks of a thread's row share.
  struct RowPass {
    const Geometry &geometry;
    Value lane; ///< of the thread among those that share its row
    SmallVector<Chunk> resident;
  };
  using AtChunk = llvm::function_ref<LogicalResult(Value exists, SmallVectorImpl<Number> &totals)>;
  Value enterChunk(RowPass &pass, Value chunk, bool isFull);
  FailureOr<SmallVector<Number>> forChunks(RowPass &pass, SmallVector<Number> totals, AtChunk body);
  FailureOr<bool> reduceLevel(RowPass &pass, size_t number);

  LogicalResult emitElements(const Geometry &geometry);
  LogicalResult emitRows(const Geometry &geometry);
  LogicalResult emitColumns(const Geometry &geometry);
  LogicalResult storeResults(bool ofRows, GroupSet looped, Value condition);
};
} // namespace

// ---- results ------------------------------------------------------------------------------------

/// Stores the results that are per row, or those that are per element.
LogicalResult LoopKernel::storeResults(bool ofRows, GroupSet looped, Value condition) {
  for (auto [result, value] : llvm::enumerate(emitter.body.getTerminator()->getOperands()))
    if (isOfRow(value) == ofRows &&
        failed(store(value, emitter.getResultBuffer(result), looped, condition)))
      return failure();
  return success();
}

// ---- loop nests ---------------------------------------------------------------------------------

LogicalResult LoopKernel::emitElements(const Geometry &geometry) {
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

/// Returns all sums of the next level if each can be accumulated along with this level's maxima,
/// and appends their totals and running maxima to `totals`.
LoopKernel::OnlineSums LoopKernel::enterOnline(ArrayRef<Sum> level, ArrayRef<Sum> next,
                                               SmallVectorImpl<Number> &totals) {
  OnlineSums online;
  for (const Sum &sum : next) {
    std::optional<OnlineSum> how = findOnlineSum(sum, level);
    if (!how)
      return {};
    online.push_back({sum, *how, 0, 0});
  }
  for (OnlineTotal &one : online) {
    one.total = totals.size();
    totals.push_back(identityOf(one.sum));
    one.greatest = totals.size();
    Number least = totals[one.how.maximum];
    totals.push_back(width > 1 ? least.extract(0) : least);
  }
  return online;
}

/// Accumulates a chunk's terms relative to the thread's running maximum, which `carried` already
/// includes.
LogicalResult LoopKernel::accumulateOnline(ArrayRef<Sum> level, OnlineSums &online, Value exists,
                                           SmallVectorImpl<Number> &carried) {
  for (OnlineTotal &one : online) {
    const Sum &maximum = level[one.how.maximum];
    hlo::ReduceOp reduce = maximum.op;
    Number greatest = maximum.combiner.combineElements(carried[one.how.maximum]);
    Number below = getBelow(greatest);
    FailureOr<Number> scale = emitElementwise(one.how.exponential, carried[one.greatest] - below);
    if (failed(scale))
      return failure();
    // Values cached with this maximum are not valid for the next chunk.
    Known before = ofRow;
    ofRow[reduce.getResult(0)] = below.value;
    Number total = carried[one.total];
    FailureOr<Number> next =
        accumulate(one.sum, total * (width > 1 ? scale->splat(width) : *scale), exists);
    ofRow = std::move(before);
    if (failed(next))
      return failure();
    carried[one.total] = *next;
    carried[one.greatest] = greatest;
  }
  return success();
}

/// Returns a thread's sum relative to the final maximum of its row.
FailureOr<Number> LoopKernel::rescale(ArrayRef<Sum> level, OnlineTotal &online,
                                      ArrayRef<Number> carried) {
  hlo::ReduceOp reduce = level[online.how.maximum].op;
  Number maximum = emitter.number(ofRow.lookup(reduce.getResult(0)));
  FailureOr<Number> scale =
      emitElementwise(online.how.exponential, carried[online.greatest] - maximum);
  if (failed(scale))
    return failure();
  return online.sum.combiner.combineElements(carried[online.total]) * *scale;
}

/// Each chunk's position, clamped as rows are, and whether it exists.
Value LoopKernel::enterChunk(RowPass &pass, Value chunk, bool isFull) {
  const int64_t vectors = space.getVolume(reduced) / width;
  Value position = emitter.add(emitter.mul(chunk, pass.geometry.sharers), pass.lane);
  Value exists = isFull ? Value() : emitter.less(position, vectors);
  position = exists ? emitter.min(position, vectors - 1) : position;
  setPosition(groupsIn(reduced), emitter.mul(position, width));
  return exists;
}

/// Calls `body` for each chunk of a thread's row, with the totals so far.
FailureOr<SmallVector<Number>> LoopKernel::forChunks(RowPass &pass, SmallVector<Number> totals,
                                                     AtChunk body) {
  const Geometry &geometry = pass.geometry;
  const int64_t vectors = space.getVolume(reduced) / width;
  if (!geometry.isResident) {
    LogicalResult result = success();
    bool isFull = vectors % geometry.sharers == 0;
    totals = emitter.loop(emitter.index(0), emitter.index(geometry.chunks), 1, totals,
                          [&](Value chunk, ArrayRef<Number> carried) {
                            SmallVector<Number> next(carried);
                            ofChunk.clear();
                            if (failed(body(enterChunk(pass, chunk, isFull), next)))
                              result = failure();
                            ofChunk.clear();
                            return next;
                          });
    return failed(result) ? FailureOr<SmallVector<Number>>(failure()) : totals;
  }
  for (auto [i, chunk] : llvm::enumerate(pass.resident)) {
    int64_t end = (static_cast<int64_t>(i) + 1) * geometry.sharers;
    std::swap(ofChunk, chunk.known);
    if (chunk.coordinates.empty()) {
      chunk.exists = enterChunk(pass, emitter.index(i), end <= vectors);
      chunk.coordinates = coordinates;
    }
    coordinates = chunk.coordinates;
    LogicalResult result = body(chunk.exists, totals);
    std::swap(ofChunk, chunk.known);
    if (failed(result))
      return failure();
  }
  return totals;
}

/// Computes the reductions of a level, and those of the next level that can share the loop. Returns
/// whether it computed the latter.
FailureOr<bool> LoopKernel::reduceLevel(RowPass &pass, size_t number) {
  const Geometry &geometry = pass.geometry;
  DenseSet<Value> seen;
  SmallVector<Sum> &level = levels[number];
  SmallVector<Number> totals;
  for (Sum &sum : level) {
    if (failed(prepare(sum.op.getInputs()[0], seen)))
      return failure();
    totals.push_back(identityOf(sum));
  }
  OnlineSums online;
  if (!geometry.isResident && number + 1 < levels.size())
    online = enterOnline(level, levels[number + 1], totals);
  FailureOr<SmallVector<Number>> sums =
      forChunks(pass, totals, [&](Value exists, SmallVectorImpl<Number> &next) -> LogicalResult {
        for (auto [i, sum] : llvm::enumerate(level)) {
          FailureOr<Number> total = accumulate(sum, next[i], exists);
          if (failed(total))
            return failure();
          next[i] = *total;
        }
        return accumulateOnline(level, online, exists, next);
      });
  if (failed(sums))
    return failure();
  auto combine = [&](const Sum &sum, Number total) {
    return emitter.combineAcross(sum.combiner, total, geometry.sharers, geometry.threads);
  };
  for (auto [sum, total] : llvm::zip(level, *sums))
    if (failed(finishSum(sum, combine(sum, sum.combiner.combineElements(total)))))
      return failure();
  for (OnlineTotal &sum : online) {
    FailureOr<Number> total = rescale(level, sum, *sums);
    if (failed(total) || failed(finishSum(sum.sum, combine(sum.sum, *total))))
      return failure();
  }
  return !online.empty();
}

LogicalResult LoopKernel::emitRows(const Geometry &geometry) {
  GroupSet all = (GroupSet(1) << space.getNumGroups()) - 1, kept = all & ~reduced;
  int64_t rows = space.getVolume(kept), perBlock = geometry.threads / geometry.sharers;
  // Registers: chunks are unrolled, and the cached values of each chunk stay valid.
  RowPass pass{geometry, emitter.rem(emitter.thread(), geometry.sharers),
               SmallVector<Chunk>(geometry.isResident ? geometry.chunks : 0)};
  Value row = emitter.add(emitter.mul(emitter.block(), perBlock),
                          emitter.div(emitter.thread(), geometry.sharers));
  Value rowExists = rows % perBlock == 0 ? Value() : emitter.less(row, rows);
  // Threads without a row duplicate the last row, so that all reach shuffles and barriers.
  setPosition(groupsIn(kept), rowExists ? emitter.min(row, rows - 1) : row);
  for (size_t i = 0; i < levels.size(); ++i) {
    FailureOr<bool> hasNext = reduceLevel(pass, i);
    if (failed(hasNext))
      return failure();
    if (*hasNext)
      ++i;
  }
  bool hasColumns = false;
  DenseSet<Value> seen;
  for (Value value : emitter.body.getTerminator()->getOperands()) {
    hasColumns |= !isOfRow(value);
    if (failed(prepare(value, seen)))
      return failure();
  }
  if (hasColumns && failed(forChunks(pass, {}, [&](Value exists, SmallVectorImpl<Number> &) {
        return storeResults(/*ofRows=*/false, all, emitter.both(rowExists, exists));
      })))
    return failure();
  return storeResults(/*ofRows=*/true, kept, emitter.both(rowExists, emitter.isZero(pass.lane)));
}

LogicalResult LoopKernel::emitColumns(const Geometry &geometry) {
  if (levels.size() > 1)
    return st::withNote(levels[1][0].op.emitOpError(
                            "reduces leading dimensions of a value that depends on another "
                            "reduction of leading dimensions, which is not supported by the CUDA "
                            "backend"),
                        levels[0][0].op, "the other reduction is here");
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

  // The totals of the warps go through shared memory to the first warp.
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
  Work work = describeWork(space, reduced, !levels.empty(), emitter.body);
  for (Value result : emitter.body.getTerminator()->getOperands())
    if (!work.reducesInnermost && !isOfRow(result))
      return emitter.kernel->emitOpError("has results along leading dimensions that it reduces, "
                                         "which is not supported by the CUDA backend");
  if (work.reduced == 0 || work.kept == 0)
    return emitter.kernel->emitOpError("of no elements is not supported by the CUDA backend");
  Geometry geometry = chooseGeometry(work);
  width = geometry.width;
  LogicalResult result = levels.empty()          ? emitElements(geometry)
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
