#include "passes/Propagation/Wishes.h"
#include "dialects/St/IR/ShardingUtils.h"

using namespace mlir;
using namespace mlir::st;

/// Whether every factor of the op is parallel.
static bool passesThrough(const ShardingRule &rule) {
  return llvm::all_of(rule.factors,
                      [](const Factor &factor) { return factor.kind == FactorKind::Parallel; });
}

//===----------------------------------------------------------------------===//
// Seeds
//===----------------------------------------------------------------------===//

bool Wishes::isClosed(Value value) const {
  return isa<BlockArgument>(value) || graph.pinned(value) ||
         isa_and_nonnull<ConstrainOp>(value.getDefiningOp());
}

void Wishes::seed() {
  for (BlockArgument argument : graph.function.getArguments())
    wishes[argument] = graph.axes.read(Value(argument));
  for (const OpNode &node : graph.nodes) {
    if (node.isFree)
      continue;
    for (Value result : node.op->getResults()) {
      TensorSharding wish = micro.sharding(result);
      wish.dropAllUnreduced();
      if (const TensorSharding *pin = graph.pinned(result))
        wish = *pin;
      if (auto constrain = dyn_cast<ConstrainOp>(node.op))
        wish = graph.axes.read(constrain.getSharding());
      wishes[result] = std::move(wish);
    }
  }
  for (auto [i, value] : llvm::enumerate(graph.terminator->getOperands()))
    if (auto given = graph.resultSharding(i); given && !graph.isFree(value) && !isClosed(value))
      extend(value, *given);
}

//===----------------------------------------------------------------------===//
// The fixpoint
//===----------------------------------------------------------------------===//

void Wishes::push(Operation *op) {
  const OpNode *node = graph.nodeOf(op);
  if (!node || node->isFree || !node->rule.isShardable())
    return;
  size_t index = graph.indexOf(op);
  if (isQueued[index])
    return;
  isQueued[index] = true;
  queues[passesThrough(node->rule) ? 0 : 1].push_back(index);
}

void Wishes::pushAround(Value value) {
  if (Operation *op = value.getDefiningOp())
    push(op);
  for (Operation *user : value.getUsers())
    push(user);
}

/// Where a dimension is split in another way than along the blocks that an op moves, the blocks
/// being split over the same axes is a good guess: a third of what is cut into contiguous parts may
/// itself be cut so.
static void guessBlocks(const ShardingRule &rule, const TensorFactors &tensor,
                        const TensorSharding &sharding, MutableArrayRef<Splits> factors) {
  for (auto [dim, parts] : llvm::enumerate(tensor)) {
    if (parts.size() != 2 || rule.factors[parts[0]].kind != FactorKind::Permutation)
      continue;
    factors[parts[0]].clear();
    if (factors[parts[1]].empty())
      llvm::copy_if(sharding.dims[dim], std::back_inserter(factors[parts[1]]),
                    [](const Split &split) { return split.axis != kUnsplit; });
  }
}

/// The axes that the op's tensors have, each on one factor of every part: of two that
/// cannot both be had, the first.
SmallVector<Splits, 4> Wishes::merge(const OpNode &node, ArrayRef<Tensor> tensors) const {
  const ShardingRule &rule = node.rule;
  SmallVector<Splits, 4> merged = micro.placement(node).factors;
  int64_t axisCount = graph.axes.count();
  SmallVector<bool, 4> allPlaced(rule.parts * axisCount);
  for (const Tensor &tensor : tensors) {
    auto placed = MutableArrayRef(allPlaced).slice(tensor.part * axisCount, axisCount);
    SmallVector<Splits, 4> factors(rule.factors.size());
    (void)readFactors(rule, *tensor.factors, of(tensor.value), factors);
    guessBlocks(rule, *tensor.factors, of(tensor.value), factors);
    for (auto [factor, splits] : llvm::enumerate(factors))
      for (const Split &split : splits) {
        if (split.axis == kUnsplit || split.axis == kMicroAxis || placed[split.axis] ||
            rule.factors[factor].kind == FactorKind::NeedReplication)
          continue;
        Splits alone = splitAt(split.axis, split.size, *outerOf(splits, split.axis));
        if (auto united = unite(merged[factor], alone)) {
          merged[factor] = std::move(*united);
          placed[split.axis] = true;
        }
      }
  }
  return merged;
}

/// Adds the axes of `offered` that the value does not have and has room for.
bool Wishes::extend(Value value, const TensorSharding &offered) {
  TensorSharding &wish = wishes[value];
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  bool any = false;
  for (auto [dim, splits] : llvm::enumerate(offered.dims))
    for (const Split &split : splits) {
      if (split.axis == kUnsplit || split.axis == kMicroAxis || wish.isSplitOver(split.axis))
        continue;
      Splits alone = splitAt(split.axis, split.size, *outerOf(splits, split.axis));
      std::optional<Splits> united = unite(wish.dims[dim], alone);
      if (!united)
        continue;
      TensorSharding extended = wish;
      extended.dims[dim] = std::move(*united);
      if (!divides(shape, extended))
        continue;
      wish = std::move(extended);
      any = true;
    }
  return any;
}

void Wishes::visit(const OpNode &node) {
  SmallVector<Tensor> tensors;
  auto add = [&](ValueRange values, ArrayRef<TensorFactors> factors, bool anchoredOnes) {
    for (auto [i, value, tensor] : llvm::enumerate(values, factors))
      if (!graph.isFree(value) && (graph.isAnchored(value) || graph.pinned(value)) == anchoredOnes)
        tensors.push_back({value, &tensor, node.rule.partOf(i)});
  };
  for (bool anchored : {true, false}) {
    add(node.op->getResults(), node.rule.results, anchored);
    add(node.op->getOperands(), node.rule.operands, anchored);
  }
  SmallVector<Splits, 4> merged = merge(node, tensors);
  for (const Tensor &tensor : tensors)
    if (!isClosed(tensor.value) &&
        extend(tensor.value, composeDims(node.rule, *tensor.factors, merged)))
      pushAround(tensor.value);
}

void Wishes::run() {
  isQueued.assign(graph.nodes.size(), false);
  seed();
  for (const OpNode &node : graph.nodes)
    push(node.op);
  while (true) {
    std::deque<size_t> &queue = queues[queues[0].empty() ? 1 : 0];
    if (queue.empty())
      return;
    size_t index = queue.front();
    queue.pop_front();
    isQueued[index] = false;
    visit(graph.nodes[index]);
  }
}
