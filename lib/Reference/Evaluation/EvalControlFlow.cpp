#include "dialects/Sdy/SdyDialect.h"
#include "dialects/St/IR/StGradientOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Reference/Evaluation/OpHandlers.h"
#include "lib/Reference/TensorTypes.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mlir::st::ref {

using namespace stablehlo;

static SmallVector<RankValues> getOperands(Evaluator &evaluator, ValueRange operands) {
  SmallVector<RankValues> values;
  for (Value operand : operands)
    values.push_back(evaluator.get(operand));
  return values;
}

static Outcome setResults(Evaluator &evaluator, Operation &op,
                          SmallVectorImpl<RankValues> &values) {
  for (auto [result, tensors] : llvm::zip_equal(op.getResults(), values))
    evaluator.set(result, std::move(tensors));
  return Outcome::Done;
}

// Takes over the values of the ranks that computed them.
static void update(ArrayRef<int64_t> ranks, ArrayRef<RankValues> from,
                   MutableArrayRef<RankValues> to) {
  for (auto [source, target] : llvm::zip_equal(from, to))
    for (int64_t rank : ranks)
      target[rank] = source[rank];
}

static Outcome evalWhile(Evaluator &evaluator, WhileOp op) {
  SmallVector<RankValues> state = getOperands(evaluator, op.getOperand());
  // The ranks whose condition still holds. No rank is added again.
  SmallVector<int64_t> running(evaluator.getActiveRanks());
  LogicalResult result = success();
  while (succeeded(result) && !running.empty()) {
    result = evaluator.onRanks(running, [&]() -> LogicalResult {
      SmallVector<RankValues> condition, next;
      if (failed(evaluator.evalBlock(op.getCond().front(), state, condition)))
        return failure();
      llvm::erase_if(running, [&](int64_t rank) { return !*condition[0][rank].data<bool>(); });
      if (running.empty())
        return success();
      return evaluator.onRanks(running, [&]() -> LogicalResult {
        if (failed(evaluator.evalBlock(op.getBody().front(), state, next)))
          return failure();
        update(running, next, state);
        return success();
      });
    });
  }
  return failed(result) ? Outcome::Failed : setResults(evaluator, *op, state);
}

// Evaluates for each rank the region whose number `choose` returns.
template <class Choose>
static Outcome evalBranches(Evaluator &evaluator, Operation &op, Choose choose) {
  SmallVector<RankValues> results(op.getNumResults(), RankValues(evaluator.getNumRanks()));
  SmallVector<SmallVector<int64_t>> ranks(op.getNumRegions());
  for (int64_t rank : evaluator.getActiveRanks())
    ranks[choose(evaluator.get(op.getOperand(0))[rank])].push_back(rank);
  for (size_t branch = 0; branch < ranks.size(); ++branch) {
    Block &block = op.getRegion(branch).front();
    ArrayRef<int64_t> chosenBy = ranks[branch];
    if (chosenBy.empty())
      continue;
    SmallVector<RankValues> values;
    LogicalResult result =
        evaluator.onRanks(chosenBy, [&] { return evaluator.evalBlock(block, {}, values); });
    if (failed(result))
      return Outcome::Failed;
    update(chosenBy, values, results);
  }
  return setResults(evaluator, op, results);
}

static Outcome evalCase(Evaluator &evaluator, CaseOp op) {
  int64_t last = static_cast<int64_t>(op->getNumRegions()) - 1;
  return evalBranches(evaluator, *op, [&](const Tensor &index) {
    int64_t choice = toInteger(index);
    return static_cast<size_t>(choice < 0 || choice > last ? last : choice);
  });
}

static Outcome evalIf(Evaluator &evaluator, IfOp op) {
  return evalBranches(evaluator, *op, [](const Tensor &pred) {
    return *pred.data<bool>() ? size_t(0) : size_t(1);
  });
}

static Outcome evalCall(Evaluator &evaluator, Operation &op, StringRef callee, ValueRange args) {
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      &op, StringAttr::get(op.getContext(), callee));
  if (!function)
    return toOutcome(op.emitError("calls an unknown function @") << callee);
  SmallVector<RankValues> results;
  if (failed(evaluator.call(&op, function, getOperands(evaluator, args), results)))
    return Outcome::Failed;
  return setResults(evaluator, op, results);
}

static Outcome evalIdentity(Evaluator &evaluator, Operation &op) {
  SmallVector<RankValues> values = getOperands(evaluator, op.getOperands());
  return setResults(evaluator, op, values);
}

// Evaluates the body of a kernel; its kind does not matter here.
static Outcome evalKernel(Evaluator &evaluator, KernelOp op) {
  SmallVector<RankValues> results;
  if (failed(evaluator.evalBlock(op.getBody().front(), getOperands(evaluator, op.getInputs()),
                                 results)))
    return Outcome::Failed;
  return setResults(evaluator, *op, results);
}

// The residuals, after the results, are only for the gradient.
static Outcome evalCustomGradient(Evaluator &evaluator, CustomGradientOp op) {
  SmallVector<RankValues> results;
  if (failed(evaluator.evalBlock(op.getForward().front(), getOperands(evaluator, op.getInputs()),
                                 results)))
    return Outcome::Failed;
  results.truncate(op->getNumResults());
  return setResults(evaluator, *op, results);
}

static Outcome evalCustomCall(Evaluator &evaluator, CustomCallOp op) {
  if (Outcome outcome = evalCheck(evaluator, op); outcome != Outcome::Unknown)
    return outcome;
  // Annotations of older JAX versions, whose only result is their operand. If both types are equal,
  // the tensor is not split, so the global tensor equals the shard of a device.
  constexpr StringRef kAnnotations[] = {"Sharding", "annotate_device_placement",
                                        "SPMDFullToShardShape", "SPMDShardToFullShape"};
  if (llvm::is_contained(kAnnotations, op.getCallTargetName()) && op->getNumOperands() == 1 &&
      op->getOperandTypes() == op->getResultTypes())
    return evalIdentity(evaluator, *op);
  return toOutcome(op.emitError("the reference interpreter does not support the target '")
                   << op.getCallTargetName() << "'");
}

Outcome evalControlFlow(Evaluator &evaluator, Operation &op) {
  return llvm::TypeSwitch<Operation *, Outcome>(&op)
      .Case<WhileOp>([&](WhileOp op) { return evalWhile(evaluator, op); })
      .Case<IfOp>([&](IfOp op) { return evalIf(evaluator, op); })
      .Case<CaseOp>([&](CaseOp op) { return evalCase(evaluator, op); })
      .Case<KernelOp>([&](KernelOp op) { return evalKernel(evaluator, op); })
      .Case<CustomGradientOp>(
          [&](CustomGradientOp op) { return evalCustomGradient(evaluator, op); })
      .Case<CustomCallOp>([&](CustomCallOp op) { return evalCustomCall(evaluator, op); })
      .Case<func::CallOp>([&](func::CallOp op) {
        return evalCall(evaluator, *op, op.getCallee(), op.getOperands());
      })
      .Case<CompositeOp>([&](CompositeOp op) {
        return evalCall(evaluator, *op, op.getDecomposition(), op.getInputs());
      })
      .Case<OptimizationBarrierOp, ReshardOp, ConstrainOp, TransferOp>(
          [&](auto op) { return evalIdentity(evaluator, *op.getOperation()); })
      // Annotations.
      .Case<sdy::ShardingConstraintOp, sdy::ReshardOp, sdy::PropagationBarrierOp>(
          [&](auto op) { return evalIdentity(evaluator, *op.getOperation()); })
      // On global tensors they change only the sharding.
      .Case<sdy::AllGatherOp, sdy::AllReduceOp, sdy::AllSliceOp, sdy::AllToAllOp,
            sdy::CollectivePermuteOp, sdy::ReduceScatterOp, sdy::ReplicatedToUnreducedOp,
            sdy::ShardedToUnreducedOp>(
          [&](auto op) { return evalIdentity(evaluator, *op.getOperation()); })
      .Case<sdy::ShardingGroupOp>([&](sdy::ShardingGroupOp) { return Outcome::Done; })
      .Default(Outcome::Unknown);
}

} // namespace mlir::st::ref
