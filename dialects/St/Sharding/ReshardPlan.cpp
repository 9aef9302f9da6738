#include "dialects/St/Sharding/ReshardPlan.h"
#include <numeric>

using namespace mlir;
using namespace mlir::st;

namespace {
/// A place in a dimension of the global tensor.
struct Place {
  int64_t dim, outer;
  bool operator==(const Place &other) const { return dim == other.dim && outer == other.outer; }
};

class Planner {
public:
  Planner(const TensorSharding &from, const TensorSharding &to, ArrayRef<int64_t> shape,
          const MeshAxes &axes)
      : now(from), to(to), shape(shape), axes(axes),
        elements(std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>())) {
    for (const Splits &splits : from.dims)
      elements /= shardCount(splits);
  }

  bool run();
  SmallVector<ReshardStep> steps;

private:
  std::optional<Place> placeOf(const TensorSharding &sharding, Axis axis) const;
  bool canPlace(Axis axis, Place place) const;
  int64_t outerWithin(Place place) const { return localOuter(now.dims[place.dim], place.outer); }
  ReshardStep &add(ReshardStep::Kind kind, Axis axis, Place place, int64_t times, int64_t over);

  bool slice();
  void reduce();
  bool move();
  bool gather();
  bool mask();

  TensorSharding now;
  const TensorSharding &to;
  ArrayRef<int64_t> shape;
  const MeshAxes &axes;
  int64_t elements;
};
} // namespace

std::optional<Place> Planner::placeOf(const TensorSharding &sharding, Axis axis) const {
  for (auto [dim, splits] : llvm::enumerate(sharding.dims))
    if (std::optional<int64_t> outer = outerOf(splits, axis))
      return Place{static_cast<int64_t>(dim), *outer};
  return std::nullopt;
}

bool Planner::canPlace(Axis axis, Place place) const {
  return unite(now.dims[place.dim], splitAt(axis, axes.size(axis), place.outer)).has_value();
}

ReshardStep &Planner::add(ReshardStep::Kind kind, Axis axis, Place place, int64_t times,
                          int64_t over) {
  ReshardStep step;
  step.kind = kind;
  step.axes = {axis};
  step.dim = place.dim;
  step.outer = shape.empty() ? 1 : outerWithin(place);
  step.elementsBefore = elements;
  elements = elements * times / over;
  step.elementsAfter = elements;
  steps.push_back(step);
  return steps.back();
}

/// Splits over axes that nothing uses yet: moves no data.
bool Planner::slice() {
  bool any = false;
  for (Axis axis : axes.used()) {
    std::optional<Place> target = placeOf(to, axis);
    if (!target || now.isSplitOver(axis) || now.isUnreducedOver(axis) || !canPlace(axis, *target))
      continue;
    add(axis == kMicroAxis ? ReshardStep::MicroSlice : ReshardStep::AllSlice, axis, *target, 1,
        axes.size(axis));
    now.dims[target->dim] =
        *unite(now.dims[target->dim], splitAt(axis, axes.size(axis), target->outer));
    any = true;
  }
  return any;
}

void Planner::reduce() {
  // A reduction of another kind has to end before this one can begin.
  bool sameKind = now.kind == to.kind;
  SmallVector<Axis, 2> unreduced = now.unreduced;
  for (Axis axis : unreduced) {
    if (sameKind && to.isUnreducedOver(axis))
      continue;
    now.dropUnreduced(axis);
    std::optional<Place> target = placeOf(to, axis);
    if (axis == kMicroAxis) {
      add(ReshardStep::Accumulate, axis, {0, 1}, 1, 1);
    } else if (target && canPlace(axis, *target)) {
      add(ReshardStep::ReduceScatter, axis, *target, 1, axes.size(axis));
      now.dims[target->dim] =
          *unite(now.dims[target->dim], splitAt(axis, axes.size(axis), target->outer));
    } else if (!steps.empty() && steps.back().kind == ReshardStep::AllReduce) {
      steps.back().axes.push_back(axis);
    } else {
      add(ReshardStep::AllReduce, axis, {0, 1}, 1, 1);
    }
  }
}

/// Moves an axis to another dimension, where that is free already.
bool Planner::move() {
  for (Axis axis : axes.used()) {
    std::optional<Place> target = placeOf(to, axis), source = placeOf(now, axis);
    if (axis == kMicroAxis || !target || !source || target->dim == source->dim ||
        !canPlace(axis, *target))
      continue;
    ReshardStep &step = add(ReshardStep::AllToAll, axis, *target, 1, 1);
    step.fromDim = source->dim;
    step.fromOuter = outerWithin(*source);
    eraseAxis(now.dims[source->dim], axis);
    now.dims[target->dim] =
        *unite(now.dims[target->dim], splitAt(axis, axes.size(axis), target->outer));
    return true;
  }
  return false;
}

/// Gathers one axis: rather one that the target does not split over, and of those
/// the innermost, so that what was split over adjacent axes comes together in one.
bool Planner::gather() {
  std::optional<Axis> best;
  std::pair<bool, int64_t> bestRank;
  for (Axis axis : axes.used()) {
    std::optional<Place> source = placeOf(now, axis), target = placeOf(to, axis);
    if (!source || (target && *source == *target))
      continue;
    std::pair<bool, int64_t> rank(!target, source->outer);
    if (!best || rank > bestRank) {
      best = axis;
      bestRank = rank;
    }
  }
  if (!best || *best == kMicroAxis)
    return false;
  Place source = *placeOf(now, *best);
  int64_t outer = outerWithin(source), times = axes.size(*best);
  // The axis just inside the one before it: both in one gather.
  bool joins = !steps.empty() && steps.back().kind == ReshardStep::AllGather &&
               steps.back().dim == source.dim && steps.back().outer == outer;
  if (joins) {
    steps.back().axes.insert(steps.back().axes.begin(), *best);
    elements *= times;
    steps.back().elementsAfter = elements;
  } else {
    add(ReshardStep::AllGather, *best, source, times, 1);
  }
  eraseAxis(now.dims[source.dim], *best);
  return true;
}

/// Makes the value an unreduced sum over axes that nothing uses.
bool Planner::mask() {
  for (Axis axis : to.unreduced) {
    if (now.isUnreducedOver(axis))
      continue;
    if (to.kind != ReduceKind::Sum || now.isSplitOver(axis))
      return false;
    if (!steps.empty() && steps.back().kind == ReshardStep::Mask)
      steps.back().axes.push_back(axis);
    else
      add(ReshardStep::Mask, axis, {0, 1}, 1, 1);
    now.addUnreduced(axis);
  }
  return true;
}

bool Planner::run() {
  slice();
  reduce();
  while (now.dims != to.dims) {
    if (slice() || move())
      continue;
    if (!gather())
      return false;
  }
  return mask();
}

std::optional<SmallVector<ReshardStep>> mlir::st::planReshard(const TensorSharding &from,
                                                              const TensorSharding &to,
                                                              ArrayRef<int64_t> shape,
                                                              const MeshAxes &axes) {
  Planner planner(from, to, shape, axes);
  if (!planner.run())
    return std::nullopt;
  return std::move(planner.steps);
}

double mlir::st::reshardCost(ArrayRef<ReshardStep> steps, int64_t elementBytes,
                             const MeshAxes &axes) {
  // Of a message: what else could be sent while it is set up.
  constexpr double startBytes = 512;
  // Bandwidth of memory in terms of that of links.
  constexpr double touch = 0.05;
  double cost = 0;
  for (const ReshardStep &step : steps) {
    double before = static_cast<double>(step.elementsBefore * elementBytes);
    double after = static_cast<double>(step.elementsAfter * elementBytes);
    double share = 1.0 - 1.0 / static_cast<double>(axes.size(step.axes));
    switch (step.kind) {
    case ReshardStep::AllSlice:
    case ReshardStep::MicroSlice:
      cost += touch * after;
      break;
    case ReshardStep::Accumulate:
    case ReshardStep::Mask:
      cost += touch * before;
      break;
    case ReshardStep::ReduceScatter:
    case ReshardStep::AllToAll:
      cost += startBytes + share * before;
      break;
    case ReshardStep::AllReduce:
      cost += startBytes + 2 * share * before;
      break;
    case ReshardStep::AllGather:
      cost += startBytes + share * after;
      break;
    }
  }
  return cost;
}
