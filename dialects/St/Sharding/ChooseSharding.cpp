#include "dialects/St/Sharding/ChooseSharding.h"
#include "dialects/St/Interfaces/Shapes.h"
#include "dialects/St/Sharding/OpWork.h"
#include "dialects/St/Sharding/ReshardPlan.h"
#include "mlir/IR/Matchers.h"
#include <limits>

using namespace mlir;
using namespace mlir::st;
using Linearity = ShardingRule::Linearity;

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

constexpr double kImpossible = std::numeric_limits<double>::infinity();

/// The cost of computing the op without any split.
static double costOfWork(Operation *op, const ShardingRule &rule, const MeshAxes &axes) {
  return axes.costs().op(workOf(op, rule)).device;
}

/// Returns true if a step moves parts between some of the axes without a sum that shrinks them.
static bool movesParts(const ReshardStep &step, ArrayRef<Axis> between) {
  return (step.kind == ReshardStep::AllGather || step.kind == ReshardStep::AllToAll ||
          step.kind == ReshardStep::CollectivePermute) &&
         llvm::any_of(step.axes, [&](Axis axis) { return llvm::is_contained(between, axis); });
}

/// The cost of resharding a tensor. Anchored tensors should not move between devices, and no tensor
/// should move between replicas; slicing is allowed.
static double costOfReshard(const TensorSharding &from, const TensorSharding &to, Type type,
                            const ChoiceContext &context, bool isAnchored) {
  constexpr double anchorWeight = 1000;
  if (from == to)
    return 0;
  const ReshardPlan *plan = planReshard(from, to, cast<RankedTensorType>(type), context.axes);
  if (!plan)
    return kImpossible;
  auto costOfPlan = context.isOfStep ? reshardCostInStep : reshardCost;
  double cost = costOfPlan(*plan, elementBytes(type), context.axes);
  bool avoid = llvm::any_of(*plan, [&](const ReshardStep &step) {
    return (isAnchored && step.movesData()) || movesParts(step, context.replicas);
  });
  return avoid ? anchorWeight * cost : cost;
}

/// Returns true if an op runs once per micro-batch.
static bool usesMicro(const OpSharding &how) {
  return how.splits(kMicroAxis) || llvm::any_of(how.passing, [](ArrayRef<Axis> axes) {
           return llvm::is_contained(axes, kMicroAxis);
         });
}

double mlir::st::costOf(Operation *op, const ShardingRule &rule, const OpSharding &how,
                        const ChoiceContext &context) {
  double cost = costOfWork(op, rule, context.axes) / static_cast<double>(shardCount(how));
  if (context.isOfStep && usesMicro(how))
    cost *= static_cast<double>(context.axes.size(kMicroAxis));
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (!context.operands[i])
      continue;
    TensorSharding needed = operandSharding(rule, how, i, rankOf(operand));
    TensorSharding has = *context.operands[i];
    if (context.isZero[i]) {
      has.dropAllUnreduced();
      needed.dropAllUnreduced();
    }
    if (i < context.atHand.size() && llvm::is_contained(context.atHand[i], needed))
      continue;
    cost += costOfReshard(has, needed, operand.getType(), context, context.anchored[i]);
  }
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (context.wanted[i]) {
      TensorSharding left = resultSharding(rule, how, i, rankOf(result)),
                     wanted = *context.wanted[i];
      if (i < context.isLate.size() && context.isLate[i]) {
        left.dropUnreduced(kMicroAxis);
        wanted.dropUnreduced(kMicroAxis);
      }
      const bool isSummed = !left.unreduced.empty() && wanted.unreduced.empty();
      const double part = isSummed && i < context.laterSum.size() ? context.laterSum[i] : 1;
      cost += part * costOfReshard(left, wanted, result.getType(), context, /*isAnchored=*/false);
    }
  return cost;
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

std::optional<OpSharding> mlir::st::passOn(Operation *op, const ShardingRule &rule,
                                           const OpSharding &how, Axis axis, int64_t part,
                                           const ChoiceContext &context) {
  if (rule.linearity == Linearity::None || how.uses(rule, axis, part))
    return std::nullopt;
  std::optional<ReduceKind> kind = reductionKind(rule, how);
  if (kind && *kind != ReduceKind::Sum)
    return std::nullopt;
  auto arrives = [&](int64_t i) {
    const auto &operand = context.operands[i];
    return operand && operand->isUnreducedOver(axis) && operand->kind == ReduceKind::Sum &&
           context.mayPass[i];
  };
  OpSharding extended = how;
  auto &passing = extended.passing[part];
  passing.insert(llvm::upper_bound(passing, axis), axis);
  if (rule.linearity == Linearity::Separately) {
    for (int64_t i : rule.linearOperands)
      if (rule.partOf(i) == part && arrives(i) &&
          (how.passing[part].empty() || rule.parts > 1 || how.passingOperand == i)) {
        extended.passingOperand = i;
        return extended;
      }
    return std::nullopt;
  }
  // A scalar becomes a sum by zeroing it on all devices but one.
  bool isScalar = rankOf(op->getResult(0)) == 0 && axis != kMicroAxis;
  bool any = false;
  for (int64_t i : rule.linearOperands) {
    if (arrives(i))
      any = true;
    else if (!context.isZero[i] && !isScalar)
      return std::nullopt;
  }
  if (!any)
    return std::nullopt;
  return extended;
}

/// `how` with an axis where a tensor has it, if the op can be computed in this way. A factor whose
/// elements move gets all its axes in one step: it is split into single elements or not at all.
static std::optional<OpSharding> follow(const ShardingRule &rule, const OpSharding &how,
                                        const TensorFactors &tensor, const TensorSharding &sharding,
                                        Axis axis, const MeshAxes &axes) {
  if (!sharding.isSplitOver(axis))
    return std::nullopt;
  SmallVector<Splits, 4> factors(rule.factors.size());
  (void)readFactors(rule, tensor, sharding, factors);
  for (auto [factor, splits] : llvm::enumerate(factors))
    if (std::optional<int64_t> outer = outerOf(splits, axis)) {
      OpSharding extended = how;
      const Factor &info = rule.factors[factor];
      Splits taken = info.movesElements ? splits : splitAt(axis, axes.size(axis), *outer);
      auto isFree = [&](const Split &split) {
        return split.axis == kUnsplit || !how.uses(rule, split.axis, info.part);
      };
      if (llvm::all_of(taken, isFree) && extended.place(rule, factor, taken))
        return extended;
    }
  return std::nullopt;
}

/// `how` with an axis on a reduced factor, for results that should be unreduced.
static void addReductions(const ShardingRule &rule, const OpSharding &how, Axis axis,
                          const MeshAxes &axes, SmallVectorImpl<OpSharding> &options) {
  for (auto [factor, info] : llvm::enumerate(rule.factors)) {
    if (info.kind != FactorKind::Reduction)
      continue;
    OpSharding extended = how;
    int64_t outer = shardCount(ArrayRef<Split>(how.factors[factor]));
    if (extended.place(rule, factor, splitAt(axis, axes.size(axis), outer)))
      options.push_back(std::move(extended));
  }
}

/// The ways to use `axis` in one part of the op. Those that agree with the shardings of results
/// come first.
static SmallVector<OpSharding, 2> optionsFor(Operation *op, const ShardingRule &rule,
                                             const OpSharding &how, Axis axis, int64_t part,
                                             const ChoiceContext &context) {
  SmallVector<OpSharding, 2> options;
  auto add = [&](const std::optional<TensorSharding> &sharding, const TensorFactors &tensor) {
    if (!sharding)
      return;
    if (auto option = follow(rule, how, tensor, *sharding, axis, context.axes))
      options.push_back(std::move(*option));
  };
  std::optional<OpSharding> passing = passOn(op, rule, how, axis, part, context);
  // A sum over the micro-batches is known after the last one, so no micro-batch can read a part.
  const bool needsFullSum = axis == kMicroAxis && passing;
  for (auto [i, tensor] : llvm::enumerate(rule.results)) {
    if (rule.partOf(i) != part)
      continue;
    add(context.wanted[i], tensor);
    if (context.wanted[i] && context.wanted[i]->isUnreducedOver(axis) && !needsFullSum)
      addReductions(rule, how, axis, context.axes, options);
  }
  if (passing)
    options.push_back(std::move(*passing));
  for (auto [i, tensor] : llvm::enumerate(rule.operands))
    if (rule.partOf(i) == part)
      add(context.operands[i], tensor);
  return options;
}

/// Uses `axis` in one part of the op in the cheapest way, if any.
static void extendOver(Axis axis, int64_t part, Operation *op, const ShardingRule &rule,
                       OpSharding &best, const ChoiceContext &context) {
  if (best.uses(rule, axis, part))
    return;
  SmallVector<OpSharding, 2> options = optionsFor(op, rule, best, axis, part, context);
  if (options.empty())
    return;
  double bestCost = costOf(op, rule, best, context);
  const OpSharding *choice = nullptr;
  for (const OpSharding &option : options) {
    double cost = costOf(op, rule, option, context);
    // Also takes a step whose cost is still impossible, if there is no choice yet: results become
    // unreduced over two axes one axis at a time.
    if (cost < bestCost || (bestCost == kImpossible && !choice)) {
      bestCost = cost;
      choice = &option;
    }
  }
  if (choice)
    best = *choice;
}

OpSharding mlir::st::chooseOpSharding(Operation *op, const ShardingRule &rule, OpSharding base,
                                      const ChoiceContext &context, ArrayRef<Axis> over) {
  OpSharding best = std::move(base);
  for (Axis axis : over)
    for (int64_t part = 0; part < rule.parts; ++part)
      extendOver(axis, part, op, rule, best, context);
  return best;
}

//===----------------------------------------------------------------------===//
// Recorded shardings
//===----------------------------------------------------------------------===//

static bool leavesWanted(Operation *op, const ShardingRule &rule, const OpSharding &how,
                         const ChoiceContext &context) {
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (context.wanted[i] && resultSharding(rule, how, i, rankOf(result)) != *context.wanted[i])
      return false;
  return true;
}

/// Splits the factors of one tensor according to its sharding.
static bool placeAll(const ShardingRule &rule, OpSharding &how, const TensorFactors &tensor,
                     const TensorSharding &sharding) {
  SmallVector<Splits, 4> factors(rule.factors.size());
  if (!readFactors(rule, tensor, sharding, factors))
    return false;
  for (auto [factor, splits] : llvm::enumerate(factors))
    if (!splits.empty() && !how.place(rule, factor, splits))
      return false;
  return true;
}

/// Some parallel factors are in no result: a slice takes one of their copies. They keep the axes of
/// the operands that the op does not use otherwise.
static void keepCopies(const ShardingRule &rule, const ChoiceContext &context, OpSharding &how) {
  SmallVector<bool> isCopy(rule.factors.size());
  for (auto [factor, info] : llvm::enumerate(rule.factors))
    isCopy[factor] = info.kind == FactorKind::Parallel;
  for (const TensorFactors &result : rule.results)
    for (ArrayRef<int64_t> dim : result)
      for (int64_t factor : dim)
        isCopy[factor] = false;
  for (auto [tensor, sharding] : llvm::zip(rule.operands, context.operands)) {
    SmallVector<Splits, 4> factors(rule.factors.size());
    if (sharding)
      (void)readFactors(rule, tensor, *sharding, factors);
    for (auto [factor, splits] : llvm::enumerate(factors)) {
      const int64_t part = rule.factors[factor].part;
      const auto isUsed = [&](const Split &split) {
        return split.axis != kUnsplit && how.uses(rule, split.axis, part);
      };
      if (isCopy[factor] && llvm::none_of(splits, isUsed))
        (void)how.place(rule, factor, splits);
    }
  }
}

std::optional<OpSharding> mlir::st::exactOpSharding(Operation *op, const ShardingRule &rule,
                                                    const ChoiceContext &context) {
  OpSharding how(rule);
  SmallVector<Axis> unreduced;
  for (auto [i, wanted] : llvm::enumerate(context.wanted)) {
    if (!wanted || i >= rule.results.size())
      continue;
    if (!placeAll(rule, how, rule.results[i], *wanted))
      return std::nullopt;
    for (Axis axis : wanted->unreduced)
      if (!llvm::is_contained(unreduced, axis))
        unreduced.push_back(axis);
  }
  if (!unreduced.empty())
    how = chooseOpSharding(op, rule, std::move(how), context, unreduced);
  keepCopies(rule, context, how);
  if (!leavesWanted(op, rule, how, context))
    return std::nullopt;
  return how;
}

/// The axes over which results are unreduced although no factor is summed over them: operands are
/// unreduced over them.
static void readPassing(Operation *op, const ShardingRule &rule, const ChoiceContext &context,
                        OpSharding &how) {
  for (auto [i, wanted] : llvm::enumerate(context.wanted)) {
    if (i >= rule.results.size())
      continue;
    TensorSharding summed = resultSharding(rule, how, i, wanted->dims.size());
    auto &passing = how.passing[rule.partOf(i)];
    for (Axis axis : wanted->unreduced)
      if (!summed.isUnreducedOver(axis))
        passing.insert(llvm::upper_bound(passing, axis), axis);
  }
  if (rule.linearity != Linearity::Separately || rule.parts > 1)
    return;
  for (int64_t i : rule.linearOperands)
    if (!context.isZero[i] && llvm::all_of(how.passing[0], [&](Axis axis) {
          return context.operands[i]->isUnreducedOver(axis);
        }))
      how.passingOperand = i;
}

std::optional<OpSharding> mlir::st::readOpSharding(Operation *op, const ShardingRule &rule,
                                                   const ChoiceContext &context) {
  OpSharding how(rule);
  for (auto [tensor, sharding] : llvm::zip(rule.operands, context.operands))
    if (!placeAll(rule, how, tensor, *sharding))
      return std::nullopt;
  for (auto [tensor, sharding] : llvm::zip(rule.results, context.wanted))
    if (!placeAll(rule, how, tensor, *sharding))
      return std::nullopt;
  readPassing(op, rule, context, how);
  if (!leavesWanted(op, rule, how, context))
    return std::nullopt;
  return how;
}

ChoiceContext mlir::st::recordedContext(Operation *op, const MeshAxes &axes) {
  ChoiceContext context{axes, {}, {}, {}, {}, {}, {}};
  for (Value operand : op->getOperands()) {
    context.operands.push_back(axes.read(operand));
    context.anchored.push_back(false);
    context.isZero.push_back(isZeroConstant(operand));
    context.mayPass.push_back(true);
  }
  for (Value result : op->getResults())
    context.wanted.push_back(axes.read(result));
  return context;
}

bool mlir::st::isZeroConstant(Value value) {
  // Reshapes and broadcasts of a constant that folding has left, at most a few.
  for (int depth = 0; depth < 3; ++depth) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (op->hasTrait<OpTrait::ConstantLike>())
      return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
    if (op->getNumOperands() != 1 || getShardingRule(op).linearity != Linearity::Separately)
      return false;
    value = op->getOperand(0);
  }
  return false;
}
