#include "passes/Partition/GradientBoundary.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Sharding/OpSharding.h"
#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::st;

/// Values that depend on parameters or optimizer state.
static DenseSet<Value> findStateful(func::FuncOp function) {
  DenseSet<Value> stateful;
  for (BlockArgument argument : function.getArguments()) {
    auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kRoleAttr);
    if (role && (role == "parameter" || role == "optimizer_state"))
      stateful.insert(argument);
  }
  for (Operation &op : function.front().without_terminator())
    if (llvm::any_of(op.getOperands(), [&](Value value) { return stateful.contains(value); }))
      stateful.insert(op.result_begin(), op.result_end());
  return stateful;
}

static bool isMove(Operation *op) {
  return isa_and_nonnull<AllGatherOp, AllReduceOp, ReduceScatterOp, AllToAllOp, AllSliceOp,
                         TransferOp, stablehlo::ReshapeOp>(op);
}

/// Whether an op widens what devices sent in fewer bits.
static bool isAfterMove(Operation *op) {
  return isa<stablehlo::ConvertOp>(op) && isMove(op->getOperand(0).getDefiningOp());
}

bool mlir::st::isNarrowing(Operation *op) {
  if (!isa<stablehlo::ConvertOp>(op))
    return false;
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(op->getOperand(0).getType()));
  auto to = dyn_cast<FloatType>(getElementTypeOrSelf(op->getResult(0).getType()));
  return from && to && to.getWidth() < from.getWidth();
}

/// Back through what only moves a value between devices, and its conversions for that.
static Value beforeMoves(Value value) {
  bool isMoved = false;
  while (Operation *op = value.getDefiningOp()) {
    if (!isMove(op) && !isAfterMove(op) && !(isMoved && isNarrowing(op)))
      break;
    isMoved = true;
    value = op->getOperand(0);
  }
  return value;
}

Updates mlir::st::findUpdates(func::FuncOp function) {
  DenseSet<Value> stateful = findStateful(function);
  SmallVector<std::pair<Value, BlockArgument>> worklist;
  Operation *terminator = function.front().getTerminator();
  for (BlockArgument argument : function.getArguments()) {
    auto result =
        function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "tf.aliasing_output");
    if (!result || !stateful.contains(argument))
      continue;
    // A state that is updated in parts is gathered at the end.
    Value updated = terminator->getOperand(result.getInt());
    while (auto gather = updated.getDefiningOp<AllGatherOp>())
      updated = gather.getInputs().front();
    worklist.emplace_back(updated, argument);
  }
  DenseSet<Value> seen;
  Updates updates;
  while (!worklist.empty()) {
    auto [value, state] = worklist.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !stateful.contains(value) || !seen.insert(value).second)
      continue;
    if (!isPointwise(getShardingRule(op)) || isAfterMove(op)) {
      updates.gradients.insert({beforeMoves(value), state});
      continue;
    }
    updates.ops.insert(op);
    for (Value operand : op->getOperands())
      if (operand.getType() == value.getType())
        worklist.emplace_back(operand, state);
  }
  return updates;
}

void mlir::st::markGradients(func::FuncOp function) {
  OpBuilder builder(function.getContext());
  for (auto [gradient, state] : findUpdates(function).gradients) {
    Operation *producer = gradient.getDefiningOp();
    if (!producer)
      continue;
    builder.setInsertionPointAfter(producer);
    auto accumulate = AccumulateOp::create(builder, gradient.getLoc(), gradient.getType(), gradient,
                                           ReduceKind::Sum);
    if (Attribute stage = producer->getDiscardableAttr(kStageAttr))
      accumulate->setDiscardableAttr(kStageAttr, stage);
    gradient.replaceAllUsesExcept(accumulate, accumulate);
  }
}
