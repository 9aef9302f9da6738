// A sequence that devices share is split in every tensor along its positions, by propagation. Only
// the products between positions need a decision: scores multiply queries with keys, and the
// context multiplies probabilities with values. Both operands have the axis, in different
// dimensions, and one of them must move. The constraints of this file determine which, and where:
// keys and values move before they are repeated for the heads of a group.

#include "passes/Partition/Config/ConstrainAttention.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Sharding/ReshardCost.h"
#include "dialects/St/Sharding/ReshardPlan.h"
#include "dialects/St/Utils/Roles.h"
#include "passes/Partition/Config/AttentionDataflow.h"
#include "passes/Partition/Stages/LayerFlow.h"

using namespace mlir;
using namespace mlir::st;
using stablehlo::DotGeneralOp;

namespace {
class AttentionConstraints {
public:
  /// Without `inserts`, the function is not changed.
  AttentionConstraints(func::FuncOp function, const MeshAxes &axes, const SequenceSharing &sharing,
                       bool inserts)
      : function(function), axes(axes), axis(sharing.axis), shards(sharing.shards),
        exchange(sharing.exchange), inserts(inserts), builder(function.getContext()) {}

  SharedAttention run();

private:
  using Flow = DenseMap<Value, TensorSharding>;

  void start();
  void flowThrough(Operation *op, const ShardingRule &rule, Flow &flow) const;
  void visit(Operation *op);
  void visitProduct(DotGeneralOp dot, const ShardingRule &rule);
  std::optional<int64_t> factorOf(OpOperand &operand, const ShardingRule &rule,
                                  const Flow &flow) const;

  void decide(DotGeneralOp dot, const ShardingRule &rule, OpOperand &keys);
  std::optional<int64_t> findHeads(const ShardingRule &rule);
  bool sendsHeads(OpOperand &queries, OpOperand &keys, const ShardingRule &rule, int64_t ofHeads);
  void visitHeads(DotGeneralOp dot, const ShardingRule &rule, int64_t ofHeads);

  TensorSharding targetOf(OpOperand &operand, const ShardingRule &rule,
                          std::optional<int64_t> ofHeads);
  ShardedValue sourceOf(OpOperand &operand, TensorSharding sharding) const;
  double costOfMove(const ShardedValue &source) const;
  Value constrainTo(Value value, const TensorSharding &sharding, int64_t positionDim);
  void move(OpOperand &operand, const ShardingRule &rule, std::optional<int64_t> ofHeads,
            bool isOfKeys);
  void moveBack(Value value, const TensorSharding &sharding,
                const std::optional<TensorSharding> &heads = std::nullopt);

  func::FuncOp function;
  const MeshAxes &axes;
  Axis axis;
  int64_t shards;
  AttentionExchange exchange;
  bool inserts;
  OpBuilder builder;
  DenseSet<Operation *> forward;
  /// The sharding along positions. In attention, a value may have positions of queries and of keys;
  /// each device then has all keys. The axis may also split the heads instead.
  Flow positions, ofKeys, ofHeads;
  DenseMap<std::pair<Value, Attribute>, Value> constrained;
  SharedAttention found;
};
} // namespace

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

void AttentionConstraints::start() {
  for (BlockArgument argument : function.getArguments()) {
    if (!isa<RankedTensorType>(argument.getType()))
      continue;
    TensorSharding sharding = axes.read(Value(argument));
    if (!sharding.isSplitOver(axis) || getRole(argument) != "batch")
      continue;
    for (Splits &splits : sharding.dims)
      eraseAxis(splits, kMicroAxis);
    positions[argument] = std::move(sharding);
  }
  for (Operation *op : forwardOps(function))
    forward.insert(op);
}

/// The factor that the axis splits.
std::optional<int64_t> AttentionConstraints::factorOf(OpOperand &operand, const ShardingRule &rule,
                                                      const Flow &flow) const {
  auto it = flow.find(operand.get());
  if (it == flow.end())
    return std::nullopt;
  SmallVector<Splits, 4> factors(rule.factors.size());
  (void)readFactors(rule, rule.operands[operand.getOperandNumber()], it->second, factors);
  for (auto [factor, splits] : llvm::enumerate(factors))
    if (outerOf(splits, axis))
      return factor;
  return std::nullopt;
}

/// An axis follows the first operand along whose dimension the op is parallel.
void AttentionConstraints::flowThrough(Operation *op, const ShardingRule &rule, Flow &flow) const {
  SmallVector<Splits, 4> merged(rule.factors.size());
  SmallVector<bool, 4> placed(axes.count());
  for (auto [i, tensor] : llvm::enumerate(rule.operands)) {
    auto it = flow.find(op->getOperand(i));
    if (it == flow.end())
      continue;
    SmallVector<Splits, 4> factors(rule.factors.size());
    (void)readFactors(rule, tensor, it->second, factors);
    for (auto [factor, splits] : llvm::enumerate(factors))
      for (const Split &split : splits) {
        if (split.axis == kUnsplit || placed[split.axis] ||
            rule.factors[factor].kind != FactorKind::Parallel)
          continue;
        Splits alone = splitAt(split.axis, split.size, *outerOf(splits, split.axis));
        if (std::optional<Splits> united = unite(merged[factor], alone)) {
          merged[factor] = std::move(*united);
          placed[split.axis] = true;
        }
      }
  }
  for (auto [result, tensor] : llvm::zip(op->getResults(), rule.results))
    if (TensorSharding sharding = composeDims(rule, tensor, merged);
        sharding.isSplitOver(axis) &&
        fitsDevices(cast<RankedTensorType>(result.getType()).getShape(), sharding))
      flow[result] = std::move(sharding);
}

void AttentionConstraints::visit(Operation *op) {
  ShardingRule rule = getShardingRule(op);
  if (rule.operands.size() != op->getNumOperands())
    return;
  for (Flow *flow : {&positions, &ofKeys, &ofHeads})
    flowThrough(op, rule, *flow);
  for (OpOperand &operand : op->getOpOperands())
    if (std::optional<int64_t> factor = factorOf(operand, rule, positions))
      found.windows += rule.factors[*factor].minPartSize > 0 ? 1 : 0;
  if (auto dot = dyn_cast<DotGeneralOp>(op))
    visitProduct(dot, rule);
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// The sharding of an operand of a product: with the axis on the heads, or without it.
TensorSharding AttentionConstraints::targetOf(OpOperand &operand, const ShardingRule &rule,
                                              std::optional<int64_t> ofHeads) {
  const TensorFactors &tensor = rule.operands[operand.getOperandNumber()];
  TensorSharding sharding = positions.lookup(operand.get());
  for (Splits &splits : sharding.dims)
    eraseAxis(splits, axis);
  if (!ofHeads)
    return sharding;
  SmallVector<Splits, 4> factors(rule.factors.size());
  (void)readFactors(rule, tensor, sharding, factors);
  if (auto united = unite(factors[*ofHeads], splitAt(axis, axes.size(axis), shards)))
    factors[*ofHeads] = std::move(*united);
  return composeDims(rule, tensor, factors);
}

/// Follows a product's operand back to the smallest tensor with the same elements, such as keys
/// before they are repeated for groups of heads.
ShardedValue AttentionConstraints::sourceOf(OpOperand &operand, TensorSharding sharding) const {
  ShardedValue best{operand.get(), sharding}, at = best;
  while (Operation *op = at.value.getDefiningOp()) {
    if (!isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp, stablehlo::TransposeOp,
             stablehlo::ConvertOp>(op) ||
        !positions.contains(op->getOperand(0)))
      break;
    ShardingRule rule = getShardingRule(op);
    SmallVector<Splits, 4> factors(rule.factors.size());
    if (!readFactors(rule, rule.results[0], at.sharding, factors))
      break;
    TensorSharding before = composeDims(rule, rule.operands[0], factors);
    if (before.isSplitOver(axis) != at.sharding.isSplitOver(axis))
      break;
    at = {op->getOperand(0), std::move(before)};
    if (bytesOf(at.value) < bytesOf(best.value))
      best = at;
  }
  return best;
}

/// Other axes may split any dimension but the positions.
Value AttentionConstraints::constrainTo(Value value, const TensorSharding &sharding,
                                        int64_t positionDim) {
  ShardingAttr given = axes.write(sharding);
  SmallVector<int64_t> open;
  for (int64_t dim = 0; dim < given.getRank(); ++dim)
    if (dim != positionDim)
      open.push_back(dim);
  SmallVector<StringAttr> replicated;
  if (!sharding.isSplitOver(axis))
    replicated.push_back(axes.name(axis));
  auto attribute = ShardingAttr::get(builder.getContext(), given.getMesh(), given.getDims(),
                                     given.getKind(), {}, open, {}, replicated);
  Value &known = constrained[{value, attribute}];
  if (known)
    return known;
  builder.setInsertionPointAfterValue(value);
  auto constraint = ConstrainOp::create(builder, value.getLoc(), value.getType(), value, attribute);
  Operation *op = value.getDefiningOp();
  if (Attribute block = op ? op->getDiscardableAttr("st.block") : nullptr)
    constraint->setDiscardableAttr("st.block", block);
  return known = constraint;
}

/// Moves an operand of a product at the point where it is smallest. Products of the backward pass
/// read the moved operand too.
void AttentionConstraints::move(OpOperand &operand, const ShardingRule &rule,
                                std::optional<int64_t> toHeads, bool isOfKeys) {
  ShardedValue source = sourceOf(operand, targetOf(operand, rule, toHeads));
  SmallVector<Operation *> way; // from the product back to the source
  for (Value value = operand.get(); value != source.value; value = way.back()->getOperand(0))
    way.push_back(value.getDefiningOp());
  Operation *reader = way.empty() ? operand.getOwner() : way.back();
  TensorSharding sharding = positions.lookup(source.value);
  Value moved = constrainTo(source.value, source.sharding, *sharding.dimOf(axis));
  source.value.replaceUsesWithIf(moved, [&](OpOperand &use) {
    Operation *user = use.getOwner();
    auto dot = dyn_cast<DotGeneralOp>(user);
    bool isOfBackward = dot && !forward.contains(user) &&
                        !dot.getDotDimensionNumbers().getLhsBatchingDimensions().empty();
    return (way.empty() ? &use == &operand : user == reader) || isOfBackward;
  });
  (isOfKeys ? ofKeys : positions)[moved] = std::move(sharding);
  if (toHeads) {
    // The source keeps its split along positions, and its own operands do not get the heads'.
    moved.getDefiningOp<ConstrainOp>().setDirection(SpreadDirection::Forward);
    ofHeads[moved] = source.sharding;
  }
  for (Operation *op : llvm::reverse(way)) {
    ShardingRule rule = getShardingRule(op);
    if (isOfKeys)
      positions.erase(op->getResult(0));
    for (Flow *flow : {&ofKeys, &ofHeads})
      flowThrough(op, rule, *flow);
  }
}

/// Splits positions over the axis again. An axis on the heads first stays there, up to the smallest
/// tensor that has enough of them.
void AttentionConstraints::moveBack(Value value, const TensorSharding &sharding,
                                    const std::optional<TensorSharding> &heads) {
  ShardedValue sink = findSink(value, sharding, axis, heads);
  Value moved = constrainTo(sink.value, sink.sharding, *sink.sharding.dimOf(axis));
  if (heads)
    moved.getDefiningOp<ConstrainOp>().setDirection(SpreadDirection::Forward);
  sink.value.replaceAllUsesExcept(moved, moved.getDefiningOp());
  positions[moved] = sink.sharding;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The last batching factor, if it can be split over the axis in addition to the shards.
std::optional<int64_t> AttentionConstraints::findHeads(const ShardingRule &rule) {
  std::optional<int64_t> last;
  for (ArrayRef<int64_t> dim : rule.operands[0])
    for (int64_t factor : dim)
      if (llvm::any_of(
              rule.operands[1],
              [&](ArrayRef<int64_t> other) { return llvm::is_contained(other, factor); }) &&
          rule.factors[factor].kind == FactorKind::Parallel)
        last = factor;
  if (!last)
    return std::nullopt;
  if (rule.factors[*last].size % (shards * axes.size(axis)) == 0)
    return last;
  found.tooFewHeads.push_back(rule.factors[*last].size);
  return std::nullopt;
}

double AttentionConstraints::costOfMove(const ShardedValue &source) const {
  auto type = cast<RankedTensorType>(source.value.getType());
  const TensorSharding &from = positions.find(source.value)->second;
  if (!divides(type.getShape(), from) || !divides(type.getShape(), source.sharding))
    return 0;
  const ReshardPlan *plan = planReshard(from, source.sharding, type, axes);
  return plan ? reshardCost(*plan, elementBytes(type), axes) : 0;
}

/// Keys and values are gathered in the forward and in the backward pass, and their gradients are
/// scattered: propagation first adds up those of repeated keys and values. Queries, keys, values
/// and results, and the gradients of the four, are exchanged once each.
bool AttentionConstraints::sendsHeads(OpOperand &queries, OpOperand &keys, const ShardingRule &rule,
                                      int64_t toHeads) {
  if (exchange != AttentionExchange::Cheapest)
    return exchange == AttentionExchange::Heads;
  double ofHeads = 2 * (costOfMove(sourceOf(queries, targetOf(queries, rule, toHeads))) +
                        costOfMove(sourceOf(keys, targetOf(keys, rule, toHeads))));
  double ofKeys = 3 * costOfMove(sourceOf(keys, targetOf(keys, rule, std::nullopt)));
  return ofHeads < ofKeys;
}

/// Decides for the scores, and thereby for all products of this attention.
void AttentionConstraints::decide(DotGeneralOp dot, const ShardingRule &rule, OpOperand &keys) {
  OpOperand &queries = dot->getOpOperand(1 - keys.getOperandNumber());
  std::optional<int64_t> heads =
      exchange == AttentionExchange::Keys || exchange == AttentionExchange::Ring ? std::nullopt
                                                                                 : findHeads(rule);
  if (heads && !sendsHeads(queries, keys, rule, *heads))
    heads = std::nullopt;
  ++(heads ? found.heads : found.keys);
  found.ordered += hasOrderedMask(dot) ? 1 : 0;
  if (!inserts)
    return;
  if (heads)
    move(queries, rule, heads, /*isOfKeys=*/false);
  move(keys, rule, heads, /*isOfKeys=*/true);
  for (Flow *flow : {&positions, &ofKeys, &ofHeads})
    flowThrough(dot, rule, *flow);
}

/// A product of an attention over heads: the other operand moves to the heads, and a result that
/// has only one kind of positions moves back to them.
void AttentionConstraints::visitHeads(DotGeneralOp dot, const ShardingRule &rule, int64_t heads) {
  for (OpOperand &operand : dot->getOpOperands()) {
    std::optional<int64_t> own = factorOf(operand, rule, positions);
    if (ofHeads.contains(operand.get()) || !own)
      continue;
    OpOperand &other = dot->getOpOperand(1 - operand.getOperandNumber());
    move(operand, rule, heads, /*isOfKeys=*/own == factorOf(other, rule, ofKeys));
  }
  Value result = dot.getResult();
  auto queries = positions.find(result), keys = ofKeys.find(result);
  if ((queries == positions.end()) == (keys == ofKeys.end()))
    return;
  TensorSharding sharding = queries == positions.end() ? keys->second : queries->second;
  const TensorSharding overHeads = ofHeads.lookup(result);
  for (Flow *flow : {&positions, &ofKeys, &ofHeads})
    flow->erase(result);
  moveBack(result, sharding, overHeads);
}

void AttentionConstraints::visitProduct(DotGeneralOp dot, const ShardingRule &rule) {
  for (OpOperand &operand : dot->getOpOperands())
    if (std::optional<int64_t> heads = factorOf(operand, rule, ofHeads);
        heads && rule.factors[*heads].kind == FactorKind::Parallel)
      return visitHeads(dot, rule, *heads);
  std::optional<int64_t> own[] = {factorOf(dot->getOpOperand(0), rule, positions),
                                  factorOf(dot->getOpOperand(1), rule, positions)};
  if (!own[0] || !own[1])
    return;
  auto isParallel = [&](unsigned i) { return rule.factors[*own[i]].kind == FactorKind::Parallel; };
  if (own[0] == own[1]) {
    // The gradient of keys or values is a sum over the devices' queries.
    auto keys = ofKeys.find(dot.getResult());
    if (!isParallel(0) && keys != ofKeys.end())
      moveBack(dot.getResult(), TensorSharding(keys->second));
    return;
  }
  if (isParallel(0) && isParallel(1)) {
    bool isFirst = areKeys(dot, rule, *own[0], *own[1]);
    return decide(dot, rule, dot->getOpOperand(isFirst ? 0 : 1));
  }
  for (unsigned i : {0, 1})
    if (inserts && isParallel(i))
      return move(dot->getOpOperand(1 - i), rule, std::nullopt, /*isOfKeys=*/true);
}

SharedAttention AttentionConstraints::run() {
  start();
  SmallVector<Operation *> ops;
  for (Operation &op : function.front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops)
    visit(op);
  return found;
}

SharedAttention mlir::st::findSharedAttention(func::FuncOp function, const MeshAxes &axes,
                                              const SequenceSharing &sharing) {
  return AttentionConstraints(function, axes, sharing, /*inserts=*/false).run();
}

SharedAttention mlir::st::constrainAttention(func::FuncOp function, const MeshAxes &axes,
                                             const SequenceSharing &sharing) {
  return AttentionConstraints(function, axes, sharing, /*inserts=*/true).run();
}
