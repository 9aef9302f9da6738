#include "passes/Propagation/Resolution.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "dialects/St/Interfaces/Shapes.h"
#include "dialects/St/Sharding/ChooseSharding.h"

using namespace mlir;
using namespace mlir::st;

//===----------------------------------------------------------------------===//
// Shardings in which ops are computed
//===----------------------------------------------------------------------===//

/// Returns true if all users of a value are linear in it, so that a partial sum need not be reduced
/// for one user and kept for another.
bool Resolution::mayPass(Value value) {
  auto [it, isNew] = passable.try_emplace(value, true);
  if (!isNew)
    return it->second;
  it->second = llvm::all_of(value.getUses(), [&](OpOperand &use) {
    const OpNode *user = graph.nodeOf(use.getOwner());
    return user && !user->isFree && !user->isPinned &&
           llvm::is_contained(user->rule.linearOperands, use.getOperandNumber());
  });
  return it->second;
}

/// Gradients of a parameter that is used more than once are added before they are summed over
/// devices: once, instead of once each. This does not apply to gradients that may come from other
/// stages, which send reduced values only.
void Resolution::passSums(const OpNode &node, OpSharding &how) const {
  auto module = graph.function->getParentOfType<ModuleOp>();
  auto stages = module->getAttrOfType<IntegerAttr>("st.stages");
  if (node.rule.linearity != ShardingRule::Linearity::Jointly || (stages && stages.getInt() > 1))
    return;
  ChoiceContext context{graph.axes, {}, {}, {}, {}, {}, {}};
  for (Value operand : node.op->getOperands()) {
    context.operands.push_back(resolved.lookup(operand));
    context.isZero.push_back(false);
    context.mayPass.push_back(!graph.isFree(operand) && operand.hasOneUse());
  }
  for (Axis axis : graph.axes.used()) {
    if (axis == kMicroAxis)
      continue;
    OpSharding without = how;
    for (Splits &splits : without.factors)
      eraseAxis(splits, axis);
    if (auto passing = passOn(node.op, node.rule, without, axis, /*part=*/0, context))
      how = std::move(*passing);
  }
}

/// Returns true if a sum over micro-batches can be reduced over devices after the last micro-batch:
/// no constraint requires it earlier.
static bool isSummedLate(Value result) {
  return llvm::none_of(result.getUsers(), [](Operation *user) {
    auto constrain = dyn_cast<ConstrainOp>(user);
    return constrain && llvm::any_of(constrain.getSharding().getUnreduced(), [](StringAttr axis) {
             return axis.getValue() == MeshOp::kMicro;
           });
  });
}

/// Returns true if an op is linear in `value` for any values of its other operands.
static bool isLinearInAlone(const OpNode &node, Value value) {
  return node.rule.linearity != ShardingRule::Linearity::None && node.rule.parts == 1 &&
         llvm::all_of(node.rule.linearOperands, [&](int64_t i) {
           Value operand = node.op->getOperand(i);
           return operand == value || (node.rule.linearity == ShardingRule::Linearity::Jointly &&
                                       isZeroConstant(operand));
         });
}

/// Returns true if an operand is a sum over devices that another op needs too. That op may reduce
/// it in any case.
bool Resolution::sharesSum(Operation *op) const {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return !operand.hasOneUse() && !graph.isFree(operand) &&
           !resolved.lookup(operand).unreduced.empty();
  });
}

/// Follows a value through single users that are linear in it, to the smallest tensor to which the
/// sum over devices can be applied: the gradient of keys that were repeated for several heads is
/// added up over these first. Returns its part of the value's elements.
double Resolution::laterSumOf(Value result) {
  constexpr int kMaxOps = 8;
  auto elementsOf = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type ? static_cast<double>(type.getNumElements()) : 0.0;
  };
  double smallest = elementsOf(result);
  if (smallest == 0)
    return 1;
  Value at = result;
  for (int i = 0; i < kMaxOps && at.hasOneUse() && mayPass(at); ++i) {
    Operation *user = *at.user_begin();
    if (user->getNumResults() != 1 || isa<ConstrainOp>(user) ||
        !isLinearInAlone(*graph.nodeOf(user), at))
      break;
    at = user->getResult(0);
    smallest = std::min(smallest, elementsOf(at));
  }
  return smallest / elementsOf(result);
}

OpSharding Resolution::choose(const OpNode &node) {
  OpSharding base = micro.placement(node);
  if (!node.rule.isShardable() && node.rule.operands.empty())
    return base;
  ArrayRef<Axis> axes = graph.axes.used();
  if (!axes.empty() && axes.front() == kMicroAxis)
    axes = axes.drop_front();
  if (axes.empty())
    return base;

  // Updates and constraints are computed in their pinned sharding, whatever the cost.
  if ((node.isPinned || isa<ConstrainOp>(node.op)) && !node.rule.results.empty()) {
    OpSharding exact = base;
    if (readFactors(node.rule, node.rule.results[0], constraints.of(node.op->getResult(0)),
                    exact.factors)) {
      if (node.isPinned)
        passSums(node, exact);
      return exact;
    }
  }
  ChoiceContext context{graph.axes, {}, {}, {}, {}, {}, {}};
  context.isOfStep = true;
  const bool sharesItsSum = sharesSum(node.op);
  context.replicas.append(graph.replicas().begin(), graph.replicas().end());
  for (Value operand : node.op->getOperands()) {
    bool isFree = graph.isFree(operand);
    context.operands.push_back(isFree ? std::nullopt : std::optional(resolved.lookup(operand)));
    context.atHand.push_back(taken.lookup(operand));
    context.anchored.push_back(graph.isAnchored(operand));
    context.isZero.push_back(isFree && isZeroConstant(operand));
    context.mayPass.push_back(!isFree && mayPass(operand));
  }
  for (auto [i, result] : llvm::enumerate(node.op->getResults())) {
    TensorSharding wanted = constraints.of(result);
    // The cost of this op does not include the reduction over micro.
    TensorSharding left = resultSharding(node.rule, base, i, rankOf(result));
    wanted.kind = left.kind;
    wanted.unreduced = left.unreduced;
    context.isLate.push_back(left.isUnreducedOver(kMicroAxis) && isSummedLate(result));
    context.laterSum.push_back(sharesItsSum ? 1 : laterSumOf(result));
    context.wanted.push_back(std::move(wanted));
  }
  return chooseOpSharding(node.op, node.rule, base, context, axes);
}

/// A value that one op gathers need not be gathered again for the next.
void Resolution::noteTaken(const OpNode &node, const OpSharding &how) {
  for (auto [i, operand] : llvm::enumerate(node.op->getOperands())) {
    if (graph.isFree(operand))
      continue;
    TensorSharding needed = operandSharding(node.rule, how, i, rankOf(operand));
    if (needed != resolved.lookup(operand) && !llvm::is_contained(taken[operand], needed))
      taken[operand].push_back(std::move(needed));
  }
}

//===----------------------------------------------------------------------===//
// Free values
//===----------------------------------------------------------------------===//

Value Resolution::versionOf(Value value, TensorSharding needed) {
  needed.dropAllUnreduced();
  const OpNode &node = *graph.nodeOf(value.getDefiningOp());
  // Along dimensions that the op cannot split, it is replicated, and its user takes a slice.
  OpSharding how(node.rule);
  SmallVector<Splits, 4> factors(node.rule.factors.size());
  if (readFactors(node.rule, node.rule.results[0], needed, factors))
    for (auto [factor, splits] : llvm::enumerate(factors))
      if (!splits.empty())
        (void)how.place(node.rule, factor, splits);
  TensorSharding sharding = resultSharding(node.rule, how, 0, rankOf(value));

  auto &known = versions[value];
  for (auto &[other, version] : known)
    if (other == sharding)
      return version;
  Operation *op = node.op;
  if (!known.empty()) {
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    op = builder.clone(*op);
    originals[op->getResult(0)] = value;
    ++copies;
  }
  known.push_back({sharding, op->getResult(0)});
  op->setDiscardableAttr(kShardingAttr, graph.axes.write(sharding));
  for (OpOperand &operand : op->getOpOperands()) {
    Value original = operand.get();
    if (Value other = originals.lookup(original))
      original = other;
    if (graph.isFree(original))
      operand.set(versionOf(
          original, operandSharding(node.rule, how, operand.getOperandNumber(), rankOf(original))));
  }
  return op->getResult(0);
}

void Resolution::supplyFreeOperands(const OpNode &node, const OpSharding &how) {
  for (OpOperand &operand : node.op->getOpOperands())
    if (graph.isFree(operand.get()))
      operand.set(
          versionOf(operand.get(), operandSharding(node.rule, how, operand.getOperandNumber(),
                                                   rankOf(operand.get()))));
  for (Value value : node.captured)
    if (graph.isFree(value))
      value.replaceUsesWithIf(versionOf(value, TensorSharding(rankOf(value))), [&](OpOperand &use) {
        return node.op->isProperAncestor(use.getOwner());
      });
}

void Resolution::eraseUnused() {
  for (const OpNode &node : llvm::reverse(graph.nodes))
    if (node.isFree && !versions.contains(node.op->getResult(0)))
      node.op->erase();
}

//===----------------------------------------------------------------------===//
// Everything
//===----------------------------------------------------------------------===//

void Resolution::record(Operation *op) {
  SmallVector<Attribute> shardings;
  for (Value result : op->getResults())
    shardings.push_back(graph.axes.write(resolved.lookup(result)));
  if (shardings.size() == 1)
    op->setDiscardableAttr(kShardingAttr, shardings[0]);
  else if (!shardings.empty())
    op->setDiscardableAttr(kShardingAttr, ArrayAttr::get(op->getContext(), shardings));
}

/// Returns true if a sharding only states how a tensor is split.
static bool isFinal(ShardingAttr sharding) {
  return sharding.getOpen().empty() && sharding.getPriorities().empty() &&
         sharding.getReplicated().empty();
}

/// Returns true if a result's sharding extends the given one only by axes in open dimensions, and
/// no such axis must stay free.
static bool isExtended(ShardingAttr said, const TensorSharding &given,
                       const TensorSharding &sharding, const MeshAxes &axes) {
  for (StringAttr name : said.getReplicated())
    if (std::optional<Axis> axis = axes.lookup(name); axis && sharding.isSplitOver(*axis))
      return false;
  for (auto [dim, own, now] : llvm::enumerate(given.dims, sharding.dims)) {
    bool begins = now.size() >= own.size() && ArrayRef(now).take_front(own.size()) == ArrayRef(own);
    if (said.isOpen(dim) ? !begins : own != now)
      return false;
  }
  return true;
}

/// Results keep their sharding, but are reduced and unsplit along micro, unless they replace an
/// argument.
void Resolution::resolveSignature() {
  Signature signature(graph.function);
  for (auto [i, argument] : llvm::enumerate(graph.function.getArguments())) {
    auto given = cast_or_null<ShardingAttr>(signature.getArgumentAttr(i, kShardingAttr));
    if (isa<RankedTensorType>(argument.getType()) && (!given || !isFinal(given)))
      signature.setArgumentAttr(i, kShardingAttr, graph.axes.write(resolved.lookup(argument)));
  }
  for (OpOperand &operand : graph.terminator->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    Value value = operand.get();
    bool isFree = graph.isFree(value);
    TensorSharding sharding = isFree ? TensorSharding(rankOf(value)) : resolved.lookup(value);
    sharding.dropAllUnreduced();
    sharding.makeContiguous();
    // Results of micro-batches are stacked as they are computed.
    if (!isFree && isa<RankedTensorType>(value.getType()) && graph.axes.size(kMicroAxis) == 1)
      sharding = open.of(value);
    auto said = cast_or_null<ShardingAttr>(signature.getResultAttr(i, kShardingAttr));
    if (std::optional<TensorSharding> given = graph.resultSharding(i);
        given && !(said && isExtended(said, *given, sharding, graph.axes)))
      sharding = std::move(*given);
    signature.setResultAttr(i, kShardingAttr, graph.axes.write(sharding));
    if (isFree)
      operand.set(versionOf(value, sharding));
  }
  signature.write();
}

void Resolution::run() {
  for (BlockArgument argument : graph.function.getArguments())
    resolved[argument] = constraints.of(argument);
  std::vector<std::pair<const OpNode *, OpSharding>> choices;
  for (const OpNode &node : graph.nodes) {
    if (node.isFree)
      continue;
    OpSharding how = choose(node);
    for (auto [i, result] : llvm::enumerate(node.op->getResults()))
      resolved[result] = resultSharding(node.rule, how, i, rankOf(result));
    noteTaken(node, how);
    choices.emplace_back(&node, std::move(how));
  }
  for (auto &[node, how] : choices) {
    supplyFreeOperands(*node, how);
    record(node->op);
  }
  resolveSignature();
  eraseUnused();
}
