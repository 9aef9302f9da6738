//===- BranchRules.cpp - Gradients of if and case -------------------------===//
//
// The backward op selects by the same operand. Its branches return the cotangents of the values
// that the forward branches capture. Values that a backward branch needs from its forward branch
// become further results of the forward op.
//
//===----------------------------------------------------------------------===//

#include "mlir/Transforms/RegionUtils.h"
#include "passes/Autodiff/Residuals.h"
#include "passes/Autodiff/ReverseMode.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

/// Emits the backward ops of a branch, and the cotangents of `captured` as its results.
static LogicalResult emitBranch(Block &forward, Block *block, ArrayRef<Value> cts,
                                ArrayRef<Value> captured, Gradients &g) {
  Emitter emit(g.emit.builder, block, g.emit.loc);
  Gradients inner(emit, g.mode);
  for (auto [yielded, ct] : llvm::zip_equal(forward.getTerminator()->getOperands(), cts))
    if (ct)
      inner.add(yielded, ct);
  if (failed(g.mode.propagate(opsOf(forward), inner)))
    return failure();
  SmallVector<Value> results;
  for (Value value : captured) {
    Value ct = inner.take(value);
    results.push_back(ct ? ct : emit.zerosLike(value));
  }
  ReturnOp::create(emit.builder, emit.loc, results);
  return success();
}

/// An op like `op` of other results, without its regions.
static Operation *createLike(OpBuilder &builder, Location loc, Operation *op, TypeRange types) {
  OperationState state(loc, op->getName(), op->getOperands(), types);
  for (unsigned i = 0; i < op->getNumRegions(); ++i)
    state.addRegion();
  return builder.create(state);
}

/// Adds to the results of `op` the values that each branch saved; those of the other
/// branches are zero there. Returns the new op, whose last results they are.
static Operation *saveResults(Operation *op, ArrayRef<SmallVector<Value>> saved,
                              ReverseMode &mode) {
  SmallVector<Type> types(op->getResultTypes());
  for (ArrayRef<Value> values : saved)
    llvm::append_range(types, ValueRange(values).getTypes());
  OpBuilder builder(op);
  Operation *extended = createLike(builder, op->getLoc(), op, types);
  extended->setAttrs(op->getAttrs());
  for (auto [i, region] : llvm::enumerate(op->getRegions())) {
    extended->getRegion(i).takeBody(region);
    Block &block = extended->getRegion(i).front();
    Operation *end = block.getTerminator();
    builder.setInsertionPoint(end);
    Emitter emit(builder, &block, op->getLoc());
    for (auto [owner, values] : llvm::enumerate(saved))
      for (Value value : values)
        end->insertOperands(end->getNumOperands(), owner == i ? value : emit.zerosLike(value));
  }
  mode.replace(op, extended->getResults().take_front(op->getNumResults()));
  return extended;
}

static LogicalResult branchRule(Operation *op, ArrayRef<Value> cts, Gradients &g) {
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  SmallVector<Value> wanted =
      llvm::filter_to_vector(captured, [&](Value value) { return g.isNeeded(value); });

  OpBuilder &builder = g.emit.builder;
  Operation *backward = createLike(builder, g.emit.loc, op, ValueRange(wanted).getTypes());
  SmallVector<Residuals> residuals;
  SmallVector<SmallVector<Value>> saved;
  for (auto [region, reversed] : llvm::zip_equal(op->getRegions(), backward->getRegions())) {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&reversed);
    if (failed(emitBranch(region.front(), block, cts, wanted, g)))
      return failure();
    residuals.emplace_back(region.front(), *block, IRMapping());
    saved.emplace_back(residuals.back().saved());
  }

  Operation *extended = saveResults(op, saved, g.mode);
  unsigned next = extended->getNumResults();
  for (ArrayRef<Value> values : saved)
    next -= values.size();
  for (auto [residual, reversed] : llvm::zip_equal(residuals, backward->getRegions())) {
    SmallVector<Value> loaded(extended->getResults().slice(next, residual.saved().size()));
    next += loaded.size();
    OpBuilder start = OpBuilder::atBlockBegin(&reversed.front());
    residual.replace(start, loaded);
  }
  for (auto [value, ct] : llvm::zip_equal(wanted, backward->getResults()))
    g.add(value, ct);
  return success();
}

static LogicalResult ifRule(IfOp op, ArrayRef<Value> cts, Gradients &g) {
  return branchRule(op, cts, g);
}
static LogicalResult caseRule(CaseOp op, ArrayRef<Value> cts, Gradients &g) {
  return branchRule(op, cts, g);
}

void st::populateBranchRules(GradientRules &rules) {
  rules.addChecked<IfOp>(ifRule);
  rules.addChecked<CaseOp>(caseRule);
}
