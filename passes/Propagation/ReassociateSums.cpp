#include "passes/Propagation/ReassociateSums.h"
#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::st;

/// Returns true for the result of a product or a lookup, possibly reshaped.
static bool isProduct(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<stablehlo::ReshapeOp, stablehlo::TransposeOp, stablehlo::ConvertOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp, stablehlo::GatherOp>(
      op);
}

/// An addition whose result is only used by another addition.
static bool isInner(stablehlo::AddOp add) {
  return add->hasOneUse() && isa<stablehlo::AddOp>(*add->user_begin());
}

/// The summands of a sum, left to right.
static void collectSummands(stablehlo::AddOp sum, SmallVectorImpl<Value> &summands) {
  SmallVector<Value> worklist = {sum.getRhs(), sum.getLhs()};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (auto add = value.getDefiningOp<stablehlo::AddOp>(); add && isInner(add))
      worklist.append({add.getRhs(), add.getLhs()});
    else
      summands.push_back(value);
  }
}

void mlir::st::reassociateSums(func::FuncOp function) {
  for (auto sum : llvm::make_early_inc_range(function.front().getOps<stablehlo::AddOp>())) {
    if (isInner(sum) || !isa<FloatType>(sum.getType().getElementType()))
      continue;
    SmallVector<Value> summands, products, others;
    collectSummands(sum, summands);
    for (Value summand : summands)
      (isProduct(summand) ? products : others).push_back(summand);
    if (products.size() < 2 || others.empty())
      continue;
    OpBuilder builder(sum);
    Value total = products[0];
    for (Value summand : llvm::concat<Value>(MutableArrayRef(products).drop_front(), others)) {
      auto add = stablehlo::AddOp::create(builder, sum.getLoc(), total, summand);
      add->setDiscardableAttrs(sum->getDiscardableAttrDictionary());
      total = add;
    }
    sum.replaceAllUsesWith(total);
  }
  // Last to first, so that operands of dead sums are erased as well.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isa<stablehlo::AddOp>(op) && op.use_empty())
      op.erase();
}
