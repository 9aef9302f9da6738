#include "dialects/St/Sharding/OpCost.h"
#include "dialects/St/Sharding/OpSharding.h"

using namespace mlir;
using namespace mlir::st;

double mlir::st::estimateCost(Operation *op) {
  double elements = 0;
  for (Value result : op->getResults())
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      elements += static_cast<double>(type.getNumElements());
  ShardingRule rule = getShardingRule(op);
  if (rule.linearity != ShardingRule::Linearity::Separately || rule.linearOperands.size() != 2 ||
      rule.results.size() != 1)
    return elements;
  // A product: each element is a sum over the factors that it does not number.
  SmallVector<bool> isContracted(rule.factors.size(), true);
  for (ArrayRef<int64_t> dim : rule.results[0])
    for (int64_t factor : dim)
      isContracted[factor] = false;
  double contracted = 1;
  for (auto [factor, isSummed] : llvm::zip_equal(rule.factors, isContracted))
    if (isSummed)
      contracted *= static_cast<double>(factor.size);
  return contracted > 1 ? 2 * elements * contracted : elements;
}
