#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Propagation/Passes.h"

namespace mlir::st {
#define GEN_PASS_DEF_EXPANDBRANCHES
#include "passes/Propagation/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;
using Direction = stablehlo::ComparisonDirection;

/// Makes the loop run only if `predicate` holds.
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
    for (Operation &inner : branch.without_terminator()) {
      Operation *copy = builder.clone(inner, mapping);
      if (Attribute block = op->getDiscardableAttr(kBlockAttr); block && !copy->hasAttr(kBlockAttr))
        copy->setDiscardableAttr(kBlockAttr, block);
      if (auto loop = dyn_cast<stablehlo::WhileOp>(copy))
        guard(loop, predicates[i]);
    }
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

static constexpr FactContract kContract = {{}, FactSet::from(Fact::Shardings)};

namespace {
struct ExpandBranches : mlir::st::impl::ExpandBranchesBase<ExpandBranches> {
  using ExpandBranchesBase::ExpandBranchesBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kContract)))
      return signalPassFailure();
    // Inner ones first, so that none is cloned.
    SmallVector<Operation *> branches;
    getOperation().walk<WalkOrder::PostOrder>([&](Operation *op) {
      if (isa<stablehlo::CaseOp, stablehlo::IfOp>(op))
        branches.push_back(op);
    });
    for (Operation *op : branches)
      expand(op);
    expanded += branches.size();
  }
};
} // namespace
