#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/Utils/CountedLoop.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Import/Passes.h"

namespace mlir::st {
#define GEN_PASS_DEF_UNROLLLOOPS
#include "passes/Import/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

/// Copies the body before the loop, once per trip.
static void unroll(stablehlo::WhileOp op, int64_t trips) {
  Block &body = op.getBody().front();
  SmallVector<Value> values(op->getOperands());
  OpBuilder builder(op);
  for (int64_t i = 0; i < trips; ++i) {
    IRMapping mapping;
    mapping.map(body.getArguments(), values);
    for (Operation &inner : body.without_terminator())
      builder.clone(inner, mapping);
    for (auto [value, yielded] : llvm::zip_equal(values, body.getTerminator()->getOperands()))
      value = mapping.lookupOrDefault(yielded);
  }
  op->replaceAllUsesWith(values);
  op->erase();
}

/// In a loop that is not unrolled, devices do not communicate, so values are replicated.
static void dropInLoop(ConstrainOp op) {
  if (!op->getParentOfType<stablehlo::WhileOp>())
    return;
  op.replaceAllUsesWith(op.getOperand());
  op->erase();
}

namespace {
struct UnrollLoops : mlir::st::impl::UnrollLoopsBase<UnrollLoops> {
  using UnrollLoopsBase::UnrollLoopsBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kBeforeLayout)))
      return signalPassFailure();
    SmallVector<stablehlo::WhileOp> loops;
    // Inner loops first, so that the size of copied bodies is known.
    getOperation().walk<WalkOrder::PostOrder>([&](stablehlo::WhileOp op) { loops.push_back(op); });
    for (stablehlo::WhileOp op : loops) {
      std::optional<CountedLoop> counted = findCountedLoop(op);
      if (!counted)
        continue;
      int64_t trips = counted->trips;
      int64_t size = 0;
      op.getBody().walk([&](Operation *) { ++size; });
      if (trips > maxTrips || trips * size > maxOps)
        continue;
      unroll(op, trips);
      ++unrolled;
    }
    getOperation().walk([](ConstrainOp op) { dropInLoop(op); });
  }
};
} // namespace
