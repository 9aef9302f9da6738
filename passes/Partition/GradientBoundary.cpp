#include "passes/Partition/GradientBoundary.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Sharding/OpSharding.h"
#include "dialects/St/Utils/Roles.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::st;

/// Values that depend on parameters or optimizer state.
static DenseSet<Value> findStateful(func::FuncOp function) {
  DenseSet<Value> stateful;
  for (BlockArgument argument : function.getArguments())
    if (isTrainingState(argument))
      stateful.insert(argument);
  for (Operation &op : function.front().without_terminator())
    if (llvm::any_of(op.getOperands(), [&](Value value) { return stateful.contains(value); }))
      stateful.insert(op.result_begin(), op.result_end());
  return stateful;
}

static bool isMove(Operation *op) {
  return isa_and_nonnull<AllGatherOp, AllReduceOp, ReduceScatterOp, AllToAllOp, AllSliceOp,
                         TransferOp, stablehlo::ReshapeOp>(op);
}

/// Returns true if an op widens values that were communicated in fewer bits.
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

/// Looks back through ops that only move a value between devices, and their conversions.
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

static bool isSameShape(Value a, Value b) {
  auto ranked = dyn_cast<RankedTensorType>(a.getType());
  auto other = dyn_cast<RankedTensorType>(b.getType());
  return ranked && other && ranked.getShape() == other.getShape();
}

/// Walks back from updated states through elementwise ops in their shape, to gradients and to other
/// operands of the update in that shape.
static Updates findElementwise(func::FuncOp function, const DenseSet<Value> &stateful) {
  SmallVector<std::pair<Value, BlockArgument>> worklist;
  Operation *terminator = function.front().getTerminator();
  for (BlockArgument argument : function.getArguments()) {
    auto result =
        function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "tf.aliasing_output");
    if (!result || !stateful.contains(argument))
      continue;
    // A sharded state update is gathered at the end.
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
      if (isSameShape(operand, value))
        worklist.emplace_back(operand, state);
  }
  return updates;
}

/// Values that depend on the step's data other than through a gradient.
static DenseSet<Value> findBeforeGradients(func::FuncOp function, const Updates &updates) {
  DenseSet<Value> before;
  for (BlockArgument argument : function.getArguments())
    if (StringRef role = getRole(argument); role == "batch" || role == "key")
      before.insert(argument);
  for (Operation &op : function.front().without_terminator()) {
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(op.getRegions(), captured);
    auto isBefore = [&](Value value) {
      return before.contains(value) && !updates.gradients.contains(value);
    };
    if (llvm::any_of(op.getOperands(), isBefore) || llvm::any_of(captured, isBefore))
      before.insert(op.result_begin(), op.result_end());
  }
  return before;
}

/// The remaining ops of updates: sums over a parameter or a gradient, and values derived from them.
static void addReductions(func::FuncOp function, const DenseSet<Value> &before, Updates &updates) {
  SmallVector<Operation *> worklist(updates.ops.begin(), updates.ops.end());
  while (!worklist.empty())
    for (Value operand : worklist.pop_back_val()->getOperands()) {
      Operation *op = operand.getDefiningOp();
      if (op && !before.contains(operand) && !updates.gradients.contains(operand) &&
          !updates.ops.contains(op) && op->getNumOperands() > 0 &&
          updates.reductions.insert(op).second)
        worklist.push_back(op);
    }
}

Updates mlir::st::findUpdates(func::FuncOp function) {
  Updates updates = findElementwise(function, findStateful(function));
  // A scalar that the update computes from states and gradients is not a gradient.
  const DenseSet<Value> before = findBeforeGradients(function, updates);
  llvm::MapVector<Value, BlockArgument> gradients;
  for (auto [value, state] : updates.gradients)
    if (before.contains(value))
      gradients.insert({value, state});
  // Without data, gradients cannot be identified.
  if (gradients.empty())
    return updates;
  updates.gradients = std::move(gradients);
  addReductions(function, before, updates);
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
