#include "dialects/St/Sharding/ReshardMoves.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace mlir;
using namespace mlir::st;

ReshardMoves::ReshardMoves(const TensorSharding &from, const TensorSharding &to,
                           ArrayRef<int64_t> shape, const MeshAxes &axes)
    : from(from), to(to), shape(shape), axes(axes) {
  for (Axis axis : axes.used())
    if (axis != kMicroAxis && (isUsed(from, axis) || isUsed(to, axis)))
      spatial.push_back(axis);
  for (auto [size, before, after] : llvm::zip_equal(shape, from.dims, to.dims))
    isRagged.push_back(size % productOfSizes(before) != 0 || size % productOfSizes(after) != 0);
}

int64_t ReshardMoves::elements(const TensorSharding &sharding) const {
  int64_t count = 1;
  for (auto [size, splits] : llvm::zip_equal(shape, sharding.dims))
    count *= llvm::divideCeil(size, shardCount(splits));
  return count;
}

void ReshardMoves::emit(const TensorSharding &now, ReshardStep step, TensorSharding next,
                        Visit visit) const {
  step.elementsBefore = elements(now);
  step.elementsAfter = elements(next);
  if (now.isSplitOver(kMicroAxis) || now.isUnreducedOver(kMicroAxis) ||
      step.kind == ReshardStep::MicroSlice)
    step.times = axes.size(kMicroAxis);
  visit(std::move(step), std::move(next));
}

void ReshardMoves::visitFrom(const TensorSharding &now, Visit visit) const {
  slices(now, visit);
  accumulate(now, visit);
  reductions(now, visit);
  exchanges(now, visit);
  permutations(now, visit);
  gathers(now, visit);
  mask(now, visit);
}

/// The dimension of an axis and its position there; otherwise none, and whether it is unreduced.
static std::pair<int64_t, int64_t> findPlace(const TensorSharding &sharding, Axis axis) {
  if (std::optional<int64_t> dim = sharding.dimOf(axis))
    return {*dim, *outerOf(sharding.dims[*dim], axis)};
  return {-1, sharding.isUnreducedOver(axis)};
}
static constexpr std::pair<int64_t, int64_t> kNowhere = {-1, 0};

bool ReshardMoves::isDirect(const TensorSharding &now, const TensorSharding &next) const {
  return llvm::all_of(spatial, [&](Axis axis) {
    auto place = findPlace(next, axis);
    return place == findPlace(now, axis) || place == kNowhere || place == findPlace(to, axis);
  });
}

bool ReshardMoves::needsNoCollective(const TensorSharding &now) const {
  return llvm::all_of(spatial, [&](Axis axis) {
    auto place = findPlace(now, axis);
    return place == kNowhere || place == findPlace(to, axis);
  });
}

int64_t ReshardMoves::minElements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count / (axes.size(spatial) * axes.size(kMicroAxis));
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Adds the axes of a sequence to the splits, the first at `outer` and each directly after the
/// previous one, except for axes that are already adjacent in a device's part.
std::optional<Splits> ReshardMoves::placeFrom(Splits splits, int64_t dim, int64_t outer,
                                              ArrayRef<Axis> sequence) const {
  for (auto [i, axis] : llvm::enumerate(sequence)) {
    int64_t position = 1;
    for (const Split &split : splits) {
      if (i > 0 && position == outer && split.axis != kUnsplit)
        outer *= split.size;
      position *= split.size;
    }
    std::optional<Splits> united = unite(splits, splitAt(axis, axes.size(axis), outer));
    if (!united)
      return std::nullopt;
    splits = std::move(*united);
    outer *= axes.size(axis);
  }
  if (!isRagged[dim] && shape[dim] % productOfSizes(splits) != 0)
    return std::nullopt;
  return splits;
}

SmallVector<ReshardMoves::Site> ReshardMoves::sites(const Splits &splits, int64_t dim,
                                                    ArrayRef<Axis> sequence) const {
  SmallVector<int64_t, 8> cuts;
  for (const Splits *known : {&splits, &from.dims[dim], &to.dims[dim]}) {
    int64_t outer = 1;
    cuts.push_back(outer);
    for (const Split &split : *known) {
      cuts.push_back(outer *= split.size);
      // For a sequence that ends there.
      if (int64_t size = axes.size(sequence); outer % size == 0)
        cuts.push_back(outer / size);
    }
  }
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  SmallVector<Site> result;
  for (int64_t outer : cuts)
    if (auto placed = placeFrom(splits, dim, outer, sequence))
      result.push_back({dim, outer, std::move(*placed)});
  return result;
}

/// The sequences of spatial axes that are adjacent in a device's part of a dimension.
SmallVector<ReshardMoves::Run> ReshardMoves::runs(const Splits &splits) const {
  SmallVector<Run> result;
  // Sequences that end before the current split, which may continue them.
  SmallVector<Run> open;
  int64_t outer = 1;
  for (const Split &split : splits) {
    if (split.axis == kUnsplit) {
      open.clear();
    } else if (split.axis != kMicroAxis) {
      SmallVector<Run> longer = open;
      longer.push_back({{}, outer});
      for (Run &run : longer) {
        run.axes.push_back(split.axis);
        result.push_back(run);
      }
      open.append(longer);
    }
    outer *= split.size;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Local steps
//===----------------------------------------------------------------------===//

void ReshardMoves::slices(const TensorSharding &now, Visit visit) const {
  auto sliceOver = [&](Axis axis, ReshardStep::Kind kind, int64_t dim, const Site &site) {
    ReshardStep step;
    step.kind = kind;
    step.axes = {axis};
    step.dim = dim;
    step.outer = localOuter(now.dims[dim], site.outer);
    TensorSharding next = now;
    next.dims[dim] = site.splits;
    emit(now, std::move(step), std::move(next), visit);
  };
  if (auto dim = to.dimOf(kMicroAxis); dim && !isUsed(now, kMicroAxis)) {
    int64_t outer = *outerOf(to.dims[*dim], kMicroAxis);
    if (auto placed = placeFrom(now.dims[*dim], *dim, outer, kMicroAxis))
      sliceOver(kMicroAxis, ReshardStep::MicroSlice, *dim, {*dim, outer, *placed});
  }
  for (Axis axis : spatial)
    if (!isUsed(now, axis))
      for (int64_t dim = 0, rank = now.dims.size(); dim < rank; ++dim)
        for (const Site &site : sites(now.dims[dim], dim, axis))
          sliceOver(axis, ReshardStep::AllSlice, dim, site);
}

void ReshardMoves::accumulate(const TensorSharding &now, Visit visit) const {
  if (!llvm::is_contained(dueReductions(now), kMicroAxis))
    return;
  ReshardStep step;
  step.kind = ReshardStep::Accumulate;
  step.axes = {kMicroAxis};
  TensorSharding next = now;
  next.dropUnreduced(kMicroAxis);
  emit(now, std::move(step), std::move(next), visit);
}

/// Makes the value unreduced over unused axes.
void ReshardMoves::mask(const TensorSharding &now, Visit visit) const {
  if (to.kind != now.kind && !now.unreduced.empty())
    return;
  ReshardStep step;
  step.kind = ReshardStep::Mask;
  step.keepsCopies = to.kind != ReduceKind::Sum;
  TensorSharding next = now;
  next.kind = to.kind;
  for (Axis axis : to.unreduced)
    if (!isUsed(now, axis)) {
      step.axes.push_back(axis);
      next.addUnreduced(axis);
    }
  if (!step.axes.empty())
    emit(now, std::move(step), std::move(next), visit);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

bool ReshardMoves::isNext(const TensorSharding &now, Axis axis) const {
  const auto *own = llvm::find(from.unreduced, axis);
  const auto *micro = llvm::find(from.unreduced, kMicroAxis);
  bool staysForMicro = now.kind == to.kind && to.isUnreducedOver(kMicroAxis);
  if (axis != kMicroAxis)
    return own < micro || !now.isUnreducedOver(kMicroAxis) || staysForMicro;
  return std::none_of(from.unreduced.begin(), micro, [&](Axis before) {
    return now.isUnreducedOver(before) && !(now.kind == to.kind && to.isUnreducedOver(before));
  });
}

SmallVector<Axis, 4> ReshardMoves::dueReductions(const TensorSharding &now) const {
  SmallVector<Axis, 4> due;
  for (Axis axis : now.unreduced)
    if (!(now.kind == to.kind && to.isUnreducedOver(axis)) && isNext(now, axis))
      due.push_back(axis);
  return due;
}

/// Lists all sequences of distinct axes, shorter ones first.
static SmallVector<SmallVector<Axis, 2>> sequencesOf(ArrayRef<Axis> axes) {
  SmallVector<SmallVector<Axis, 2>> result(1);
  for (size_t i = 0; i < result.size(); ++i)
    for (Axis axis : axes)
      if (!llvm::is_contained(result[i], axis)) {
        SmallVector<Axis, 2> longer = result[i];
        longer.push_back(axis);
        result.push_back(std::move(longer));
      }
  result.erase(result.begin());
  return result;
}

void ReshardMoves::reductions(const TensorSharding &now, Visit visit) const {
  SmallVector<Axis, 4> due = dueReductions(now);
  llvm::erase(due, kMicroAxis);
  for (ArrayRef<Axis> sequence : sequencesOf(due)) {
    TensorSharding reduced = now;
    for (Axis axis : sequence)
      reduced.dropUnreduced(axis);
    ReshardStep step;
    step.axes.assign(sequence.begin(), sequence.end());
    // Only the ascending order, because all members of a group have the same order.
    if (llvm::is_sorted(sequence)) {
      step.kind = ReshardStep::AllReduce;
      emit(now, step, reduced, visit);
    }
    for (int64_t dim = 0, rank = now.dims.size(); dim < rank; ++dim)
      for (const Site &site : sites(now.dims[dim], dim, sequence)) {
        step.kind = ReshardStep::ReduceScatter;
        step.dim = dim;
        step.outer = localOuter(now.dims[dim], site.outer);
        TensorSharding next = reduced;
        next.dims[dim] = site.splits;
        emit(now, step, std::move(next), visit);
      }
  }
}

void ReshardMoves::exchanges(const TensorSharding &now, Visit visit) const {
  int64_t rank = now.dims.size();
  for (int64_t fromDim = 0; fromDim < rank; ++fromDim)
    for (const Run &run : runs(now.dims[fromDim])) {
      TensorSharding freed = now;
      for (Axis axis : run.axes)
        eraseAxis(freed.dims[fromDim], axis);
      for (int64_t dim = 0; dim < rank; ++dim)
        for (const Site &site : sites(freed.dims[dim], dim, run.axes)) {
          // Within a dimension, the new position of an axis and the position that it or another
          // axis just left are two adjacent digits of an index: {"a"} of 2 cannot become {3, "a"},
          // as a third of the dimension spans both halves.
          auto isAcross = [&](Axis moved) {
            int64_t begin = *outerOf(site.splits, moved), end = begin * axes.size(moved);
            return llvm::any_of(run.axes, [&](Axis left) {
              int64_t gone = *outerOf(now.dims[dim], left), goneEnd = gone * axes.size(left);
              return gone % end != 0 && begin % goneEnd != 0;
            });
          };
          if (dim == fromDim && llvm::any_of(run.axes, isAcross))
            continue;
          ReshardStep step;
          step.kind = ReshardStep::AllToAll;
          step.axes = run.axes;
          step.dim = dim;
          step.outer = localOuter(now.dims[dim], site.outer);
          step.fromDim = fromDim;
          step.fromOuter = localOuter(now.dims[fromDim], run.outer);
          TensorSharding next = freed;
          next.dims[dim] = site.splits;
          emit(now, std::move(step), std::move(next), visit);
        }
    }
}

void ReshardMoves::gathers(const TensorSharding &now, Visit visit) const {
  for (int64_t dim = 0, rank = now.dims.size(); dim < rank; ++dim)
    for (const Run &run : runs(now.dims[dim])) {
      ReshardStep step;
      step.kind = ReshardStep::AllGather;
      step.axes = run.axes;
      step.dim = dim;
      step.outer = localOuter(now.dims[dim], run.outer);
      TensorSharding next = now;
      for (Axis axis : run.axes)
        eraseAxis(next.dims[dim], axis);
      emit(now, std::move(step), std::move(next), visit);
    }
}

//===----------------------------------------------------------------------===//
// Permutations
//===----------------------------------------------------------------------===//

namespace {
/// Exchanges the data of devices: the parts of each dimension, and the unreduced terms, stay the
/// same but move to other axes.
class Relabeller {
public:
  Relabeller(const TensorSharding &now, ArrayRef<Axis> spatial, const MeshAxes &axes,
             llvm::function_ref<void(TensorSharding)> visit)
      : axes(axes), next(now), left(spatial), visit(visit) {
    for (Splits &splits : next.dims) {
      Splits emptied;
      for (const Split &split : splits)
        if (split.axis == kUnsplit || split.axis == kMicroAxis)
          emptied.push_back(split);
        else if (!emptied.empty() && emptied.back().axis == kOpen)
          emptied.back().size *= split.size;
        else
          emptied.push_back({kOpen, split.size});
      splits = std::move(emptied);
    }
    for (Axis axis : now.unreduced)
      terms *= axis == kMicroAxis ? 1 : axes.size(axis);
    llvm::erase_if(next.unreduced, [](Axis axis) { return axis != kMicroAxis; });
  }

  void run(int64_t dim = 0) {
    int64_t rank = next.dims.size();
    if (dim == rank)
      return runTerms(0);
    auto *open = llvm::find_if(next.dims[dim], [](const Split &s) { return s.axis == kOpen; });
    if (open == next.dims[dim].end())
      return run(dim + 1);
    Splits saved = next.dims[dim];
    size_t place = open - next.dims[dim].begin();
    int64_t size = open->size;
    for (Axis axis : SmallVector<Axis, 4>(left)) {
      int64_t own = axes.size(axis);
      if (size % own != 0)
        continue;
      next.dims[dim][place] = {axis, own};
      if (size != own)
        next.dims[dim].insert(next.dims[dim].begin() + place + 1, Split{kOpen, size / own});
      llvm::erase(left, axis);
      run(dim);
      left.insert(llvm::upper_bound(left, axis), axis);
      next.dims[dim] = saved;
    }
  }

private:
  static constexpr Axis kOpen = -2;

  /// The unreduced axes from `left[first]` on.
  void runTerms(size_t first) {
    if (terms == 1)
      return visit(next);
    for (size_t i = first; i < left.size(); ++i) {
      Axis axis = left[i];
      if (terms % axes.size(axis) != 0)
        continue;
      terms /= axes.size(axis);
      next.addUnreduced(axis);
      runTerms(i + 1);
      llvm::erase(next.unreduced, axis);
      terms *= axes.size(axis);
    }
  }

  const MeshAxes &axes;
  TensorSharding next;
  SmallVector<Axis, 4> left;
  int64_t terms = 1;
  llvm::function_ref<void(TensorSharding)> visit;
};
} // namespace

void ReshardMoves::permutations(const TensorSharding &now, Visit visit) const {
  auto found = [&](TensorSharding next) {
    if (next.dims != now.dims || next.unreduced != now.unreduced)
      addPermutation(now, std::move(next), visit);
  };
  Relabeller(now, spatial, axes, found).run();
}

/// The part of each dimension, and the term, that a device holds; over some axes only.
static SmallVector<int64_t> holdingOf(const TensorSharding &sharding, ArrayRef<Axis> over,
                                      ArrayRef<int64_t> coordinates, const MeshAxes &axes) {
  SmallVector<int64_t> holding;
  auto coordinateOf = [&](Axis axis) {
    const auto *it = llvm::find(over, axis);
    return it == over.end() ? 0 : coordinates[it - over.begin()];
  };
  for (const Splits &splits : sharding.dims) {
    int64_t position = 0;
    for (const Split &split : splits)
      position = position * split.size + coordinateOf(split.axis);
    holding.push_back(position);
  }
  int64_t term = 0;
  for (Axis axis : sharding.unreduced)
    if (llvm::is_contained(over, axis))
      term = term * axes.size(axis) + coordinateOf(axis);
  holding.push_back(term);
  return holding;
}

SmallVector<int64_t, 0> mlir::st::permutationPairs(const TensorSharding &now,
                                                   const TensorSharding &next, ArrayRef<Axis> over,
                                                   const MeshAxes &axes) {
  int64_t count = axes.size(over);
  std::map<SmallVector<int64_t>, SmallVector<int64_t, 2>> holders;
  std::vector<SmallVector<int64_t>> wants(count);
  SmallVector<int64_t> coordinates(over.size());
  auto locate = [&](int64_t position) {
    for (size_t i = over.size(); i-- > 0; position /= axes.size(over[i]))
      coordinates[i] = position % axes.size(over[i]);
  };
  SmallVector<int64_t> sources(count, -1);
  for (int64_t position = 0; position < count; ++position) {
    locate(position);
    SmallVector<int64_t> holds = holdingOf(now, over, coordinates, axes);
    wants[position] = holdingOf(next, over, coordinates, axes);
    if (holds == wants[position])
      sources[position] = position;
    else
      holders[holds].push_back(position);
  }
  SmallVector<int64_t, 0> pairs;
  for (int64_t position = 0; position < count; ++position) {
    if (sources[position] == -1) {
      auto &holding = holders[wants[position]];
      sources[position] = holding.front();
      holding.erase(holding.begin());
    }
    pairs.append({sources[position], position});
  }
  return pairs;
}

void ReshardMoves::addPermutation(const TensorSharding &now, TensorSharding next,
                                  Visit visit) const {
  ReshardStep step;
  step.kind = ReshardStep::CollectivePermute;
  for (Axis axis : spatial)
    if (findPlace(now, axis) != findPlace(next, axis))
      step.axes.push_back(axis);
  emit(now, std::move(step), std::move(next), visit);
}
