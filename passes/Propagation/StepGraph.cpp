#include "passes/Propagation/StepGraph.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Utils/Roles.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::st;

//===----------------------------------------------------------------------===//
// Classification
//===----------------------------------------------------------------------===//

static int64_t tensorRank(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : -1;
}

static int64_t sizeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

TensorSharding mlir::st::restrictTo(const TensorSharding &sharding, Axis axis,
                                    const MeshAxes &axes) {
  TensorSharding result(sharding.dims.size());
  for (auto [dim, splits] : llvm::enumerate(sharding.dims))
    if (std::optional<int64_t> outer = outerOf(splits, axis))
      result.dims[dim] = splitAt(axis, axes.size(axis), *outer);
  if (sharding.isUnreducedOver(axis)) {
    result.kind = sharding.kind;
    result.unreduced = {axis};
  }
  return result;
}

void StepGraph::classify(OpNode &node) {
  Operation *op = node.op;
  bool reads = llvm::any_of(op->getOperands(), [&](Value v) { return stateful.contains(v); }) ||
               llvm::any_of(node.captured, [&](Value v) { return stateful.contains(v); });
  if (reads)
    stateful.insert(op->result_begin(), op->result_end());

  // A weight in another order or type is still a weight.
  if (op->getNumOperands() == 1 && op->getNumResults() == 1 && isAnchored(op->getOperand(0)) &&
      !node.rule.operands.empty() && sizeOf(op->getOperand(0)) == sizeOf(op->getResult(0)) &&
      llvm::none_of(node.rule.factors,
                    [](const Factor &factor) { return factor.kind != FactorKind::Parallel; }))
    anchored.insert(op->getResult(0));

  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || node.rule.results.empty() ||
      !isMemoryEffectFree(op) || isa<ConstrainOp>(op))
    return;
  if (op->getNumOperands() == 0) {
    node.isFree = op->hasTrait<OpTrait::ConstantLike>() || isa<stablehlo::IotaOp>(op);
    return;
  }
  if (llvm::any_of(node.rule.factors,
                   [](const Factor &factor) { return factor.kind == FactorKind::Reduction; }))
    return;
  bool makesTensor = tensorRank(op->getResult(0)) > 0;
  node.isFree = llvm::all_of(op->getOperands(), [&](Value operand) {
    if (isFree(operand) || (makesTensor && tensorRank(operand) == 0))
      return true;
    auto argument = dyn_cast<BlockArgument>(operand);
    return argument && (getRole(argument) == "key" || getRole(argument) == "scalar");
  });
}

void StepGraph::addNode(Operation &op) {
  OpNode node{&op, getShardingRule(&op)};
  for (Region &region : op.getRegions()) {
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(region, captured);
    llvm::append_range(node.captured, captured);
  }
  index[&op] = nodes.size();
  nodes.push_back(std::move(node));
  classify(nodes.back());
}

//===----------------------------------------------------------------------===//
// Pins
//===----------------------------------------------------------------------===//

/// An 8-bit update has values of other types in the state's shape.
static bool isSameShape(Value a, Value b) {
  return cast<RankedTensorType>(a.getType()).getShape() ==
         cast<RankedTensorType>(b.getType()).getShape();
}

/// Pins the value and, through ops elementwise in its shape, its producers. A constraint states a
/// sharding, which its operand need not have.
void StepGraph::pin(Value value, const TensorSharding &sharding) {
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (isFree(next) || isa<BlockArgument>(next) || !pins.try_emplace(next, sharding).second)
      continue;
    OpNode &node = nodes[index.lookup(next.getDefiningOp())];
    if (!isPointwise(node.rule) || isa<ConstrainOp>(node.op))
      continue;
    node.isPinned = true;
    for (Value operand : node.op->getOperands())
      if (isSameShape(operand, next))
        worklist.push_back(operand);
  }
}

void StepGraph::pinUpdates() {
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto result = function.getArgAttrOfType<IntegerAttr>(i, "tf.aliasing_output");
    if (!result || result.getInt() >= static_cast<int64_t>(terminator->getNumOperands()))
      continue;
    donors[result.getInt()] = i;
    if (isTrainingState(argument))
      pin(terminator->getOperand(result.getInt()), updateSharding(argument));
  }
}

/// The name of the parameter that a state is, or belongs to.
StringAttr StepGraph::parameterOf(BlockArgument state) const {
  StringRef key = getRole(state) == "parameter" ? kNameAttr : kOfAttr;
  return function.getArgAttrOfType<StringAttr>(state.getArgNumber(), key);
}

static int64_t countParts(const TensorSharding &sharding) {
  int64_t count = 1;
  for (const Splits &dim : sharding.dims)
    count *= shardCount(dim);
  return count;
}

TensorSharding StepGraph::updateSharding(BlockArgument state) const {
  TensorSharding finest = axes.read(Value(state));
  for (BlockArgument other : relatives.lookup(parameterOf(state))) {
    if (!isSameShape(other, state))
      continue;
    TensorSharding sharding = axes.read(Value(other));
    if (countParts(sharding) > countParts(finest))
      finest = sharding;
  }
  return finest;
}

std::optional<TensorSharding> StepGraph::resultSharding(unsigned result) const {
  if (auto given = function.getResultAttrOfType<ShardingAttr>(result, kShardingAttr))
    return axes.read(given);
  auto donor = donors.find(result);
  if (donor == donors.end())
    return std::nullopt;
  return axes.read(Value(function.getArgument(donor->second)));
}

//===----------------------------------------------------------------------===//
// Replicas
//===----------------------------------------------------------------------===//

void StepGraph::findReplicas() {
  constexpr size_t kRowDims = 2; // rows, and the tokens of a row
  SmallVector<bool> splitsRows(axes.count()), splitsElse(axes.count());
  auto mark = [](SmallVectorImpl<bool> &marked, ArrayRef<Splits> dims) {
    for (const Splits &splits : dims)
      for (const Split &split : splits)
        if (split.axis != kUnsplit)
          marked[split.axis] = true;
  };
  for (BlockArgument argument : function.getArguments()) {
    TensorSharding own = axes.read(Value(argument));
    if (getRole(argument) == "batch" && !own.dims.empty()) {
      mark(splitsRows, ArrayRef(own.dims).take_front(kRowDims));
      mark(splitsElse, ArrayRef(own.dims).drop_front(std::min(kRowDims, own.dims.size())));
    }
    if (getRole(argument) != "parameter")
      continue;
    for (Operation *user : argument.getUsers()) {
      const OpNode *node = nodeOf(user);
      if (!node || node->isPinned)
        continue;
      auto constrain = dyn_cast<ConstrainOp>(user);
      if (constrain && !constrain.getSharding().getOpen().empty())
        constrain = nullptr; // it does not cover all uses
      mark(splitsElse, constrain ? axes.read(constrain.getSharding()).dims : own.dims);
    }
  }
  for (Axis axis : axes.used())
    if (axis != kMicroAxis && splitsRows[axis] && !splitsElse[axis])
      replicaAxes.push_back(axis);
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

FailureOr<StepGraph> StepGraph::build(func::FuncOp function, const MeshAxes &axes) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("expects a body of one block");
  StepGraph graph(function, axes);
  graph.terminator = function.front().getTerminator();
  for (BlockArgument argument : function.getArguments())
    if (isTrainingState(argument)) {
      graph.anchored.insert(argument);
      graph.stateful.insert(argument);
      if (StringAttr name = graph.parameterOf(argument))
        graph.relatives[name].push_back(argument);
    }
  for (Operation &op : function.front().without_terminator()) {
    for (Value result : op.getResults())
      if (!isa<RankedTensorType>(result.getType()))
        return op.emitOpError("expects results to be tensors, found ") << result.getType();
    graph.addNode(op);
  }
  graph.pinUpdates();
  graph.findReplicas();
  return graph;
}
