#include "lib/Reference/Evaluation/Evaluator.h"
#include "dialects/St/Interfaces/Notes.h"

#include "dialects/Sdy/SdyDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Reference/Evaluation/OpHandlers.h"
#include "lib/Reference/TensorTypes.h"
#include "mlir/Transforms/RegionUtils.h"

#include <numeric>

namespace mlir::st::ref {

Evaluator::Evaluator(RankGrid ranks) : grid(std::move(ranks)), active(getNumRanks()) {
  std::iota(active.begin(), active.end(), 0);
}

const RankValues &Evaluator::get(Value value) const {
  auto it = values.find(value);
  assert(it != values.end() && "values dominate their uses");
  return it->second;
}

ElementType TensorCall::resultType() const {
  return *getTensorElementType(op.getResult(0).getType());
}

// The interpreter must be able to store every result.
static LogicalResult checkResultTypes(Operation &op) {
  for (Type type : op.getResultTypes())
    if (!getTensorElementType(type))
      return op.emitError("the reference interpreter does not support values of type ") << type;
  return success();
}

LogicalResult Evaluator::evalOp(Operation &op) {
  if (failed(checkResultTypes(op)))
    return failure();
  for (auto *handler : {evalControlFlow, evalCollective, evalReplicaGroups, evalManual})
    if (Outcome outcome = handler(*this, op); outcome != Outcome::Unknown)
      return success(outcome == Outcome::Done);
  return evalTensorOp(op);
}

LogicalResult Evaluator::evalOnRank(Operation &op, int64_t rank, ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  if (isa<stablehlo::ConstantOp, sdy::ConstantOp>(op)) {
    auto value = op.getAttrOfType<ElementsAttr>("value");
    Tensor &tensor = constants[value];
    if (!tensor)
      tensor = fromAttribute(value);
    results.push_back(tensor);
  } else {
    TensorCall call{op, operands, results, *this, rank};
    Outcome outcome = Outcome::Unknown;
    for (auto *handler : {evalElementwise, evalDataMovement, evalIndexing, evalContraction,
                          evalReduction, evalLinearAlgebra, evalNormalization, evalRandom})
      if (outcome = handler(call); outcome != Outcome::Unknown)
        break;
    if (outcome == Outcome::Failed)
      return failure();
    if (outcome == Outcome::Unknown)
      return op.emitError("the reference interpreter does not support this op");
  }
  for (auto [result, type] : llvm::zip_equal(results, op.getResultTypes())) {
    if (!result)
      return op.emitError("the reference interpreter does not define this op on these types");
    if (!isOfType(result, type))
      return op.emitError("evaluates to ") << toString(result) << ", but its type is " << type;
  }
  return success();
}

LogicalResult Evaluator::evalTensorOp(Operation &op) {
  // Regions that read values from outside see other values on other ranks.
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op.getRegions(), captured);
  struct Evaluation {
    SmallVector<Tensor, 4> operands, results;
  };
  SmallVector<Evaluation, 1> evaluations;
  SmallVector<RankValues, 1> results(op.getNumResults(), RankValues(getNumRanks()));
  for (int64_t rank : active) {
    Evaluation next;
    for (Value operand : op.getOperands())
      next.operands.push_back(get(operand)[rank]);
    Evaluation *same =
        captured.empty()
            ? llvm::find_if(evaluations,
                            [&](const Evaluation &other) {
                              return llvm::all_of_zip(
                                  other.operands, next.operands,
                                  [](const Tensor &a, const Tensor &b) { return a.isSameAs(b); });
                            })
            : evaluations.end();
    if (same == evaluations.end()) {
      if (failed(evalOnRank(op, rank, next.operands, next.results)))
        return failure();
      evaluations.push_back(std::move(next));
      same = &evaluations.back();
    }
    for (auto [all, result] : llvm::zip_equal(results, same->results))
      all[rank] = result;
  }
  for (auto [value, tensors] : llvm::zip_equal(op.getResults(), results))
    set(value, std::move(tensors));
  return success();
}

const Evaluator::LastUses &Evaluator::getLastUses(Block &block) {
  auto [it, isNew] = lastUses.try_emplace(&block);
  if (!isNew)
    return it->second;
  LastUses &uses = it->second;
  auto add = [&](Value value, Operation *last) {
    for (Operation *user : value.getUsers()) {
      Operation *ancestor = block.findAncestorOpInBlock(*user);
      if (!last || last->isBeforeInBlock(ancestor))
        last = ancestor;
    }
    if (last)
      uses[last].push_back(value);
  };
  for (BlockArgument argument : block.getArguments())
    add(argument, nullptr);
  for (Operation &op : block)
    for (Value result : op.getResults())
      add(result, &op);
  return uses;
}

void Evaluator::release(Operation &op) {
  const LastUses &uses = getLastUses(*op.getBlock());
  if (auto it = uses.find(&op); it != uses.end())
    for (Value value : it->second)
      values.erase(value);
}

LogicalResult Evaluator::evalBlock(Block &block, ArrayRef<RankValues> args,
                                   SmallVectorImpl<RankValues> &results) {
  for (auto [argument, tensors] : llvm::zip_equal(block.getArguments(), args))
    set(argument, tensors);
  for (Operation &op : block.without_terminator()) {
    if (failed(evalOp(op)))
      return failure();
    release(op);
  }
  Operation &terminator = *block.getTerminator();
  for (Value operand : terminator.getOperands())
    results.push_back(get(operand));
  release(terminator);
  return success();
}

LogicalResult Evaluator::call(Operation *caller, func::FuncOp callee, ArrayRef<RankValues> args,
                              SmallVectorImpl<RankValues> &results) {
  if (callee.isExternal())
    return withNote(caller->emitError("calls @") << callee.getSymName() << ", which has no body",
                    callee, "the function is here");
  if (llvm::is_contained(callStack, callee))
    return withNote(caller->emitError("calls @") << callee.getSymName() << " recursively", callee,
                    "the function is here");
  callStack.push_back(callee);
  LogicalResult result = evalBlock(callee.front(), args, results);
  callStack.pop_back();
  return result;
}

} // namespace mlir::st::ref
