#include "dialects/St/Sharding/OpSharding.h"

using namespace mlir;
using namespace mlir::st;

static ShardingRule identityRule(RankedTensorType type) {
  ShardingRule rule;
  TensorFactors tensor(type.getRank());
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (size != 1)
      tensor[dim].push_back(rule.addFactor(size));
  rule.operands.push_back(tensor);
  rule.results.push_back(tensor);
  rule.setLinear(ShardingRule::Linearity::Separately, {0});
  return rule;
}

ShardingRule mlir::st::getShardingRule(Operation *op) {
  if (auto rule = dyn_cast<ShardingRuleOpInterface>(op))
    return rule.getShardingRule();
  if (isa<ReshardOp, ConstrainOp, TransferOp>(op))
    return identityRule(cast<RankedTensorType>(op->getResult(0).getType()));
  return {};
}

bool mlir::st::isPointwise(const ShardingRule &rule) {
  if (rule.results.size() != 1)
    return false;
  // A sort keeps the shape too, but its elements change positions.
  auto isParallel = [&](ArrayRef<int64_t> dim) {
    return llvm::all_of(
        dim, [&](int64_t factor) { return rule.factors[factor].kind == FactorKind::Parallel; });
  };
  return llvm::all_of(rule.operands, [&](const TensorFactors &operand) {
    return operand.empty() || (operand == rule.results[0] && llvm::all_of(operand, isParallel));
  });
}

std::optional<int64_t> OpSharding::factorOf(const ShardingRule &rule, Axis axis,
                                            int64_t part) const {
  for (auto [factor, splits] : llvm::enumerate(factors))
    if (rule.factors[factor].part == part && outerOf(splits, axis))
      return factor;
  return std::nullopt;
}

bool OpSharding::place(const ShardingRule &rule, int64_t factor, ArrayRef<Split> splits) {
  const Factor &info = rule.factors[factor];
  if (info.kind != FactorKind::Parallel && info.kind != FactorKind::Reduction &&
      !info.movesElements)
    return false;
  std::optional<Splits> united = unite(factors[factor], splits);
  if (!united)
    return false;
  int64_t parts = 1;
  for (const Split &split : *united)
    parts *= split.size;
  if (info.size % parts != 0 || info.size / parts < info.minPartSize ||
      (info.movesElements && info.size != parts))
    return false;
  auto isOverDevices = [](const Split &split) {
    return split.axis != kUnsplit && split.axis != kMicroAxis;
  };
  if ((info.minPartSize > 0 || info.movesElements) && !llvm::all_of(*united, isOverDevices))
    return false;
  factors[factor] = std::move(*united);
  return true;
}

bool mlir::st::readFactors(const ShardingRule &rule, const TensorFactors &tensor,
                           const TensorSharding &sharding, MutableArrayRef<Splits> factors) {
  bool all = true;
  for (auto [dim, parts] : llvm::enumerate(tensor)) {
    const Splits &splits = sharding.dims[dim];
    if (splits.empty())
      continue;
    if (parts.empty()) {
      all = false;
      continue;
    }
    if (parts.size() == 1) {
      factors[parts[0]] = splits;
      continue;
    }
    SmallVector<int64_t, 2> sizes;
    for (int64_t factor : parts)
      sizes.push_back(rule.factors[factor].size);
    auto cut = splitAtParts(splits, sizes);
    if (!cut) {
      all = false;
      continue;
    }
    for (auto [factor, part] : llvm::zip_equal(parts, *cut))
      factors[factor] = std::move(part);
  }
  return all;
}

TensorSharding mlir::st::composeDims(const ShardingRule &rule, const TensorFactors &tensor,
                                     ArrayRef<Splits> factors) {
  TensorSharding result(tensor.size());
  for (auto [dim, parts] : llvm::enumerate(tensor)) {
    int64_t sizeBefore = 1;
    for (int64_t factor : parts) {
      appendPart(result.dims[dim], sizeBefore, factors[factor]);
      sizeBefore *= rule.factors[factor].size;
    }
  }
  return result;
}

std::optional<ReduceKind> mlir::st::reductionKind(const ShardingRule &rule, const OpSharding &how) {
  for (auto [factor, splits] : llvm::zip_equal(rule.factors, how.factors))
    if (factor.kind == FactorKind::Reduction && !splits.empty())
      return static_cast<ReduceKind>(factor.reduction);
  if (llvm::any_of(how.passing, [](ArrayRef<Axis> axes) { return !axes.empty(); }))
    return ReduceKind::Sum;
  return std::nullopt;
}

static void addReductionAxes(const ShardingRule &rule, const OpSharding &how, int64_t tensor,
                             TensorSharding &sharding) {
  for (auto [i, factor, splits] : llvm::enumerate(rule.factors, how.factors))
    if (factor.kind == FactorKind::Reduction &&
        (rule.sums.empty() || llvm::is_contained(rule.sums[tensor], i)))
      for (const Split &split : splits)
        if (split.axis != kUnsplit)
          sharding.addUnreduced(split.axis);
}

TensorSharding mlir::st::operandSharding(const ShardingRule &rule, const OpSharding &how,
                                         int64_t operand, int64_t rank) {
  if (operand >= static_cast<int64_t>(rule.operands.size()))
    return TensorSharding(rank);
  TensorSharding sharding = composeDims(rule, rule.operands[operand], how.factors);
  bool passes = rule.linearity == ShardingRule::Linearity::Jointly
                    ? llvm::is_contained(rule.linearOperands, operand)
                    : rule.parts > 1 || operand == how.passingOperand;
  if (passes)
    for (Axis axis : how.passing[rule.partOf(operand)])
      sharding.addUnreduced(axis);
  if (llvm::is_contained(rule.countedOnce, operand))
    addReductionAxes(rule, how, operand, sharding);
  return sharding;
}

TensorSharding mlir::st::resultSharding(const ShardingRule &rule, const OpSharding &how,
                                        int64_t result, int64_t rank) {
  if (result >= static_cast<int64_t>(rule.results.size()))
    return TensorSharding(rank);
  TensorSharding sharding = composeDims(rule, rule.results[result], how.factors);
  for (Axis axis : how.passing[rule.partOf(result)])
    sharding.addUnreduced(axis);
  addReductionAxes(rule, how, result, sharding);
  if (!sharding.unreduced.empty())
    sharding.kind = *reductionKind(rule, how);
  return sharding;
}

int64_t mlir::st::shardCount(const OpSharding &how) {
  int64_t count = 1;
  for (const Splits &splits : how.factors)
    count *= shardCount(ArrayRef<Split>(splits));
  return count;
}
