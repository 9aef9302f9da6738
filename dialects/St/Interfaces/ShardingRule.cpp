#include "dialects/St/Interfaces/ShardingRule.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::st;

int64_t ShardingRule::addFactor(int64_t size, FactorKind kind, ReductionKind reduction) {
  factors.push_back({size, kind, reduction});
  return static_cast<int64_t>(factors.size()) - 1;
}

LogicalResult mlir::st::localizeByTypes(Operation *op, LocalizeContext &context) {
  OpBuilder builder(op);
  OperationState state(op->getLoc(), op->getName(), context.operands, context.resultTypes,
                       op->getAttrs());
  if (op->getNumRegions() != 0)
    for (Region &region : op->getRegions()) {
      IRMapping mapping;
      region.cloneInto(state.addRegion(), mapping);
    }
  context.localOp = builder.create(state);
  context.results.assign(context.localOp->result_begin(), context.localOp->result_end());
  return success();
}

#include "dialects/St/Interfaces/ShardingRuleInterface.cpp.inc"
