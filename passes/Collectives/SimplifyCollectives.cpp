#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/StDialect.h"
#include "passes/Collectives/Passes.h"

namespace mlir::st {
#define GEN_PASS_DEF_SIMPLIFYCOLLECTIVES
#include "passes/Collectives/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

/// The single-tensor op that defines the operand of `op`, if its result has no other use.
template <typename Op> static Op onlyBefore(Operation *op) {
  auto before = op->getOperand(0).getDefiningOp<Op>();
  return before && before->getNumResults() == 1 && before->hasOneUse() ? before : Op();
}

template <typename A, typename B> static bool isAlongSame(A a, B b) {
  return a.getDim() == b.getDim() && a.getAxes() == b.getAxes() && a.getMesh() == b.getMesh();
}

/// The replacement for a slice or gather together with the collective before it.
static Value simplify(OpBuilder &builder, Operation *op) {
  auto created = [&](Operation *one) {
    one->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    return one->getResult(0);
  };
  if (auto slice = dyn_cast<AllSliceOp>(op)) {
    if (auto sum = onlyBefore<AllReduceOp>(op);
        sum && sum.getAxes() == slice.getAxes() && sum.getMesh() == slice.getMesh())
      return created(ReduceScatterOp::create(builder, sum.getLoc(), slice.getType(),
                                             sum.getInputs().front(), sum.getKind(), slice.getDim(),
                                             slice.getAxes(), slice.getMesh()));
    if (auto gathered = onlyBefore<AllGatherOp>(op); gathered && isAlongSame(gathered, slice))
      return gathered.getInputs().front();
    return nullptr;
  }
  auto gather = dyn_cast<AllGatherOp>(op);
  if (!gather || gather.getNumResults() != 1)
    return nullptr;
  if (auto parts = onlyBefore<ReduceScatterOp>(op); parts && isAlongSame(parts, gather))
    return created(AllReduceOp::create(builder, parts.getLoc(), gather->getResultTypes(),
                                       parts.getInputs(), parts.getKind(), parts.getAxes(),
                                       parts.getMesh()));
  return nullptr;
}

static constexpr FactContract kContract = {{Fact::Mesh, Fact::LocalTypes},
                                           FactSet::from(Fact::Programs)};

namespace {
struct SimplifyCollectives : mlir::st::impl::SimplifyCollectivesBase<SimplifyCollectives> {
  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kContract)))
      return signalPassFailure();
    getOperation().walk([&](Operation *op) {
      OpBuilder builder(op);
      Value value = simplify(builder, op);
      if (!value)
        return;
      Operation *before = op->getOperand(0).getDefiningOp();
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
      before->erase();
      ++simplified;
    });
  }
};
} // namespace
