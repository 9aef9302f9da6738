//===- ReverseMode.cpp - Reverse-mode differentiation of a block ----------===//

#include "passes/Autodiff/ReverseMode.h"
#include "dialects/St/Interfaces/Notes.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::st;

//===----------------------------------------------------------------------===//
// Dependence on parameters
//===----------------------------------------------------------------------===//

/// Tuples count, so that a gradient through them is refused instead of lost.
static bool canVary(Type type) {
  return isa<FloatType, ComplexType, TupleType>(getElementTypeOrSelf(type));
}

void ReverseMode::mark(Value value) {
  if (canVary(value.getType()))
    varied.insert(value);
}

bool ReverseMode::dependsOnVaried(Operation *op) const {
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  auto isVaried = [&](Value value) { return varied.contains(value); };
  return llvm::any_of(op->getOperands(), isVaried) || llvm::any_of(captured, isVaried);
}

/// A loop carries a dependence from each trip to the next.
void ReverseMode::markLoop(stablehlo::WhileOp op) {
  Block &body = op.getBody().front();
  for (size_t before = varied.size() + 1; before != varied.size();) {
    before = varied.size();
    for (auto [operand, carry, yielded, result] :
         llvm::zip_equal(op->getOperands(), body.getArguments(),
                         body.getTerminator()->getOperands(), op->getResults())) {
      if (!isVaried(operand) && !isVaried(yielded))
        continue;
      mark(carry);
      mark(result);
    }
    markBlock(body);
  }
}

void ReverseMode::markBranches(Operation *op) {
  for (Region &region : op->getRegions()) {
    markBlock(region.front());
    for (auto [yielded, result] :
         llvm::zip_equal(region.front().getTerminator()->getOperands(), op->getResults()))
      if (isVaried(yielded))
        mark(result);
  }
}

void ReverseMode::markOp(Operation *op) {
  if (rules.isZero(op) || op->hasAttr(kStopGradientAttr))
    return;
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
    return markLoop(loop);
  if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op))
    return markBranches(op);
  if (dependsOnVaried(op))
    for (Value result : op->getResults())
      mark(result);
}

void ReverseMode::markBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    markOp(&op);
}

void ReverseMode::mark(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    markOp(op);
}

ReverseMode::ReverseMode(Block &block, ValueRange parameters) {
  varied.insert(parameters.begin(), parameters.end());
  markBlock(block);
}

//===----------------------------------------------------------------------===//
// Backwards
//===----------------------------------------------------------------------===//

/// Names a backward op after the forward op it comes from, as JAX does.
static Location transposedLoc(Location loc) {
  auto *context = loc.getContext();
  if (auto named = dyn_cast<NameLoc>(loc))
    return NameLoc::get(StringAttr::get(context, "transpose(" + named.getName().getValue() + ")"),
                        named.getChildLoc());
  return NameLoc::get(StringAttr::get(context, "transpose"), loc);
}

LogicalResult ReverseMode::propagate(Operation *op, Gradients &gradients) {
  gradients.emit.loc = transposedLoc(op->getLoc());
  SmallVector<Value> cotangents;
  for (Value result : op->getResults())
    cotangents.push_back(gradients.take(result));
  if (llvm::all_of(cotangents, [](Value ct) { return !ct; }))
    return success();
  auto complex = llvm::find_if(op->getOperands(), [&](Value operand) {
    return isVaried(operand) && isa<ComplexType>(getElementTypeOrSelf(operand.getType()));
  });
  if (complex != op->operand_end() && !rules.supportsComplex(op))
    return withNote(
        op->emitOpError("has a complex operand, and the loss depends on a parameter through it; "
                        "expected real ones"),
        *complex, "the operand is defined here");
  const GradientRules::Rule *rule = rules.lookup(op);
  if (!rule) {
    InFlightDiagnostic diagnostic =
        op->emitOpError("has no gradient rule, and the loss depends on a parameter through it");
    for (Value operand : op->getOperands())
      if (isVaried(operand))
        return withNote(std::move(diagnostic), operand,
                        "an operand that depends on a parameter is defined here");
    return diagnostic;
  }
  return (*rule)(op, cotangents, gradients);
}

LogicalResult ReverseMode::propagate(ArrayRef<Operation *> forward, Gradients &gradients) {
  for (Operation *op : llvm::reverse(forward))
    if (failed(propagate(op, gradients)))
      return failure();
  return success();
}

void ReverseMode::replace(Operation *op, ValueRange results) {
  for (auto [from, to] : llvm::zip(op->getResults(), results)) {
    if (varied.erase(from))
      varied.insert(to);
    from.replaceAllUsesWith(to);
  }
  op->erase();
}

LogicalResult ReverseMode::expand(Operation *op, ArrayRef<Value> cotangents, Gradients &gradients,
                                  function_ref<SmallVector<Value>(Emitter &)> make) {
  OpBuilder builder(op);
  Emitter emit(builder, op->getBlock(), op->getLoc());
  Operation *before = op->getPrevNode();
  SmallVector<Value> results = make(emit);
  SmallVector<Operation *> emitted;
  Operation *first = before ? before->getNextNode() : &op->getBlock()->front();
  for (Operation *next = first; next != op; next = next->getNextNode())
    emitted.push_back(next);
  mark(emitted);
  for (auto [result, ct] : llvm::zip_equal(results, cotangents))
    if (ct)
      gradients.add(result, ct);
  // Unlike in replace, results of the op that varied need not vary now.
  for (Value result : op->getResults())
    varied.erase(result);
  op->replaceAllUsesWith(results);
  op->erase();
  return propagate(emitted, gradients);
}

SmallVector<Operation *> st::opsOf(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  return ops;
}

FailureOr<SmallVector<Value>> st::emitGradients(Block &block, Value loss, ValueRange parameters) {
  OpBuilder builder = OpBuilder::atBlockTerminator(&block);
  Emitter emit(builder, &block, builder.getUnknownLoc());
  ReverseMode mode(block, parameters);
  Gradients gradients(emit, mode);
  SmallVector<Operation *> forward = opsOf(block);
  gradients.add(loss, [&] { return emit.splatLike(loss, 1.0); });
  if (failed(mode.propagate(forward, gradients)))
    return failure();

  SmallVector<Value> results;
  for (Value parameter : parameters) {
    emit.loc = transposedLoc(parameter.getLoc());
    Value gradient = gradients.take(parameter);
    results.push_back(gradient ? gradient : emit.zerosLike(parameter));
  }
  return results;
}
