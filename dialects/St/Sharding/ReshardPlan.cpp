#include "dialects/St/Sharding/ReshardPlan.h"
#include "dialects/St/Sharding/ReshardMoves.h"
#include "dialects/St/Sharding/ReshardPlans.h"
#include "mlir/IR/TypeUtilities.h"
#include <limits>
#include <queue>

using namespace mlir;
using namespace mlir::st;

/// Number of visited shardings before the search narrows.
static constexpr size_t kMaxStates = 5000;

static void append(std::string &key, int64_t number) {
  key.append(reinterpret_cast<const char *>(&number), sizeof(number));
}

static std::string keyOf(const TensorSharding &sharding) {
  std::string key;
  for (const Splits &splits : sharding.dims) {
    append(key, splits.size());
    for (const Split &split : splits) {
      append(key, split.axis);
      append(key, split.size);
    }
  }
  append(key, static_cast<int64_t>(sharding.kind));
  SmallVector<Axis, 2> unreduced = sharding.unreduced;
  llvm::sort(unreduced);
  append(key, unreduced.size());
  for (Axis axis : unreduced)
    append(key, axis);
  return key;
}

namespace {
class Search {
public:
  Search(const TensorSharding &from, const TensorSharding &to, ArrayRef<int64_t> shape,
         int64_t elementBytes, const MeshAxes &axes, bool directOnly, double limit)
      : from(from), elementBytes(elementBytes), directOnly(directOnly), limit(limit), axes(axes),
        moves(from, to, shape, axes), goal(keyOf(to)), goalElements(moves.elements(to)) {}

  std::optional<ReshardPlan> run();
  bool gaveUp = false;

private:
  struct Node {
    TensorSharding sharding;
    ReshardStep step; ///< the last step to this state
    double cost;
    int64_t parent;
  };
  struct Entry {
    double estimate;
    int64_t node;
    /// The cheapest first; among equals the first one found, so that plans depend only on the
    /// request.
    bool operator<(const Entry &other) const {
      return estimate != other.estimate ? estimate > other.estimate : node > other.node;
    }
  };

  void add(int64_t parent, ReshardStep step, TensorSharding sharding, double cost);
  ReshardPlan trace(int64_t node) const;
  double atLeast(const TensorSharding &sharding) const;

  const TensorSharding &from;
  int64_t elementBytes;
  bool directOnly;
  double limit; ///< upper bound of relevant costs
  const MeshAxes &axes;
  ReshardMoves moves;
  std::string goal;
  int64_t goalElements;
  std::vector<Node> nodes;
  llvm::StringMap<double> best;
  std::priority_queue<Entry> queue;
};
} // namespace

/// A lower bound of the remaining cost. Only gathers enlarge a device's part, and they send the
/// bytes by which it grows. Any other collective sends at least half of a device's part.
double Search::atLeast(const TensorSharding &sharding) const {
  int64_t missing = goalElements - moves.elements(sharding);
  auto cost = [&](double elements) {
    return minCost(elements * static_cast<double>(elementBytes), axes);
  };
  double growth = missing > 0 ? cost(static_cast<double>(missing)) : 0;
  if (moves.needsNoCollective(sharding))
    return growth;
  return std::max(growth, cost(0.5 * static_cast<double>(moves.minElements())));
}

void Search::add(int64_t parent, ReshardStep step, TensorSharding sharding, double cost) {
  double estimate = cost + atLeast(sharding);
  if (estimate >= limit)
    return;
  auto [it, isNew] = best.try_emplace(keyOf(sharding), cost);
  if (!isNew && it->second <= cost)
    return;
  it->second = cost;
  queue.push({estimate, static_cast<int64_t>(nodes.size())});
  nodes.push_back({std::move(sharding), std::move(step), cost, parent});
}

ReshardPlan Search::trace(int64_t node) const {
  ReshardPlan plan;
  for (; nodes[node].parent >= 0; node = nodes[node].parent) {
    ReshardStep step = nodes[node].step;
    if (step.kind == ReshardStep::CollectivePermute)
      step.pairs = permutationPairs(nodes[nodes[node].parent].sharding, nodes[node].sharding,
                                    step.axes, axes);
    plan.push_back(std::move(step));
  }
  std::reverse(plan.begin(), plan.end());
  return plan;
}

std::optional<ReshardPlan> Search::run() {
  add(-1, {}, from, 0);
  while (!queue.empty()) {
    int64_t index = queue.top().node;
    queue.pop();
    // Adding nodes may move the existing ones.
    TensorSharding now = nodes[index].sharding;
    double cost = nodes[index].cost;
    std::string key = keyOf(now);
    if (cost > best[key])
      continue;
    if (key == goal)
      return trace(index);
    if (nodes.size() > kMaxStates && !directOnly) {
      gaveUp = true;
      return std::nullopt;
    }
    moves.visitFrom(now, [&](ReshardStep step, TensorSharding next) {
      if (directOnly && !moves.isDirect(now, next))
        return;
      double own = reshardCostInStep(step, elementBytes, axes);
      add(index, std::move(step), std::move(next), cost + own);
    });
  }
  return std::nullopt;
}

/// Returns true if values that vary along `micro` can keep it in place.
static bool canKeepMicro(const TensorSharding &from, const TensorSharding &to) {
  std::optional<int64_t> dim = from.dimOf(kMicroAxis);
  return !dim || (to.dimOf(kMicroAxis) == dim &&
                  outerOf(from.dims[*dim], kMicroAxis) == outerOf(to.dims[*dim], kMicroAxis));
}

static std::optional<ReshardPlan> search(const TensorSharding &from, const TensorSharding &to,
                                         RankedTensorType type, const MeshAxes &axes) {
  if (!canKeepMicro(from, to))
    return std::nullopt;
  constexpr double unlimited = std::numeric_limits<double>::infinity();
  int64_t width = elementBytes(type);
  std::optional<ReshardPlan> direct =
      Search(from, to, type.getShape(), width, axes, /*directOnly=*/true, unlimited).run();
  if (!direct)
    return std::nullopt;
  Search all(from, to, type.getShape(), width, axes, /*directOnly=*/false,
             reshardCostInStep(*direct, width, axes));
  std::optional<ReshardPlan> cheaper = all.run();
  axes.plans().numNarrowed += all.gaveUp;
  return cheaper ? cheaper : direct;
}

const ReshardPlan *mlir::st::planReshard(const TensorSharding &from, const TensorSharding &to,
                                         RankedTensorType type, const MeshAxes &axes) {
  std::string key = keyOf(from) + keyOf(to);
  for (Axis axis : from.unreduced) // their order matters
    append(key, axis);
  for (int64_t size : type.getShape())
    append(key, size);
  append(key, elementBytes(type));
  auto [it, isNew] = axes.plans().known.try_emplace(key);
  if (isNew)
    it->second = search(from, to, type, axes);
  return it->second ? &*it->second : nullptr;
}

bool mlir::st::needsWideSum(Type type, ArrayRef<ReshardStep> steps, ReduceKind kind) {
  return kind == ReduceKind::Sum && isa<BFloat16Type, Float16Type>(getElementTypeOrSelf(type)) &&
         llvm::any_of(steps,
                      [](const ReshardStep &step) { return step.kind == ReshardStep::Accumulate; });
}
