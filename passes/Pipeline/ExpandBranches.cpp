#include "passes/Pipeline/ExpandBranches.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::st;
using Direction = stablehlo::ComparisonDirection;

/// The loop, which runs only if `predicate` holds.
static void guard(stablehlo::WhileOp loop, Value predicate) {
  Operation *end = loop.getCond().front().getTerminator();
  OpBuilder builder(end);
  end->setOperand(0,
                  stablehlo::AndOp::create(builder, loop.getLoc(), end->getOperand(0), predicate));
}

static void expand(Operation *op) {
  OpBuilder builder(op);
  Emitter emit(builder, op->getBlock(), op->getLoc());
  unsigned last = op->getNumRegions() - 1;
  SmallVector<Value> predicates;
  Value none;
  for (unsigned i = 0; i < last; ++i) {
    Value selector = op->getOperand(0);
    Value taken = isa<stablehlo::IfOp>(op)
                      ? selector
                      : emit.compare(Direction::EQ, selector, emit.splatLike(selector, i));
    predicates.push_back(taken);
    Value isNot = emit.bitXor(taken, emit.splatLike(taken, 1));
    none = none ? emit.bitAnd(none, isNot) : isNot;
  }
  if (!none)
    none = emit.splat(RankedTensorType::get({}, builder.getI1Type()), 1);
  predicates.push_back(none);

  SmallVector<Value> results;
  for (unsigned i = last + 1; i-- > 0;) {
    IRMapping mapping;
    Block &branch = op->getRegion(i).front();
    for (Operation &inner : branch.without_terminator())
      if (auto loop = dyn_cast<stablehlo::WhileOp>(builder.clone(inner, mapping)))
        guard(loop, predicates[i]);
    for (auto [number, yielded] : llvm::enumerate(branch.getTerminator()->getOperands())) {
      Value value = mapping.lookupOrDefault(yielded);
      if (i == last)
        results.push_back(value);
      else
        results[number] = emit.select(predicates[i], value, results[number]);
    }
  }
  op->replaceAllUsesWith(results);
  op->erase();
}

void mlir::st::expandBranches(func::FuncOp function) {
  // Inner ones first, so that none is cloned.
  SmallVector<Operation *> branches;
  function.walk<WalkOrder::PostOrder>([&](Operation *op) {
    if (isa<stablehlo::CaseOp, stablehlo::IfOp>(op))
      branches.push_back(op);
  });
  for (Operation *op : branches) {
    Attribute stage = op->getAttr(kStageAttr);
    Block *block = op->getBlock();
    expand(op);
    for (Operation &other : *block)
      if (stage && !other.hasAttr(kStageAttr) && !other.hasTrait<OpTrait::IsTerminator>())
        other.setAttr(kStageAttr, stage);
  }
}
