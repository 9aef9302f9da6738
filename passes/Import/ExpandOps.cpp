#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Import/Passes.h"
#include "passes/Import/PatchConvolution.h"

namespace mlir::st {
#define GEN_PASS_DEF_EXPANDOPS
#include "passes/Import/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

static LogicalResult expandComposite(stablehlo::CompositeOp op) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getDecompositionAttr());
  if (!callee || callee.isExternal())
    return op.emitOpError("has no decomposition @") << op.getDecomposition() << " with a body";
  OpBuilder builder(op);
  auto call = func::CallOp::create(builder, op.getLoc(), callee, op.getInputs());
  op->replaceAllUsesWith(call.getResults());
  op->erase();
  return success();
}

/// The op in terms of others; null where it stays.
static Value expand(Emitter &emit, Operation *op) {
  if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op))
    return emitPatchConvolution(emit, convolution);
  if (isa<chlo::SquareOp>(op))
    return emit.mul(op->getOperand(0), op->getOperand(0));
  if (isa<chlo::ErfcOp>(op))
    return emit.sub(emit.splatLike(op->getOperand(0), 1.0), emit.erf(op->getOperand(0)));
  return nullptr;
}

namespace {
struct ExpandOps : st::impl::ExpandOpsBase<ExpandOps> {
  using ExpandOpsBase::ExpandOpsBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<stablehlo::CompositeOp, stablehlo::ConvolutionOp, chlo::ErfcOp, chlo::SquareOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (auto composite = dyn_cast<stablehlo::CompositeOp>(op)) {
        if (failed(expandComposite(composite)))
          return signalPassFailure();
        ++expanded;
        continue;
      }
      OpBuilder builder(op);
      Emitter emit(builder, op->getBlock(), op->getLoc());
      Value replacement = expand(emit, op);
      if (!replacement)
        continue;
      op->replaceAllUsesWith(ValueRange{replacement});
      op->erase();
      ++expanded;
    }
  }
};
} // namespace
