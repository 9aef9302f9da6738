#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "passes/Import/Passes.h"

namespace mlir::st {
#define GEN_PASS_DEF_UNROLLLOOPS
#include "passes/Import/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

static std::optional<int64_t> constantOf(Value value) {
  DenseIntElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || elements.getNumElements() != 1)
    return std::nullopt;
  return (*elements.begin()).getSExtValue();
}

/// The number of times that a loop runs whose condition is `i < N` for a counter that
/// starts at a constant and grows by one.
static std::optional<int64_t> tripCount(stablehlo::WhileOp op) {
  Block &condition = op.getCond().front();
  auto compare = condition.getTerminator()->getOperand(0).getDefiningOp<stablehlo::CompareOp>();
  if (!compare || compare.getComparisonDirection() != stablehlo::ComparisonDirection::LT)
    return std::nullopt;
  auto counter = dyn_cast<BlockArgument>(compare.getLhs());
  if (!counter || counter.getOwner() != &condition)
    return std::nullopt;
  unsigned i = counter.getArgNumber();
  Block &body = op.getBody().front();
  auto next = body.getTerminator()->getOperand(i).getDefiningOp<stablehlo::AddOp>();
  std::optional<int64_t> start = constantOf(op->getOperand(i)), end = constantOf(compare.getRhs());
  if (!next || !start || !end)
    return std::nullopt;
  bool addsOne = (next.getLhs() == body.getArgument(i) && constantOf(next.getRhs()) == 1) ||
                 (next.getRhs() == body.getArgument(i) && constantOf(next.getLhs()) == 1);
  if (!addsOne)
    return std::nullopt;
  return std::max<int64_t>(0, *end - *start);
}

/// Puts the body before the loop, once for each trip.
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

namespace {
struct UnrollLoops : st::impl::UnrollLoopsBase<UnrollLoops> {
  using UnrollLoopsBase::UnrollLoopsBase;

  void runOnOperation() override {
    SmallVector<stablehlo::WhileOp> loops;
    // Inner loops first, so that the size of what is copied is known.
    getOperation().walk<WalkOrder::PostOrder>([&](stablehlo::WhileOp op) { loops.push_back(op); });
    for (stablehlo::WhileOp op : loops) {
      std::optional<int64_t> trips = tripCount(op);
      if (!trips)
        continue;
      int64_t size = 0;
      op.getBody().walk([&](Operation *) { ++size; });
      if (*trips > maxTrips || *trips * size > maxOps)
        continue;
      unroll(op, *trips);
      ++unrolled;
    }
  }
};
} // namespace
