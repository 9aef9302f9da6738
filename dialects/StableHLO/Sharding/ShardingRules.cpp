//===- ShardingRules.cpp - Common parts of the factor rules ---------------===//

#include "dialects/StableHLO/Sharding/ShardingRules.h"

#include "dialects/StableHLO/StableHLOOps.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::stablehlo::sharding;

static TensorFactors emptyFactors(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return TensorFactors(type ? type.getRank() : 0);
}

ShardingRule sharding::emptyRule(Operation *op) {
  ShardingRule rule;
  for (Value operand : op->getOperands())
    rule.operands.push_back(emptyFactors(operand));
  for (Value result : op->getResults())
    rule.results.push_back(emptyFactors(result));
  return rule;
}

SmallVector<int64_t> sharding::addFactors(ShardingRule &rule, Value value, FactorKind kind) {
  SmallVector<int64_t> factors;
  for (int64_t size : shapeOf(value))
    factors.push_back(size == 1 ? -1 : rule.addFactor(size, kind));
  return factors;
}

void sharding::attach(TensorFactors &tensor, int64_t dim, int64_t factor) {
  if (factor >= 0)
    tensor[dim].push_back(factor);
}

ShardingRule sharding::pointwiseRule(Operation *op) {
  ShardingRule rule = emptyRule(op);
  SmallVector<int64_t> factors = addFactors(rule, op->getResult(0));
  auto attachAll = [&](TensorFactors &tensor) {
    for (size_t dim = 0; dim < tensor.size(); ++dim)
      attach(tensor, dim, factors[dim]);
  };
  llvm::for_each(rule.operands, attachAll);
  llvm::for_each(rule.results, attachAll);
  return rule;
}

std::optional<ReductionKind> sharding::reductionOf(Region &body) {
  if (!body.hasOneBlock() || body.front().getNumArguments() != 2)
    return std::nullopt;
  Block &block = body.front();
  Operation &op = block.front();
  if (!llvm::hasNItems(block, 2) || op.getNumOperands() != 2 ||
      block.back().getOperands() != op.getResults())
    return std::nullopt;
  Value lhs = op.getOperand(0), rhs = op.getOperand(1);
  Value first = block.getArgument(0), second = block.getArgument(1);
  if (!(lhs == first && rhs == second) && !(lhs == second && rhs == first))
    return std::nullopt;
  // For i1, + and * are the logical or and and.
  bool isPredicate = getElementTypeOrSelf(first.getType()).isInteger(1);
  using Kind = std::optional<ReductionKind>;
  return TypeSwitch<Operation *, Kind>(&op)
      .Case<AddOp>([&](auto) { return isPredicate ? ReductionKind::Or : ReductionKind::Sum; })
      .Case<MulOp>([&](auto) { return isPredicate ? Kind(ReductionKind::And) : std::nullopt; })
      .Case<MaxOp>([](auto) { return ReductionKind::Max; })
      .Case<MinOp>([](auto) { return ReductionKind::Min; })
      .Case<AndOp>([](auto) { return ReductionKind::And; })
      .Case<OrOp>([](auto) { return ReductionKind::Or; })
      .Default([](auto) { return std::nullopt; });
}
