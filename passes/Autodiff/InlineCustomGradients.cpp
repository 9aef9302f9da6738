//===- InlineCustomGradients.cpp - Regions of st.custom_gradient, inlined -===//

#include "dialects/St/IR/ModuleFacts.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Autodiff/CustomGradient.h"
#include "passes/Autodiff/Passes.h"

namespace mlir::st {
#define GEN_PASS_DEF_INLINECUSTOMGRADIENTS
#include "passes/Autodiff/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

SmallVector<Value> st::inlineRegion(OpBuilder &builder, Region &region, ValueRange values) {
  IRMapping mapping;
  Block &block = region.front();
  mapping.map(block.getArguments(), values);
  for (Operation &op : block.without_terminator())
    builder.clone(op, mapping);
  return llvm::map_to_vector(block.getTerminator()->getOperands(),
                             [&](Value value) { return mapping.lookup(value); });
}

SmallVector<Value> st::inlineForward(CustomGradientOp op) {
  OpBuilder builder(op);
  return inlineRegion(builder, op.getForward(), op.getInputs());
}

void st::inlineCustomGradients(ModuleOp module) {
  // Inner ops first, so that copied regions contain none.
  SmallVector<CustomGradientOp> ops;
  module.walk<WalkOrder::PostOrder>([&](CustomGradientOp op) { ops.push_back(op); });
  for (CustomGradientOp op : ops) {
    SmallVector<Value> values = inlineForward(op);
    op->replaceAllUsesWith(ArrayRef(values).take_front(op->getNumResults()));
    op.erase();
  }
}

namespace {
struct InlineCustomGradients : mlir::st::impl::InlineCustomGradientsBase<InlineCustomGradients> {
  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kBeforeLayout)))
      return signalPassFailure();
    inlineCustomGradients(getOperation());
  }
};
} // namespace
