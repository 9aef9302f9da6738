#include "passes/Propagation/CarryCaptures.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Utils/Roles.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::st;

static bool isSplatConstant(Value value) {
  auto constant = value.getDefiningOp<stablehlo::ConstantOp>();
  return constant && isa<SplatElementsAttr>(constant.getValue());
}

/// Returns true if a loop may use the value unsplit: a scalar, a constant with equal elements, or a
/// weight, which has no batch dimension.
static bool mayStayCaptured(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() == 0 || isSplatConstant(value))
    return true;
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && isTrainingState(argument);
}

static void carry(stablehlo::WhileOp loop, ArrayRef<Value> values) {
  for (Region *region : {&loop.getCond(), &loop.getBody()})
    for (Value value : values) {
      BlockArgument inside = region->addArgument(value.getType(), value.getLoc());
      value.replaceUsesWithIf(inside, [&](OpOperand &use) {
        return region->isAncestor(use.getOwner()->getParentRegion());
      });
    }
  Block &body = loop.getBody().front();
  body.getTerminator()->insertOperands(body.getTerminator()->getNumOperands(),
                                       ValueRange(body.getArguments().take_back(values.size())));

  OpBuilder builder(loop);
  SmallVector<Value> operands(loop->getOperands());
  llvm::append_range(operands, values);
  auto carrying = stablehlo::WhileOp::create(
      builder, loop.getLoc(), ValueRange(operands).getTypes(), operands, loop->getAttrs());
  carrying.getCond().takeBody(loop.getCond());
  carrying.getBody().takeBody(loop.getBody());
  loop->replaceAllUsesWith(carrying->getResults().take_front(loop->getNumResults()));
  loop.erase();
}

void mlir::st::carryCaptures(func::FuncOp function) {
  // Handles inner loops first: their captures become operands, which the outer loop then captures.
  function.walk([](stablehlo::WhileOp loop) {
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(loop->getRegions(), captured);
    SmallVector<Value> values(
        llvm::make_filter_range(captured, [](Value value) { return !mayStayCaptured(value); }));
    if (!values.empty())
      carry(loop, values);
  });
}
