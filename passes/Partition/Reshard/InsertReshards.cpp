#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "dialects/St/Interfaces/Notes.h"
#include "dialects/St/Sharding/ChooseSharding.h"
#include "dialects/St/Sharding/ReshardPlan.h"
#include "dialects/St/Sharding/ReshardPlans.h"
#include "dialects/St/Utils/Roles.h"
#include "lib/Support/AtomicFile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/Partition/GradientBoundary.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/Reshard/ExplainReshards.h"

namespace mlir::st {
#define GEN_PASS_DEF_INSERTRESHARDS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
/// Reconciles the shardings of one function.
class ReshardInserter {
public:
  ReshardInserter(func::FuncOp function, const MeshAxes &axes, int64_t minPartBytes)
      : function(function), axes(axes), minPartBytes(minPartBytes), builder(function.getContext()) {
  }

  LogicalResult run();
  /// Call before run(); finds the gradients for setReduceType().
  void findGradients();
  /// Marks gradients that devices communicate in fewer bits.
  void setReduceType(Type type);
  size_t count = 0;

private:
  LogicalResult visit(Operation &op);
  LogicalResult visitTransfer(TransferOp transfer);
  TensorSharding scattered(TensorSharding sharding, RankedTensorType type) const;
  LogicalResult visitRegions(Operation &op);
  void visitConstrain(ConstrainOp constrain);
  LogicalResult finish();
  /// Chooses the sharding in which an op is computed. If it cannot produce the recorded shardings
  /// of its results, the results are resharded to them.
  OpSharding resolve(Operation &op, const ShardingRule &rule);
  void closeLateSums(Operation &op);
  LogicalResult supply(OpOperand &operand, TensorSharding needed);
  LogicalResult checkMicro(Operation &op, const OpSharding &how);
  Value reshard(Value value, const TensorSharding &to, Operation *before);
  double costOf(Value from, const TensorSharding &to) const;
  Attribute stageOf(Value value);
  static int64_t rankOf(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type ? type.getRank() : 0;
  }

  func::FuncOp function;
  const MeshAxes &axes;
  /// The smallest part, in bytes, in which values are sent between stages.
  int64_t minPartBytes;
  OpBuilder builder;
  /// The reshards of each value so far.
  DenseMap<Value, SmallVector<Value, 1>> reshards;
  /// Values that depend on parameters or state, and among them those known only after all
  /// micro-batches have run.
  DenseSet<Value> stateful, late;
  DenseSet<Value> gradients;
};
} // namespace

//===----------------------------------------------------------------------===//
// Reshards
//===----------------------------------------------------------------------===//

double ReshardInserter::costOf(Value from, const TensorSharding &to) const {
  const ReshardPlan *plan =
      planReshard(axes.read(from), to, cast<RankedTensorType>(from.getType()), axes);
  return plan ? reshardCost(*plan, elementBytes(from.getType()), axes)
              : std::numeric_limits<double>::infinity();
}

Attribute ReshardInserter::stageOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return function.getArgAttr(argument.getArgNumber(), kStageAttr);
  return value.getDefiningOp()->getDiscardableAttr(kStageAttr);
}

/// Returns the value in another sharding: an existing reshard, or a new one from the cheapest of
/// the value and its reshards.
Value ReshardInserter::reshard(Value value, const TensorSharding &to, Operation *before) {
  Value best = value;
  for (Value known : reshards[value]) {
    if (axes.read(known) == to)
      return known;
    if (costOf(known, to) < costOf(best, to))
      best = known;
  }
  builder.setInsertionPoint(before);
  ShardingAttr sharding = axes.write(to);
  auto op = ReshardOp::create(builder, before->getLoc(), value.getType(), best, sharding);
  op->setDiscardableAttr(kShardingAttr, sharding);
  if (Attribute stage = stageOf(value))
    op->setDiscardableAttr(kStageAttr, stage);
  ++count;
  if (stateful.contains(value))
    stateful.insert(op);
  if (late.contains(value) ||
      (stateful.contains(value) && axes.read(value).isUnreducedOver(kMicroAxis) &&
       !to.isUnreducedOver(kMicroAxis)))
    late.insert(op);
  reshards[value].push_back(op);
  return op;
}

LogicalResult ReshardInserter::supply(OpOperand &operand, TensorSharding needed) {
  Value value = operand.get();
  TensorSharding has = axes.read(value);
  // Zeros are already an unreduced sum, of zeros.
  if (isZeroConstant(value))
    needed.unreduced = has.unreduced, needed.kind = has.kind;
  if (has == needed)
    return success();
  if (!planReshard(has, needed, cast<RankedTensorType>(value.getType()), axes))
    return withNote(operand.getOwner()->emitOpError("needs operand ")
                        << operand.getOperandNumber() << " as " << axes.write(needed)
                        << ", but it is " << axes.write(has)
                        << ", which varies along the micro-batches",
                    value, "the operand is defined here");
  operand.set(reshard(value, needed, operand.getOwner()));
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// A value known only after all micro-batches is not a term of a sum over them: if one summand is
/// such a value (from another stage), the others are reduced before it is added.
void ReshardInserter::closeLateSums(Operation &op) {
  if (llvm::none_of(op.getOperands(), [&](Value operand) { return late.contains(operand); }))
    return;
  SmallVector<Attribute> shardings;
  for (Value result : op.getResults()) {
    TensorSharding sharding = axes.read(result);
    sharding.dropUnreduced(kMicroAxis);
    shardings.push_back(axes.write(sharding));
  }
  if (shardings.size() == 1)
    op.setDiscardableAttr(kShardingAttr, shardings[0]);
  else if (!shardings.empty())
    op.setDiscardableAttr(kShardingAttr, builder.getArrayAttr(shardings));
}

OpSharding ReshardInserter::resolve(Operation &op, const ShardingRule &rule) {
  closeLateSums(op);
  ChoiceContext context = recordedContext(&op, axes);
  if (std::optional<OpSharding> exact = exactOpSharding(&op, rule, context))
    return std::move(*exact);
  OpSharding how = chooseOpSharding(&op, rule, OpSharding(rule), context, axes.used());
  SmallVector<Attribute> left;
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    TensorSharding sharding = resultSharding(rule, how, i, rankOf(result));
    left.push_back(axes.write(sharding));
    if (sharding == *context.wanted[i])
      continue;
    builder.setInsertionPointAfter(&op);
    ShardingAttr wanted = axes.write(*context.wanted[i]);
    auto reshard = ReshardOp::create(builder, op.getLoc(), result.getType(), result, wanted);
    result.replaceAllUsesExcept(reshard, reshard);
    reshard->setDiscardableAttr(kShardingAttr, wanted);
    if (Attribute stage = op.getDiscardableAttr(kStageAttr))
      reshard->setDiscardableAttr(kStageAttr, stage);
    ++count;
  }
  if (left.size() == 1)
    op.setDiscardableAttr(kShardingAttr, left[0]);
  else if (!left.empty())
    op.setDiscardableAttr(kShardingAttr, builder.getArrayAttr(left));
  return how;
}

/// A value that varies along the micro-batches must not depend on all of them.
LogicalResult ReshardInserter::checkMicro(Operation &op, const OpSharding &how) {
  bool isStateful = false, isLate = false;
  for (Value operand : op.getOperands()) {
    isStateful |= stateful.contains(operand);
    isLate |= late.contains(operand);
  }
  for (Value result : op.getResults()) {
    if (isStateful)
      stateful.insert(result);
    if (isLate)
      late.insert(result);
  }
  if (isLate && how.splits(kMicroAxis))
    return withNote(
        op.emitOpError(
            "varies along the micro-batches and reads a sum over them that depends "
            "on parameters; batch statistics cannot be computed one micro-batch at a time"),
        *llvm::find_if(op.getOperands(), [&](Value operand) { return late.contains(operand); }),
        "the operand that depends on the sum is defined here");
  return success();
}

/// Values that regions capture are replicated, like the op.
LogicalResult ReshardInserter::visitRegions(Operation &op) {
  SetVector<Value> captured;
  for (Region &region : op.getRegions())
    getUsedValuesDefinedAbove(region, captured);
  for (Value value : captured) {
    TensorSharding has = axes.read(value), replicated(rankOf(value));
    if (has == replicated)
      continue;
    if (!planReshard(has, replicated, cast<RankedTensorType>(value.getType()), axes))
      return withNote(
          op.emitOpError("reads a value in its region that varies along the micro-batches"), value,
          "the value is defined here");
    Value gathered = reshard(value, replicated, &op);
    value.replaceUsesWithIf(gathered,
                            [&](OpOperand &use) { return op.isProperAncestor(use.getOwner()); });
  }
  return success();
}

void ReshardInserter::visitConstrain(ConstrainOp constrain) {
  auto reshard = cast<ReshardOp>(OpBuilder(constrain).create(
      OperationState(constrain.getLoc(), ReshardOp::getOperationName(), constrain->getOperands(),
                     constrain->getResultTypes(), constrain->getAttrs())));
  // Propagation has given open dimensions their axes.
  TensorSharding to = constrain.getSharding().getOpen().empty() ? axes.read(constrain.getSharding())
                                                                : axes.read(constrain.getResult());
  if (late.contains(constrain.getOperand()))
    to.dropUnreduced(kMicroAxis);
  reshard.setShardingAttr(axes.write(to));
  reshard->setDiscardableAttr(kShardingAttr, reshard.getSharding());
  reshard->setDiscardableAttr(kConstraintAttr, builder.getUnitAttr());
  for (DenseSet<Value> *set : {&stateful, &late})
    if (set->contains(constrain.getOperand()))
      set->insert(reshard);
  if (gradients.contains(constrain))
    gradients.insert(reshard);
  constrain.replaceAllUsesWith(reshard.getResult());
  constrain.erase();
}

/// The sharding in which a tensor is sent to another stage: devices that hold copies send a part
/// each, and the others gather them (Narayanan et al., "Efficient Large-Scale Language Model
/// Training on GPU Clusters", SC 2021, 4.1). Small tensors, whose time is mostly latency, are sent
/// unsplit.
TensorSharding ReshardInserter::scattered(TensorSharding sharding, RankedTensorType type) const {
  for (Axis axis : axes.used()) {
    if (axis == kMicroAxis || sharding.isSplitOver(axis))
      continue;
    SmallVector<int64_t> local = localShape(type.getShape(), sharding);
    int64_t bytes = elementBytes(type);
    for (int64_t size : local)
      bytes *= size;
    if (bytes / axes.size(axis) < minPartBytes)
      continue;
    for (auto [dim, size] : llvm::enumerate(type.getShape())) {
      int64_t outer = 1;
      for (const Split &split : sharding.dims[dim])
        outer *= split.size;
      if (size % (outer * axes.size(axis)) != 0)
        continue;
      sharding.dims[dim] = *unite(sharding.dims[dim], splitAt(axis, axes.size(axis), outer));
      break;
    }
  }
  return sharding;
}

/// Values are reduced before they cross stages: otherwise every rank would send its partial sum,
/// and sums over the micro-batches would be sent once per micro-batch.
LogicalResult ReshardInserter::visitTransfer(TransferOp transfer) {
  TensorSharding sharding = axes.read(transfer.getOperand());
  if (sharding.isUnreducedOver(kMicroAxis) || !sharding.unreduced.empty()) {
    // Use the sharding of the first user, so that the value is scattered here.
    for (OpOperand &use : transfer->getUses()) {
      ShardingRule rule = getShardingRule(use.getOwner());
      if (auto how = exactOpSharding(use.getOwner(), rule, recordedContext(use.getOwner(), axes)))
        sharding = operandSharding(rule, *how, use.getOperandNumber(), rankOf(transfer));
      break;
    }
    sharding.dropAllUnreduced();
  }
  sharding = scattered(std::move(sharding), cast<RankedTensorType>(transfer.getType()));
  transfer->setDiscardableAttr(kShardingAttr, axes.write(sharding));
  if (failed(supply(transfer->getOpOperand(0), sharding)))
    return failure();
  for (DenseSet<Value> *set : {&stateful, &late})
    if (set->contains(transfer.getOperand()))
      set->insert(transfer);
  return success();
}

LogicalResult ReshardInserter::visit(Operation &op) {
  if (auto transfer = dyn_cast<TransferOp>(op))
    return visitTransfer(transfer);
  if (auto constrain = dyn_cast<ConstrainOp>(op)) {
    visitConstrain(constrain);
    return success();
  }
  if (auto reshard = dyn_cast<ReshardOp>(op)) {
    op.setDiscardableAttr(kShardingAttr, reshard.getSharding());
    if (!planReshard(axes.read(reshard.getOperand()), axes.read(reshard.getSharding()),
                     cast<RankedTensorType>(reshard.getType()), axes))
      return op.emitOpError("cannot gather a value that varies along the micro-batches");
    return success();
  }
  ShardingRule rule = getShardingRule(&op);
  OpSharding how = resolve(op, rule);
  for (OpOperand &operand : op.getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()) &&
        failed(supply(operand, operandSharding(rule, how, operand.getOperandNumber(),
                                               rankOf(operand.get())))))
      return failure();
  if (failed(checkMicro(op, how)))
    return failure();
  return op.getNumRegions() == 0 ? success() : visitRegions(op);
}

LogicalResult ReshardInserter::finish() {
  Signature signature(function);
  for (OpOperand &operand : function.front().getTerminator()->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    TensorSharding needed = axes.read(operand.get());
    needed.dropAllUnreduced();
    needed.makeContiguous();
    if (Attribute given = signature.getResultAttr(i, kShardingAttr))
      needed = axes.read(cast<ShardingAttr>(given));
    else
      signature.setResultAttr(i, kShardingAttr, axes.write(needed));
    if (failed(supply(operand, needed)))
      return failure();
  }
  signature.write();
  return success();
}

LogicalResult ReshardInserter::run() {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("expects a body of one block");
  for (BlockArgument argument : function.getArguments())
    if (isTrainingState(argument))
      stateful.insert(argument);
  for (Operation &op : llvm::make_early_inc_range(function.front().without_terminator()))
    if (failed(visit(op)))
      return failure();
  return finish();
}

/// Gradients, and sums of several gradients before the update.
void ReshardInserter::findGradients() {
  Updates updates = findUpdates(function);
  for (Operation *op : updates.ops)
    gradients.insert(op->result_begin(), op->result_end());
  for (auto [gradient, state] : updates.gradients)
    gradients.insert(gradient);
}

/// A gradient is reduced by the reshards between its producer and its update, each over some axes.
void ReshardInserter::setReduceType(Type type) {
  for (auto op : function.front().getOps<ReshardOp>()) {
    if (!gradients.contains(op.getOperand()) && !gradients.contains(op))
      continue;
    gradients.insert(op);
    TensorSharding from = axes.read(op.getOperand()), to = axes.read(op.getSharding());
    bool isReducing = llvm::any_of(
        from.unreduced, [&](Axis axis) { return axis != kMicroAxis && !to.isUnreducedOver(axis); });
    if (isReducing && from.kind == ReduceKind::Sum &&
        isa<FloatType>(getElementTypeOrSelf(op.getType())))
      op->setDiscardableAttr(kReduceTypeAttr, TypeAttr::get(type));
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static constexpr FactContract kContract = {{Fact::Mesh, Fact::Shardings},
                                           FactSet::from(Fact::LocalTypes)};

namespace {
struct InsertReshards : mlir::st::impl::InsertReshardsBase<InsertReshards> {
  using InsertReshardsBase::InsertReshardsBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kContract)))
      return signalPassFailure();
    MeshAxes axes(getMesh(getOperation()));
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      ReshardInserter inserter(function, axes, minPartBytes);
      Type reduceType = getReduceType();
      if (reduceType)
        inserter.findGradients();
      if (failed(inserter.run()))
        return signalPassFailure();
      if (reduceType)
        inserter.setReduceType(reduceType);
      insertedReshards += inserter.count;
    }
    narrowedPlans += axes.plans().numNarrowed;
    if (!explain.empty())
      writeExplanation();
  }

  /// Null if gradients are reduced in their own type.
  Type getReduceType() {
    auto precision = getOperation()->getAttrOfType<DictionaryAttr>(kPrecisionAttr);
    auto name = precision ? precision.getAs<StringAttr>("reduce") : StringAttr();
    if (name && name.getValue() == "bf16")
      return BFloat16Type::get(&getContext());
    if (name && name.getValue() == "f16")
      return Float16Type::get(&getContext());
    return nullptr;
  }

  void writeExplanation() {
    ModuleOp module = getOperation();
    auto written = ::st::writeFileAtomically(explain, printFor(explain, explainReshards(module)));
    if (!written.ok()) {
      absl::string_view message = written.message();
      module.emitError() << StringRef(message.data(), message.size());
      signalPassFailure();
    }
  }
};
} // namespace
