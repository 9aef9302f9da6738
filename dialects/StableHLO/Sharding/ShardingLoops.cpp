//===- ShardingLoops.cpp - The factor rule of a loop ----------------------===//
//
// The rule of a loop follows from the rules of its ops. A dimension of a carried value can be split
// if every op that it reaches, in every iteration, computes a part from parts only. Carried values
// to which such parts are added (the gradient of a weight that all iterations use) are sums over
// the factor.
//
//===----------------------------------------------------------------------===//

#include "dialects/StableHLO/Sharding/ShardingRules.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::stablehlo::sharding;
using st::ShardingRuleOpInterface;

namespace {

/// A device's share of a value when one factor of the loop is split.
struct Place {
  enum Kind { Replicated, Sharded, Unreduced } kind = Replicated;
  int64_t dim = -1; ///< the dimension of a part
  bool operator==(const Place &other) const { return kind == other.kind && dim == other.dim; }
};

struct BodyOp {
  Operation *op;
  ShardingRule rule;
  SetVector<Value> captured = {}; ///< values that the op's regions capture
};

std::vector<BodyOp> bodyOps(WhileOp loop) {
  std::vector<BodyOp> ops;
  for (Region *region : {&loop.getCond(), &loop.getBody()})
    for (Operation &op : region->front().without_terminator()) {
      auto interface = dyn_cast<ShardingRuleOpInterface>(&op);
      ops.push_back({&op, interface ? interface.getShardingRule() : ShardingRule()});
      getUsedValuesDefinedAbove(op.getRegions(), ops.back().captured);
    }
  return ops;
}

/// Any part of a splat is a smaller splat.
ConstantOp splatOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && isa<SplatElementsAttr>(constant.getValue()) ? constant : ConstantOp();
}

/// The dimension of a tensor that is one factor; none if the factor is only a part of it.
FailureOr<std::optional<int64_t>> dimOfFactor(const TensorFactors &tensor, int64_t factor) {
  for (auto [dim, parts] : llvm::enumerate(tensor))
    if (llvm::is_contained(parts, factor)) {
      if (parts.size() != 1)
        return failure();
      return std::optional<int64_t>(dim);
    }
  return std::optional<int64_t>();
}

/// Follows one split dimension of a carried value through the loop to a fixpoint.
class LoopFlow {
public:
  LoopFlow(WhileOp loop, ArrayRef<BodyOp> ops) : loop(loop), ops(ops) {}

  /// Returns false if some op needs the dimension replicated.
  bool run(int64_t carried, int64_t dim);

  Place of(Value value) const { return places.lookup(value); }
  Place ofCarried(int64_t i) const { return of(loop.getBody().getArgument(i)); }
  /// The split factor of an op in the loop, or -1.
  int64_t factorOf(Operation *op) const {
    auto it = factors.find(op);
    return it == factors.end() ? -1 : it->second;
  }

private:
  bool visit(const BodyOp &node);
  bool visitPairs(Operation *op);
  bool visitSum(const BodyOp &node);
  bool visitBack();
  bool isSumFound(const BodyOp &node) const;
  bool chooseFactor(const BodyOp &node, ValueRange values, ArrayRef<TensorFactors> tensors);
  bool set(Value value, Place place);
  bool demand(Value value, Place place);

  mutable WhileOp loop;
  ArrayRef<BodyOp> ops;
  DenseMap<Value, Place> places;
  DenseMap<Operation *, int64_t> factors;
  bool changed = false;
};

/// Sets the place of a value once; a carried value includes the arguments of both regions.
bool LoopFlow::set(Value value, Place place) {
  Place &known = places[value];
  if (known == place)
    return true;
  if (known.kind != Place::Replicated)
    return false;
  known = place;
  changed = true;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    places[loop.getCond().getArgument(argument.getArgNumber())] = place;
    places[loop.getBody().getArgument(argument.getArgNumber())] = place;
  }
  return true;
}

/// Requests a value at a place. Replicated values from within the loop can be sliced, and carried
/// ones masked to sums. It is determined later if other values are sums.
bool LoopFlow::demand(Value value, Place place) {
  if (of(value) == place)
    return true;
  if (ConstantOp constant = splatOf(value))
    return place.kind != Place::Unreduced || matchPattern(value, m_AnyZeroFloat()) ||
           matchPattern(value, m_Zero());
  Region *region = value.getParentRegion();
  return (region == &loop.getBody() || region == &loop.getCond()) && set(value, place);
}

bool LoopFlow::chooseFactor(const BodyOp &node, ValueRange values,
                            ArrayRef<TensorFactors> tensors) {
  for (auto [i, value] : llvm::enumerate(values)) {
    Place place = of(value);
    if (place.kind != Place::Sharded)
      continue;
    if (i >= tensors.size() || tensors[i][place.dim].size() != 1)
      return false;
    int64_t factor = tensors[i][place.dim][0];
    const st::Factor &info = node.rule.factors[factor];
    bool isSum = info.kind == FactorKind::Reduction && info.reduction == ReductionKind::Sum;
    // Loops contain no communication.
    if ((info.kind != FactorKind::Parallel && !isSum) || info.minPartSize > 0)
      return false;
    if (!factors.try_emplace(node.op, factor).second && factors[node.op] != factor)
      return false;
  }
  return true;
}

/// A barrier: each result equals its operand.
bool LoopFlow::visitPairs(Operation *op) {
  for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults())) {
    Place place = of(operand);
    if (place.kind != Place::Replicated && !set(result, place))
      return false;
    if (of(result).kind != Place::Replicated && !demand(operand, of(result)))
      return false;
  }
  return true;
}

/// Sums pass through linear ops.
bool LoopFlow::visitSum(const BodyOp &node) {
  SmallVector<int64_t> sums;
  for (auto [i, operand] : llvm::enumerate(node.op->getOperands()))
    if (of(operand).kind == Place::Unreduced)
      sums.push_back(i);
  if (sums.empty())
    return true;
  for (int64_t i : sums)
    if (!llvm::is_contained(node.rule.linearOperands, i))
      return false;
  if (node.rule.linearity == Linearity::Separately && sums.size() > 1)
    return false;
  if (node.rule.linearity == Linearity::Jointly)
    for (int64_t i : node.rule.linearOperands)
      if (!demand(node.op->getOperand(i), {Place::Unreduced}))
        return false;
  return llvm::all_of(node.op->getResults(),
                      [&](Value result) { return set(result, {Place::Unreduced}); });
}

bool LoopFlow::visit(const BodyOp &node) {
  Operation *op = node.op;
  if (llvm::any_of(node.captured, [&](Value value) { return of(value).kind != Place::Replicated; }))
    return false;
  if (isa<OptimizationBarrierOp>(op))
    return visitPairs(op);
  if (!chooseFactor(node, op->getOperands(), node.rule.operands) ||
      !chooseFactor(node, op->getResults(), node.rule.results))
    return false;
  int64_t factor = factorOf(op);
  if (factor < 0)
    return visitSum(node);

  const ShardingRule &rule = node.rule;
  auto isSum = [&](int64_t i) {
    return rule.factors[factor].kind == FactorKind::Reduction &&
           (rule.sums.empty() || llvm::is_contained(rule.sums[i], factor));
  };
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto dim = dimOfFactor(rule.operands[i], factor);
    if (failed(dim))
      return false;
    bool startsSum = llvm::is_contained(rule.countedOnce, i) && isSum(i);
    if (*dim        ? !demand(operand, {Place::Sharded, **dim})
        : startsSum ? !demand(operand, {Place::Unreduced})
                    : of(operand).kind != Place::Replicated)
      return false;
  }
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    auto dim = dimOfFactor(rule.results[i], factor);
    if (failed(dim))
      return false;
    if (*dim       ? !set(result, {Place::Sharded, **dim})
        : isSum(i) ? !set(result, {Place::Unreduced})
                   : rule.sums.empty() || of(result).kind != Place::Replicated)
      return false;
  }
  return true;
}

/// Returns true if a value that was requested as a sum is one.
bool LoopFlow::isSumFound(const BodyOp &node) const {
  auto isSum = [&](Value value) { return of(value).kind == Place::Unreduced; };
  return factorOf(node.op) >= 0 || llvm::none_of(node.op->getResults(), isSum) ||
         llvm::any_of(node.op->getOperands(), isSum);
}

/// The results of an iteration are the arguments of the next.
bool LoopFlow::visitBack() {
  if (of(loop.getCond().front().getTerminator()->getOperand(0)).kind != Place::Replicated)
    return false;
  Operation *end = loop.getBody().front().getTerminator();
  for (auto [argument, next] : llvm::zip_equal(loop.getBody().getArguments(), end->getOperands())) {
    if (of(argument).kind == Place::Replicated && !set(argument, of(next)))
      return false;
    if (of(argument).kind != Place::Replicated && !demand(next, of(argument)))
      return false;
  }
  return true;
}

bool LoopFlow::run(int64_t carried, int64_t dim) {
  (void)set(loop.getBody().getArgument(carried), {Place::Sharded, dim});
  while (changed) {
    changed = false;
    for (const BodyOp &node : ops)
      if (!visit(node))
        return false;
    if (!visitBack())
      return false;
  }
  return llvm::all_of(ops, [&](const BodyOp &node) { return isSumFound(node); });
}

//===----------------------------------------------------------------------===//
// The loop for one device
//===----------------------------------------------------------------------===//

class LoopLocalizer {
public:
  LoopLocalizer(WhileOp loop, LocalizeContext &context)
      : loop(loop), context(context), ops(bodyOps(loop)) {}

  LogicalResult run();

private:
  struct Active {
    int64_t factor; ///< of the loop
    int64_t shards;
    LoopFlow flow;
  };

  void findActive();
  Type localType(Value value, function_ref<Place(const LoopFlow &)> placeIn) const;
  Type localType(Value value) const {
    return localType(value, [&](const LoopFlow &flow) { return flow.of(value); });
  }
  void shrinkSplat(OpOperand &operand, Type type);
  LogicalResult localize(const BodyOp &node);

  WhileOp loop;
  LocalizeContext &context;
  std::vector<BodyOp> ops;
  std::vector<Active> active;
};

void LoopLocalizer::findActive() {
  for (auto [factor, shards] : llvm::enumerate(context.factorShards)) {
    if (shards == 1)
      continue;
    for (auto [i, tensor] : llvm::enumerate(context.rule.operands))
      if (auto dim = dimOfFactor(tensor, factor); succeeded(dim) && *dim) {
        Active one{static_cast<int64_t>(factor), shards, LoopFlow(loop, ops)};
        (void)one.flow.run(i, **dim);
        active.push_back(std::move(one));
        break;
      }
  }
}

Type LoopLocalizer::localType(Value value, function_ref<Place(const LoopFlow &)> placeIn) const {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  for (const Active &one : active)
    if (Place place = placeIn(one.flow); place.kind == Place::Sharded)
      shape[place.dim] /= one.shards;
  return type.clone(shape);
}

/// Constants are replicated until an op uses a part of them.
void LoopLocalizer::shrinkSplat(OpOperand &operand, Type type) {
  ConstantOp constant = splatOf(operand.get());
  if (!constant || constant.getType() == type)
    return;
  OpBuilder builder(operand.getOwner());
  auto splat = cast<SplatElementsAttr>(constant.getValue());
  operand.set(
      ConstantOp::create(builder, constant.getLoc(), splat.resizeSplat(cast<ShapedType>(type))));
}

LogicalResult LoopLocalizer::localize(const BodyOp &node) {
  Operation *op = node.op;
  if (splatOf(op->getNumResults() == 1 ? op->getResult(0) : Value()))
    return success();
  LocalizeContext inner{node.rule, context.builder, {}, {}, {}, {}};
  inner.factorShards.assign(node.rule.factors.size(), 1);
  SmallVector<int64_t> outer(node.rule.factors.size(), -1);
  for (const Active &one : active)
    if (int64_t factor = one.flow.factorOf(op); factor >= 0) {
      inner.factorShards[factor] = one.shards;
      outer[factor] = one.factor;
    }
  inner.toGlobal = [&](int64_t factor, Value positions) {
    return context.toGlobal(outer[factor], positions);
  };
  inner.toLocal = [&](int64_t factor, Value positions) {
    return context.toLocal(outer[factor], positions);
  };
  for (Value result : op->getResults())
    inner.resultTypes.push_back(localType(result));
  for (OpOperand &operand : op->getOpOperands()) {
    int64_t i = operand.getOperandNumber();
    if (splatOf(operand.get()))
      shrinkSplat(operand, localType(operand.get(), [&](const LoopFlow &flow) {
                    if (isa<OptimizationBarrierOp>(op))
                      return flow.of(op->getResult(i));
                    int64_t factor = flow.factorOf(op);
                    if (factor < 0)
                      return Place();
                    auto dim = dimOfFactor(node.rule.operands[i], factor);
                    return succeeded(dim) && *dim ? Place{Place::Sharded, **dim} : Place();
                  }));
  }
  OpBuilder::InsertionGuard guard(context.builder);
  context.builder.setInsertionPoint(op);
  if (auto interface = dyn_cast<ShardingRuleOpInterface>(op))
    return interface.localize(inner);
  return st::localizeByTypes(op, inner);
}

LogicalResult LoopLocalizer::run() {
  findActive();
  for (const BodyOp &node : ops)
    if (failed(localize(node)))
      return failure();
  Operation *end = loop.getBody().front().getTerminator();
  for (auto [operand, argument] :
       llvm::zip_equal(end->getOpOperands(), loop.getBody().getArguments()))
    shrinkSplat(operand, localType(argument));
  for (Region *region : {&loop.getCond(), &loop.getBody()})
    for (BlockArgument argument : region->getArguments())
      argument.setType(localType(argument));
  return st::localizeByTypes(loop, context);
}

//===----------------------------------------------------------------------===//
// The rule
//===----------------------------------------------------------------------===//

struct WhileRule : ShardingRuleOpInterface::ExternalModel<WhileRule, WhileOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto loop = cast<WhileOp>(op);
    if (!llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>))
      return {};
    ShardingRule rule = emptyRule(op);
    rule.sums.resize(op->getNumResults());
    std::vector<BodyOp> ops = bodyOps(loop);
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      for (auto [dim, size] : llvm::enumerate(shapeOf(operand)))
        if (size != 1 && rule.operands[i][dim].empty())
          addFactor(rule, loop, ops, i, dim);
    rule.results = rule.operands;
    for (auto [i, sums] : llvm::enumerate(rule.sums))
      if (!sums.empty())
        rule.countedOnce.push_back(i);
    return rule;
  }

  LogicalResult localize(Operation *op, LocalizeContext &context) const {
    return LoopLocalizer(cast<WhileOp>(op), context).run();
  }

private:
  static void addFactor(ShardingRule &rule, WhileOp loop, ArrayRef<BodyOp> ops, int64_t carried,
                        int64_t dim) {
    int64_t size = shapeOf(loop->getOperand(carried))[dim];
    LoopFlow flow(loop, ops);
    bool canSplit = flow.run(carried, dim), isSum = false;
    int64_t count = loop->getNumOperands();
    for (int64_t i = 0; canSplit && i < count; ++i) {
      Place place = flow.ofCarried(i);
      isSum |= place.kind == Place::Unreduced;
      // Another split reaches it too, but does not require this one.
      canSplit = place.kind != Place::Sharded || rule.operands[i][place.dim].empty();
    }
    if (!canSplit) {
      attach(rule.operands[carried], dim, rule.addFactor(size, FactorKind::NeedReplication));
      return;
    }
    int64_t factor = rule.addFactor(size, isSum ? FactorKind::Reduction : FactorKind::Parallel);
    for (int64_t i = 0; i < count; ++i) {
      Place place = flow.ofCarried(i);
      if (place.kind == Place::Sharded)
        attach(rule.operands[i], place.dim, factor);
      else if (place.kind == Place::Unreduced)
        rule.sums[i].push_back(factor);
    }
  }
};

} // namespace

void stablehlo::attachLoopShardingRules(MLIRContext *context) {
  WhileOp::attachInterface<WhileRule>(*context);
}
