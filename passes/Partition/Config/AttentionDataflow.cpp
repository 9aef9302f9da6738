#include "passes/Partition/Config/AttentionDataflow.h"
#include "dialects/St/Sharding/ReshardCost.h"

using namespace mlir;
using namespace mlir::st;

int64_t mlir::st::bytesOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements() * elementBytes(value.getType());
}

/// Returns a result's sharding that follows from the operand's; std::nullopt if there is none.
static std::optional<TensorSharding> propagate(const ShardingRule &rule,
                                               const TensorSharding &operand) {
  SmallVector<Splits, 4> factors(rule.factors.size());
  if (!readFactors(rule, rule.operands[0], operand, factors))
    return std::nullopt;
  return composeDims(rule, rule.results[0], factors);
}

/// The number of parts into which an axis splits a tensor.
static int64_t countParts(const TensorSharding &sharding, Axis axis) {
  int64_t parts = 1;
  for (const Splits &splits : sharding.dims)
    for (const Split &split : splits)
      parts *= split.axis == axis ? split.size : 1;
  return parts;
}

ShardedValue mlir::st::findSink(Value value, TensorSharding sharding, Axis axis,
                                std::optional<TensorSharding> before) {
  ShardedValue best{value, sharding}, at = best;
  const int64_t parts = before ? countParts(*before, axis) : 1;
  while (at.value.hasOneUse()) {
    Operation *op = *at.value.user_begin();
    auto reduce = dyn_cast<stablehlo::ReduceOp>(op);
    bool adds = reduce && reduce->getNumResults() == 1 &&
                isa<stablehlo::AddOp>(reduce.getBody().front().front());
    if (!adds && !isa<stablehlo::ReshapeOp, stablehlo::TransposeOp, stablehlo::ConvertOp>(op))
      break;
    ShardingRule rule = getShardingRule(op);
    std::optional<TensorSharding> after = propagate(rule, at.sharding);
    if (!after || !after->isSplitOver(axis))
      break;
    if (before && (!(before = propagate(rule, *before)) || countParts(*before, axis) < parts))
      break;
    at = {op->getResult(0), *std::move(after)};
    if (bytesOf(at.value) < bytesOf(best.value))
      best = at;
  }
  return best;
}

/// The dimension of a product's result that is a factor.
static int64_t dimOfFactor(const ShardingRule &rule, int64_t factor) {
  for (auto [dim, parts] : llvm::enumerate(rule.results[0]))
    if (llvm::is_contained(parts, factor))
      return dim;
  return -1;
}

/// Returns true if softmax reduces dimension `first` of scores rather than `second`.
static bool isReduced(Value scores, int64_t first, int64_t second) {
  struct Step {
    Value value;
    int64_t first, second;
  };
  SmallVector<Step> steps = {{scores, first, second}};
  DenseSet<Operation *> seen;
  for (size_t i = 0; i < steps.size(); ++i)
    for (Operation *user : steps[i].value.getUsers()) {
      Step at = steps[i];
      if (!seen.insert(user).second)
        continue;
      if (auto reduce = dyn_cast<stablehlo::ReduceOp>(user)) {
        bool reducesFirst = llvm::is_contained(reduce.getDimensions(), at.first);
        if (reducesFirst != llvm::is_contained(reduce.getDimensions(), at.second))
          return reducesFirst;
      } else if (auto transpose = dyn_cast<stablehlo::TransposeOp>(user)) {
        auto placeOf = [&](int64_t dim) -> int64_t {
          return llvm::find(transpose.getPermutation(), dim) - transpose.getPermutation().begin();
        };
        steps.push_back({transpose.getResult(), placeOf(at.first), placeOf(at.second)});
      } else if (isPointwise(getShardingRule(user))) {
        steps.push_back({user->getResult(0), at.first, at.second});
      }
    }
  return false;
}

/// Counts the uses of `iota` in a sum of positions and constants; std::nullopt for other values,
/// such as random bits, and for sums of many terms. `steps`: values that may still be visited.
static std::optional<unsigned> countPositions(Value value, unsigned &steps) {
  Operation *op = value.getDefiningOp();
  if (steps-- == 0)
    return std::nullopt;
  if (isa_and_nonnull<stablehlo::IotaOp>(op))
    return 1;
  if (isa_and_nonnull<stablehlo::ConstantOp>(op))
    return 0;
  if (!isa_and_nonnull<stablehlo::AddOp, stablehlo::SubtractOp, stablehlo::NegOp,
                       stablehlo::ConvertOp, stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp,
                       stablehlo::TransposeOp>(op))
    return std::nullopt;
  unsigned count = 0;
  for (Value operand : op->getOperands()) {
    std::optional<unsigned> part = countPositions(operand, steps);
    if (!part)
      return std::nullopt;
    count += *part;
  }
  return count;
}

static bool comparesPositions(stablehlo::CompareOp compare) {
  unsigned steps = 64;
  std::optional<unsigned> left = countPositions(compare.getLhs(), steps);
  std::optional<unsigned> right = left ? countPositions(compare.getRhs(), steps) : std::nullopt;
  const auto direction = compare.getComparisonDirection();
  return left && right && *left + *right >= 2 && direction != stablehlo::ComparisonDirection::EQ &&
         direction != stablehlo::ComparisonDirection::NE;
}

/// Returns true if a mask compares positions by their order.
static bool comparesOrder(Value mask) {
  SetVector<Value> values;
  values.insert(mask);
  for (size_t i = 0; i < values.size(); ++i) {
    Operation *op = values[i].getDefiningOp();
    if (auto compare = dyn_cast_or_null<stablehlo::CompareOp>(op);
        compare && comparesPositions(compare))
      return true;
    if (op && (isPointwise(getShardingRule(op)) ||
               isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp, stablehlo::TransposeOp>(op)))
      values.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

bool mlir::st::hasOrderedMask(stablehlo::DotGeneralOp scores) {
  SetVector<Value> values;
  values.insert(scores.getResult());
  for (size_t i = 0; i < values.size(); ++i)
    for (Operation *user : values[i].getUsers()) {
      if (!isPointwise(getShardingRule(user)) && !isa<stablehlo::TransposeOp>(user))
        continue;
      for (Value operand : user->getOperands())
        if (!values.contains(operand) && comparesOrder(operand))
          return true;
      values.insert(user->getResult(0));
    }
  return false;
}

bool mlir::st::areKeys(stablehlo::DotGeneralOp dot, const ShardingRule &rule, int64_t first,
                       int64_t second) {
  return isReduced(dot.getResult(), dimOfFactor(rule, first), dimOfFactor(rule, second));
}
