#include "dialects/St/Interfaces/ShardingRule.h"

using namespace mlir;
using namespace mlir::st;

int64_t ShardingRule::addFactor(int64_t size, FactorKind kind, ReductionKind reduction) {
  factors.push_back({size, kind, reduction});
  return static_cast<int64_t>(factors.size()) - 1;
}

void ShardingRule::setLinear(Linearity how, ArrayRef<int64_t> operands) {
  linearity = how;
  linearOperands.assign(operands.begin(), operands.end());
}

LogicalResult mlir::st::localizeByTypes(Operation *op, LocalizeContext &context) {
  for (auto [result, type] : llvm::zip_equal(op->getResults(), context.resultTypes))
    result.setType(type);
  return success();
}

#include "dialects/St/Interfaces/ShardingRuleInterface.cpp.inc"
