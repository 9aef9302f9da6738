#include "passes/Pipeline/IsolateRegions.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::st;

static void cloneInto(Region &region, Operation *constant) {
  OpBuilder builder = OpBuilder::atBlockBegin(&region.front());
  Operation *copy = builder.clone(*constant);
  replaceAllUsesInRegionWith(constant->getResult(0), copy->getResult(0), region);
}

/// The loop with `value` as an additional loop-invariant operand.
static stablehlo::WhileOp carry(stablehlo::WhileOp loop, Value value) {
  OpBuilder builder(loop);
  SmallVector<Value> operands(loop->getOperands());
  operands.push_back(value);
  OperationState state(loop.getLoc(), loop->getName());
  state.addOperands(operands);
  state.addTypes(ValueRange(operands).getTypes());
  state.addAttributes(llvm::to_vector(loop->getDiscardableAttrs()));
  for (Region &region : loop->getRegions()) {
    Block &block = region.front();
    Value argument = block.addArgument(value.getType(), value.getLoc());
    replaceAllUsesInRegionWith(value, argument, region);
    state.addRegion()->takeBody(region);
  }
  auto wider = cast<stablehlo::WhileOp>(builder.create(state));
  Block &body = wider.getBody().front();
  body.getTerminator()->insertOperands(operands.size() - 1, body.getArguments().back());
  loop->replaceAllUsesWith(wider->getResults().drop_back());
  loop->erase();
  return wider;
}

void mlir::st::isolateRegions(func::FuncOp function) {
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
    SetVector<Value> captured;
    for (Region &region : op.getRegions())
      getUsedValuesDefinedAbove(region, captured);
    Operation *current = &op;
    for (Value value : captured) {
      if (Operation *constant = value.getDefiningOp<stablehlo::ConstantOp>()) {
        for (Region &region : current->getRegions())
          if (!region.empty())
            cloneInto(region, constant);
      } else if (auto loop = dyn_cast<stablehlo::WhileOp>(current)) {
        current = carry(loop, value);
      }
    }
  }
}
