#include "passes/Propagation/Constraints.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Interfaces/Notes.h"
#include <map>
#include <set>

using namespace mlir;
using namespace mlir::st;

/// Returns true if every factor of the op is parallel.
static bool passesThrough(const ShardingRule &rule) {
  return llvm::all_of(rule.factors,
                      [](const Factor &factor) { return factor.kind == FactorKind::Parallel; });
}

//===----------------------------------------------------------------------===//
// Seeds
//===----------------------------------------------------------------------===//

bool Constraints::isClosed(Value value, int64_t dim) const {
  if (auto it = seeds.find(value); it != seeds.end())
    return !it->second.isOpen(dim);
  return isa<BlockArgument>(value) || graph.pinned(value) ||
         isa_and_nonnull<ConstrainOp>(value.getDefiningOp());
}

static bool isOpenOrPrioritised(ShardingAttr seed) {
  return seed && (!seed.getOpen().empty() || !seed.getPriorities().empty());
}

/// Collects the values of each group that vary alike along the micro-batches: they share a split.
LogicalResult Constraints::findGroups() {
  std::map<int64_t, SmallVector<std::shared_ptr<SmallVector<Value>>>> known;
  for (const OpNode &node : graph.nodes) {
    auto constrain = dyn_cast<ConstrainOp>(node.op);
    if (!constrain || !constrain.getGroup())
      continue;
    Value value = constrain.getResult();
    auto &groupValues = known[*constrain.getGroup()];
    if (!groupValues.empty() && groupValues.front()->front().getType() != value.getType())
      return withNote(constrain.emitOpError("belongs to group ")
                          << *constrain.getGroup() << ", which has values of "
                          << groupValues.front()->front().getType() << "; expected one type, found "
                          << value.getType(),
                      groupValues.front()->front(), "the first value of the group is here");
    auto *same = llvm::find_if(groupValues, [&](const auto &members) {
      return micro.sharding(members->front()).dims == micro.sharding(value).dims;
    });
    if (same == groupValues.end()) {
      groupValues.push_back(std::make_shared<SmallVector<Value>>());
      same = &groupValues.back();
    }
    (*same)->push_back(value);
    groups[value] = *same;
  }
  return success();
}

void Constraints::seed() {
  for (BlockArgument argument : graph.function.getArguments()) {
    constraints[argument] = graph.axes.read(Value(argument));
    // A donated value keeps its declared sharding.
    auto given = getSharding(argument);
    if (isOpenOrPrioritised(given) && !graph.isAnchored(argument) &&
        !graph.function.getArgAttr(argument.getArgNumber(), "tf.aliasing_output"))
      seeds[argument] = given;
  }
  for (const OpNode &node : graph.nodes) {
    if (node.isFree)
      continue;
    for (Value result : node.op->getResults()) {
      TensorSharding constraint = micro.sharding(result);
      constraint.dropAllUnreduced();
      if (const TensorSharding *pin = graph.pinned(result))
        constraint = *pin;
      if (auto constrain = dyn_cast<ConstrainOp>(node.op)) {
        constraint = graph.axes.read(constrain.getSharding());
        if (isOpenOrPrioritised(constrain.getSharding()) && !graph.pinned(result))
          seeds[result] = constrain.getSharding();
      }
      constraints[result] = std::move(constraint);
    }
  }
}

/// Returns the shardings wanted for the function's results.
void Constraints::seedResults() {
  for (auto [i, value] : llvm::enumerate(graph.terminator->getOperands())) {
    auto given = graph.resultSharding(i);
    if (graph.isFree(value) || !isa<RankedTensorType>(value.getType()))
      continue;
    if (!given) {
      if (graph.axes.size(kMicroAxis) == 1)
        offer(value, open.of(value));
      continue;
    }
    auto said = graph.function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr);
    offer(value, isOpenOrPrioritised(said) ? visible(*given, said) : *given);
  }
}

//===----------------------------------------------------------------------===//
// The fixpoint
//===----------------------------------------------------------------------===//

void Constraints::push(Operation *op) {
  const OpNode *node = graph.nodeOf(op);
  if (!node || node->isFree || !node->rule.isShardable())
    return;
  size_t index = graph.indexOf(op);
  if (isQueued[index])
    return;
  isQueued[index] = true;
  queues[passesThrough(node->rule) ? 0 : 1].push_back(index);
}

void Constraints::pushAround(Value value) {
  if (Operation *op = value.getDefiningOp())
    push(op);
  for (Operation *user : value.getUsers())
    push(user);
}

TensorSharding Constraints::visible(const TensorSharding &constraint, ShardingAttr seed) const {
  TensorSharding shown = constraint;
  for (int64_t dim = 0; dim < seed.getRank(); ++dim)
    if (seed.priorityOf(dim) > priority)
      shown.dims[dim].clear();
  return shown;
}

/// If a dimension is not split along the blocks that an op moves, this guesses that the blocks are
/// split over the same axes. A third of a dimension that is split into contiguous parts may be
/// split in the same way.
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

/// Returns the axes of the op's tensors, each on one factor of every part. If two axes conflict,
/// the first takes precedence.
SmallVector<Splits, 4> Constraints::merge(const OpNode &node, ArrayRef<Tensor> tensors) const {
  const ShardingRule &rule = node.rule;
  SmallVector<Splits, 4> merged = micro.placement(node).factors;
  int64_t axisCount = graph.axes.count();
  SmallVector<bool, 4> allPlaced(rule.parts * axisCount);
  for (const Tensor &tensor : tensors) {
    auto placed = MutableArrayRef(allPlaced).slice(tensor.part * axisCount, axisCount);
    SmallVector<Splits, 4> factors(rule.factors.size());
    auto seed = seeds.find(tensor.value);
    TensorSharding constraint = of(tensor.value);
    if (seed != seeds.end())
      constraint = visible(constraint, seed->second);
    (void)readFactors(rule, *tensor.factors, constraint, factors);
    guessBlocks(rule, *tensor.factors, constraint, factors);
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

/// Returns true if each device holds one contiguous piece of the tensor, as for arguments.
static bool isContiguous(const TensorSharding &sharding) {
  TensorSharding contiguous = sharding;
  contiguous.makeContiguous();
  return contiguous == sharding;
}

/// Adds the axes of `offered` that the value lacks and has room for.
bool Constraints::extend(Value value, const TensorSharding &offered) {
  TensorSharding &constraint = constraints[value];
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  auto seed = seeds.find(value);
  auto staysFree = [&](Axis axis) {
    return seed != seeds.end() &&
           llvm::is_contained(seed->second.getReplicated(), graph.axes.name(axis));
  };
  bool any = false;
  for (auto [dim, splits] : llvm::enumerate(offered.dims)) {
    if (isClosed(value, dim))
      continue;
    for (const Split &split : splits) {
      if (split.axis == kUnsplit || split.axis == kMicroAxis ||
          constraint.isSplitOver(split.axis) || staysFree(split.axis))
        continue;
      Splits alone = splitAt(split.axis, split.size, *outerOf(splits, split.axis));
      std::optional<Splits> united = unite(constraint.dims[dim], alone);
      if (!united)
        continue;
      TensorSharding extended = constraint;
      extended.dims[dim] = std::move(*united);
      if (!divides(shape, extended) || (isa<BlockArgument>(value) && !isContiguous(extended)))
        continue;
      constraint = std::move(extended);
      any = true;
    }
  }
  return any;
}

void Constraints::offer(Value value, const TensorSharding &offered) {
  if (!extend(value, offered))
    return;
  pushAround(value);
  if (auto it = groups.find(value); it != groups.end())
    for (Value other : *it->second)
      if (extend(other, of(value)))
        pushAround(other);
}

void Constraints::visit(const OpNode &node) {
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
  auto constrain = dyn_cast<ConstrainOp>(node.op);
  std::optional<SpreadDirection> direction = constrain ? constrain.getDirection() : std::nullopt;
  SmallVector<Splits, 4> merged = merge(node, tensors);
  for (const Tensor &tensor : tensors) {
    bool isOperand = constrain && tensor.value == constrain.getOperand();
    if (direction &&
        *direction != (isOperand ? SpreadDirection::Backward : SpreadDirection::Forward))
      continue;
    offer(tensor.value, composeDims(node.rule, *tensor.factors, merged));
  }
}

LogicalResult Constraints::run() {
  isQueued.assign(graph.nodes.size(), false);
  if (failed(findGroups()))
    return failure();
  seed();
  for (const OpNode &node : graph.nodes)
    if (auto constrain = dyn_cast<ConstrainOp>(node.op); constrain && constrain.getGroup())
      for (Value other : *groups[constrain.getResult()])
        (void)extend(other, of(constrain.getResult()));
  std::set<int64_t> priorities = {0};
  auto note = [&](ShardingAttr seed) {
    if (seed)
      priorities.insert(seed.getPriorities().begin(), seed.getPriorities().end());
  };
  for (const auto &[value, seed] : seeds)
    note(seed);
  for (unsigned i = 0; i < graph.terminator->getNumOperands(); ++i)
    note(graph.function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr));
  for (int64_t next : priorities) {
    priority = next;
    seedResults();
    spread();
  }
  return success();
}

/// Iterates to the fixpoint of the visible shardings.
void Constraints::spread() {
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
