#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "dialects/St/Interfaces/Notes.h"
#include "dialects/St/Sharding/ChooseSharding.h"
#include "dialects/St/Utils/AttributeListener.h"
#include "dialects/StableHLO/StableHLODialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Partition/GradientBoundary.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/Reshard/ReshardEmitter.h"

namespace mlir::st {
#define GEN_PASS_DEF_GLOBALTOLOCAL
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
/// The plan of an op, computed while its operands have global types.
struct OpPlan {
  Operation *op;
  ShardingRule rule;
  OpSharding how;
  SmallVector<Type> resultTypes;
  /// For a reshard.
  const ReshardPlan *steps = nullptr;
  ReduceKind kind = ReduceKind::Sum;
  Type reduceType;
};

/// Turns one function into the program of one device.
class Localizer {
public:
  Localizer(func::FuncOp function, const MeshAxes &axes)
      : function(function), axes(axes), builder(function.getContext(), &listener),
        emitter(builder, axes) {}

  LogicalResult run();

private:
  FailureOr<OpPlan> plan(Operation &op);
  LogicalResult planReshardOp(ReshardOp op, OpPlan &plan);
  LogicalResult checkOperands(const OpPlan &plan);
  LogicalResult checkResults();
  LogicalResult apply(OpPlan &plan);
  void localizeSignature();
  FailureOr<Type> localTypeOf(Operation *op, Type type, const TensorSharding &sharding);

  func::FuncOp function;
  const MeshAxes &axes;
  AttributeListener listener{kStageAttr};
  OpBuilder builder;
  ReshardEmitter emitter;
};
} // namespace

//===----------------------------------------------------------------------===//
// Plans, on global types
//===----------------------------------------------------------------------===//

FailureOr<Type> Localizer::localTypeOf(Operation *op, Type type, const TensorSharding &sharding) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  if (!divides(tensor.getShape(), sharding))
    return op->emitOpError("has sharding ")
           << axes.write(sharding) << ", which does not divide a value of " << tensor;
  return Type(tensor.clone(localShape(tensor.getShape(), sharding)));
}

/// Operands must have the shardings that the op takes.
LogicalResult Localizer::checkOperands(const OpPlan &plan) {
  for (OpOperand &operand : plan.op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type)
      continue;
    unsigned i = operand.getOperandNumber();
    TensorSharding needed = operandSharding(plan.rule, plan.how, i, type.getRank());
    TensorSharding has = axes.read(operand.get());
    if (isZeroConstant(operand.get())) {
      needed.dropAllUnreduced();
      has.dropAllUnreduced();
    }
    if (needed != has)
      return withNote(plan.op->emitOpError("expects operand ")
                          << i << " as " << axes.write(needed) << ", found " << axes.write(has)
                          << "; run insert-reshards first",
                      operand.get(), "the operand is defined here");
  }
  return success();
}

LogicalResult Localizer::planReshardOp(ReshardOp op, OpPlan &plan) {
  TensorSharding from = axes.read(op.getOperand()), to = axes.read(op.getSharding());
  plan.steps = planReshard(from, to, cast<RankedTensorType>(op.getType()), axes);
  if (!plan.steps)
    return op.emitOpError("cannot gather a value that varies along the micro-batches");
  plan.kind = from.kind;
  if (auto type = op->getAttrOfType<TypeAttr>(kReduceTypeAttr))
    plan.reduceType = type.getValue();
  return success();
}

FailureOr<OpPlan> Localizer::plan(Operation &op) {
  OpPlan plan{&op, getShardingRule(&op)};
  for (Value result : op.getResults()) {
    FailureOr<Type> type = localTypeOf(&op, result.getType(), axes.read(result));
    if (failed(type))
      return failure();
    plan.resultTypes.push_back(*type);
  }
  if (auto reshard = dyn_cast<ReshardOp>(op)) {
    if (failed(planReshardOp(reshard, plan)))
      return failure();
    return plan;
  }
  if (isa<TransferOp>(op)) {
    if (axes.read(op.getOperand(0)) != axes.read(op.getResult(0)))
      return withNote(op.emitOpError("changes the sharding; run insert-reshards first"),
                      op.getOperand(0), "the operand is defined here");
    return plan;
  }
  ChoiceContext context = recordedContext(&op, axes);
  std::optional<OpSharding> how = readOpSharding(&op, plan.rule, context);
  // If operands and results are inconsistent, the check of the operands names the wrong one.
  if (!how)
    how = exactOpSharding(&op, plan.rule, context);
  if (!how)
    return op.emitOpError("cannot be computed as ")
           << op.getDiscardableAttr(kShardingAttr) << "; run insert-reshards first";
  plan.how = std::move(*how);
  if (failed(checkOperands(plan)))
    return failure();
  return plan;
}

LogicalResult Localizer::checkResults() {
  Operation *end = function.front().getTerminator();
  for (OpOperand &operand : end->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    auto given = function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr);
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type)
      continue;
    TensorSharding expected = given ? axes.read(given) : TensorSharding(type.getRank());
    TensorSharding has = axes.read(operand.get());
    if (has != expected)
      return withNote(end->emitOpError("expects operand ")
                          << i << " as " << axes.write(expected) << ", found " << axes.write(has)
                          << "; run insert-reshards first",
                      operand.get(), "the operand is defined here");
    if (failed(localTypeOf(end, type, has)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

LogicalResult Localizer::apply(OpPlan &plan) {
  Operation *op = plan.op;
  listener.value = op->getDiscardableAttr(kStageAttr);
  op->removeDiscardableAttr(kShardingAttr);
  builder.setInsertionPoint(op);
  if (isa<ReshardOp>(op)) {
    Value value =
        emitter.emit(op->getLoc(), op->getOperand(0), *plan.steps, plan.kind, plan.reduceType);
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
    return success();
  }
  LocalizeContext context{plan.rule, builder, plan.resultTypes, {}, {}, {}, {}, {}};
  for (const Splits &splits : plan.how.factors)
    context.factorShards.push_back(shardCount(ArrayRef<Split>(splits)));
  context.toGlobal = [&](int64_t factor, Value positions) {
    return emitter.toGlobal(positions, plan.how.factors[factor], plan.rule.factors[factor].size);
  };
  context.toLocal = [&](int64_t factor, Value positions) {
    return emitter.toLocal(positions, plan.how.factors[factor], plan.rule.factors[factor].size);
  };
  context.withNeighbours = [&](Value value, int64_t dim, int64_t factor, int64_t low, int64_t high,
                               Value fill) {
    return emitter.withNeighbours(op->getLoc(), value, dim, plan.how.factors[factor], low, high,
                                  fill);
  };
  context.permuteParts = [&](Value value, int64_t factor, ArrayRef<int64_t> sources) {
    return emitter.permuteParts(op->getLoc(), value, plan.how.factors[factor], sources);
  };
  if (auto rule = dyn_cast<ShardingRuleOpInterface>(op))
    return rule.localize(context);
  return localizeByTypes(op, context);
}

static Attribute unpaddedType(Attribute recorded, Type type) {
  return recorded ? recorded : TypeAttr::get(type);
}

void Localizer::localizeSignature() {
  Signature signature(function);
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    TensorSharding sharding = axes.read(Value(argument));
    signature.setArgumentAttr(i, kGlobalTypeAttr,
                              unpaddedType(signature.getArgumentAttr(i, kUnpaddedTypeAttr), type));
    signature.setArgumentAttr(i, kUnpaddedTypeAttr, Attribute());
    if (!signature.getArgumentAttr(i, kShardingAttr))
      signature.setArgumentAttr(i, kShardingAttr, axes.write(sharding));
    argument.setType(type.clone(localShape(type.getShape(), sharding)));
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    auto global = dyn_cast<RankedTensorType>(type);
    if (!global)
      continue;
    auto given = cast_or_null<ShardingAttr>(signature.getResultAttr(i, kShardingAttr));
    TensorSharding sharding = given ? axes.read(given) : TensorSharding(global.getRank());
    signature.setResultAttr(i, kGlobalTypeAttr,
                            unpaddedType(signature.getResultAttr(i, kUnpaddedTypeAttr), global));
    signature.setResultAttr(i, kUnpaddedTypeAttr, Attribute());
    signature.setResultAttr(i, kShardingAttr, axes.write(sharding));
    signature.setResultType(i, global.clone(localShape(global.getShape(), sharding)));
  }
  signature.write();
}

LogicalResult Localizer::run() {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("expects a body of one block");
  std::vector<OpPlan> plans;
  for (BlockArgument argument : function.getArguments())
    if (failed(localTypeOf(function, argument.getType(), axes.read(Value(argument)))))
      return failure();
  for (Operation &op : function.front().without_terminator()) {
    FailureOr<OpPlan> planned = plan(op);
    if (failed(planned))
      return failure();
    plans.push_back(std::move(*planned));
  }
  if (failed(checkResults()))
    return failure();
  localizeSignature();
  for (OpPlan &plan : plans)
    if (failed(apply(plan)))
      return failure();
  if (axes.size(kMicroAxis) == 1)
    markGradients(function);
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static constexpr FactContract kContract = {{Fact::Mesh, Fact::Shardings},
                                           FactSet::from(Fact::LocalTypes)};

namespace {
struct GlobalToLocal : mlir::st::impl::GlobalToLocalBase<GlobalToLocal> {
  using GlobalToLocalBase::GlobalToLocalBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kContract)))
      return signalPassFailure();
    MeshAxes axes(getMesh(getOperation()));
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(Localizer(function, axes).run()))
        return signalPassFailure();
  }
};
} // namespace
