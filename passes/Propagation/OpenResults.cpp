#include "passes/Propagation/OpenResults.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include <deque>
#include <set>

using namespace mlir;
using namespace mlir::st;

static bool passesThrough(const ShardingRule &rule) {
  return llvm::all_of(rule.factors,
                      [](const Factor &factor) { return factor.kind == FactorKind::Parallel; });
}

/// Elements move along such a dimension, in blocks or singly: its axes are one list.
static bool movesAlong(const ShardingRule &rule, ArrayRef<int64_t> parts) {
  return llvm::any_of(
      parts, [&](int64_t factor) { return rule.factors[factor].kind == FactorKind::Permutation; });
}

static SmallVector<int64_t, 2> sizesOf(const ShardingRule &rule, ArrayRef<int64_t> parts) {
  SmallVector<int64_t, 2> sizes;
  for (int64_t factor : parts)
    sizes.push_back(rule.factors[factor].size);
  return sizes;
}

/// The sharding that the function states for a value, or null.
static ShardingAttr statedFor(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return getSharding(argument);
  auto constrain = value.getDefiningOp<ConstrainOp>();
  return constrain ? constrain.getSharding() : ShardingAttr();
}

bool OpenResults::isHidden(Value value, int64_t dim) const {
  ShardingAttr stated = statedFor(value);
  return stated && stated.priorityOf(dim) > priority;
}

bool OpenResults::isClosed(Value value, int64_t dim) const {
  ShardingAttr stated = statedFor(value);
  return stated && (!stated.isOpen(dim) || stated.priorityOf(dim) > priority);
}

void OpenResults::seed() {
  const auto add = [&](Value value, TensorSharding sharding) {
    sharding.dropAllUnreduced();
    for (Splits &splits : sharding.dims)
      eraseAxis(splits, kMicroAxis);
    shardings[value] = std::move(sharding);
  };
  for (BlockArgument argument : graph.function.getArguments())
    if (isa<RankedTensorType>(argument.getType()))
      add(argument, graph.axes.read(Value(argument)));
  for (const OpNode &node : graph.nodes)
    for (Value result : node.op->getResults()) {
      auto constrain = dyn_cast<ConstrainOp>(node.op);
      add(result, constrain ? graph.axes.read(constrain.getSharding())
                            : TensorSharding(cast<RankedTensorType>(result.getType()).getRank()));
    }
  for (auto [i, value] : llvm::enumerate(graph.terminator->getOperands()))
    if (auto given = graph.resultSharding(i); given && !statedFor(value))
      add(value, *given);
}

void OpenResults::read(const ShardingRule &rule, const TensorFactors &tensor, Value value,
                       SmallVectorImpl<std::optional<Axes>> &factors) const {
  const TensorSharding &sharding = shardings.find(value)->second;
  for (auto [dim, splits, parts] : llvm::enumerate(sharding.dims, tensor)) {
    if (parts.empty() || isHidden(value, static_cast<int64_t>(dim)))
      continue;
    if (parts.size() == 1 || movesAlong(rule, parts)) {
      factors[parts.back()] = splits;
      continue;
    }
    // If an axis covers two parts, only the axes that are major to it spread.
    const SmallVector<int64_t, 2> sizes = sizesOf(rule, parts);
    ArrayRef<Split> major = splits;
    auto own = splitAtParts(major, sizes);
    while (!own && !major.empty()) {
      major = major.drop_back();
      own = splitAtParts(major, sizes);
    }
    if (own)
      for (auto [factor, part] : llvm::zip_equal(parts, *own))
        factors[factor] = std::move(part);
  }
}

/// The axes of each factor on which all tensors that split it agree, and a tensor that has
/// them.
SmallVector<OpenResults::Merged> OpenResults::merge(const OpNode &node) const {
  const size_t count = node.rule.factors.size();
  SmallVector<Merged> merged(count);
  int64_t source = 0;
  SmallVector<bool> isFinal(count);
  const auto add = [&](ValueRange values, ArrayRef<TensorFactors> tensors) {
    for (auto [value, tensor] : llvm::zip(values, tensors)) {
      SmallVector<std::optional<Axes>> own(count);
      if (!graph.isFree(value) && shardings.contains(value))
        read(node.rule, tensor, value, own);
      for (size_t i = 0; i < count; ++i) {
        if (!own[i] || own[i]->empty())
          continue;
        Axes &axes = merged[i].axes;
        const size_t both = std::min(axes.size(), own[i]->size());
        const size_t common =
            std::mismatch(axes.begin(), axes.begin() + both, own[i]->begin()).first - axes.begin();
        if (common < both) {
          axes.truncate(common);
          isFinal[i] = true;
        } else if (own[i]->size() > axes.size() && !isFinal[i]) {
          merged[i] = {*own[i], source};
        }
      }
      ++source;
    }
  };
  add(node.op->getOperands(), node.rule.operands);
  add(node.op->getResults(), node.rule.results);
  return merged;
}

/// Adds to a tensor the factors' axes that it lacks; the factor with the most parts comes first.
bool OpenResults::extend(Value value, const ShardingRule &rule, const TensorFactors &tensor,
                         ArrayRef<Merged> factors) {
  TensorSharding &sharding = shardings.find(value)->second;
  SmallVector<std::optional<Axes>> own(factors.size());
  read(rule, tensor, value, own);
  SmallVector<std::pair<int64_t, int64_t>> order; // (dimension, factor)
  for (auto [dim, parts] : llvm::enumerate(tensor)) {
    if (parts.empty() || isClosed(value, static_cast<int64_t>(dim)))
      continue;
    const bool isOne = parts.size() == 1 || movesAlong(rule, parts);
    if (!isOne && !splitAtParts(sharding.dims[dim], sizesOf(rule, parts)))
      continue;
    for (int64_t factor : isOne ? ArrayRef(parts.back()) : ArrayRef<int64_t>(parts))
      if (own[factor] && factors[factor].axes.size() > own[factor]->size())
        order.push_back({static_cast<int64_t>(dim), factor});
  }
  const bool isElementwise = passesThrough(rule);
  llvm::sort(order, [&](const auto &a, const auto &b) {
    const auto key = [&](const std::pair<int64_t, int64_t> &place) {
      const Merged &from = factors[place.second];
      return std::tuple(rule.factors[place.second].kind != FactorKind::Parallel,
                        isElementwise ? -shardCount(from.axes) : 0, from.source, place.first,
                        place.second);
    };
    return key(a) < key(b);
  });
  bool any = false;
  for (auto [dim, factor] : order) {
    Axes wanted = *own[factor];
    if (!std::equal(wanted.begin(), wanted.end(), factors[factor].axes.begin()))
      continue;
    for (const Split &split : ArrayRef(factors[factor].axes).drop_front(wanted.size())) {
      if (split.axis != kUnsplit && sharding.isSplitOver(split.axis))
        break;
      wanted.push_back(split);
    }
    canonicalize(wanted);
    const auto &parts = tensor[static_cast<size_t>(dim)];
    const bool isOne = parts.size() == 1 || movesAlong(rule, parts);
    // Axes that do not divide a part would reach into the next one.
    while (!isOne && factor != parts.back() &&
           rule.factors[factor].size % productOfSizes(wanted) != 0)
      wanted.pop_back();
    if (wanted.size() <= own[factor]->size())
      continue;
    own[factor] = wanted;
    Splits splits;
    int64_t sizeBefore = 1;
    if (isOne)
      splits = wanted;
    else
      for (int64_t part : parts) {
        appendPart(splits, sizeBefore, own[part] ? *own[part] : Axes());
        sizeBefore *= rule.factors[part].size;
      }
    // Each device has one contiguous part.
    splits.erase(llvm::find_if(splits, [](const Split &split) { return split.axis == kUnsplit; }),
                 splits.end());
    if (splits == sharding.dims[static_cast<size_t>(dim)])
      continue;
    sharding.dims[static_cast<size_t>(dim)] = std::move(splits);
    any = true;
  }
  return any;
}

/// The dimensions of all tensors of an op along which no axes spread: the matrix dimensions of
/// ops for which JAX's own platforms call libraries, and the only dimension of what is sorted.
static SmallVector<size_t, 2> blockedDims(Operation *op) {
  if (isa<stablehlo::CholeskyOp, stablehlo::TriangularSolveOp>(op)) {
    const auto rank =
        static_cast<size_t>(cast<RankedTensorType>(op->getResultTypes().front()).getRank());
    return {rank - 2, rank - 1};
  }
  auto sort = dyn_cast<stablehlo::SortOp>(op);
  if (!sort)
    return {};
  const auto type = cast<RankedTensorType>(op->getResultTypes().front());
  const auto dim = static_cast<size_t>(sort.getDimension());
  return type.getNumElements() == type.getDimSize(dim) ? SmallVector<size_t, 2>{dim}
                                                       : SmallVector<size_t, 2>();
}

static OpNode withoutDims(const OpNode &node, ArrayRef<size_t> dims) {
  OpNode batch = node;
  for (auto *tensors : {&batch.rule.operands, &batch.rule.results})
    for (TensorFactors &tensor : *tensors)
      for (size_t dim : dims)
        tensor[dim].clear();
  return batch;
}

bool OpenResults::visit(const OpNode &node) {
  const SmallVector<Merged> merged = merge(node);
  bool any = false;
  const auto offer = [&](ValueRange values, ArrayRef<TensorFactors> tensors) {
    for (auto [value, tensor] : llvm::zip(values, tensors))
      if (!graph.isFree(value) && shardings.contains(value))
        any |= extend(value, node.rule, tensor, merged);
  };
  auto constrain = dyn_cast<ConstrainOp>(node.op);
  const std::optional<SpreadDirection> direction =
      constrain ? constrain.getDirection() : std::nullopt;
  if (!direction || *direction == SpreadDirection::Forward)
    offer(node.op->getResults(), node.rule.results);
  if (!direction || *direction == SpreadDirection::Backward)
    offer(node.op->getOperands(), node.rule.operands);
  return any;
}

/// Spreads the visible axes to a fixpoint.
void OpenResults::spread(bool onlyPassing) {
  SmallVector<const OpNode *> nodes;
  std::deque<OpNode> partlyBlocked;
  for (const OpNode &node : graph.nodes)
    if (!node.isFree && node.rule.isShardable() && (!onlyPassing || passesThrough(node.rule))) {
      const auto blocked = blockedDims(node.op);
      nodes.push_back(blocked.empty() ? &node
                                      : &partlyBlocked.emplace_back(withoutDims(node, blocked)));
    }
  // Axes are only added.
  for (bool any = true; any;) {
    any = false;
    for (const OpNode *node : nodes)
      any |= visit(*node);
    if (any)
      for (const OpNode *node : llvm::reverse(nodes))
        visit(*node);
  }
}

void OpenResults::run() {
  seed();
  std::set<int64_t> priorities = {0};
  for (const auto &[value, sharding] : shardings)
    if (ShardingAttr stated = statedFor(value))
      priorities.insert(stated.getPriorities().begin(), stated.getPriorities().end());
  for (int64_t next : priorities) {
    priority = next;
    for (bool onlyPassing : {true, false})
      spread(onlyPassing);
  }
}

TensorSharding OpenResults::of(Value value) const {
  TensorSharding sharding = shardings.find(value)->second;
  sharding.makeContiguous();
  for (auto [size, splits] :
       llvm::zip_equal(cast<RankedTensorType>(value.getType()).getShape(), sharding.dims))
    while (!splits.empty() && size % productOfSizes(splits) != 0)
      splits.pop_back();
  return sharding;
}
