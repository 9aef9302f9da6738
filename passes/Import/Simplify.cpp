#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Import/Passes.h"

namespace mlir::st {
#define GEN_PASS_DEF_SIMPLIFY
#include "passes/Import/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

static bool isEmpty(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 0;
}

/// Replaces ops whose results have no elements. A constraint keeps its sharding.
static void replaceEmptyResults(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (op->getNumResults() > 0 && llvm::all_of(op->getResultTypes(), isEmpty) &&
        isMemoryEffectFree(op) && !op->hasTrait<OpTrait::ConstantLike>() && !isa<ConstrainOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder builder(op);
    for (OpResult result : op->getResults())
      result.replaceAllUsesWith(stablehlo::ConstantOp::create(
          builder, op->getLoc(),
          DenseElementsAttr::get(cast<ShapedType>(result.getType()), ArrayRef<Attribute>())));
  }
}

namespace {
struct Simplify : mlir::st::impl::SimplifyBase<Simplify> {
  using SimplifyBase::SimplifyBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kBeforeLayout)))
      return signalPassFailure();
    OpPassManager inlining(ModuleOp::getOperationName());
    inlining.addPass(createInlineCalls());
    inlining.addPass(createSymbolDCEPass());
    OpPassManager round(ModuleOp::getOperationName());
    round.addPass(createCanonicalizerPass());
    round.addPass(createCSEPass());
    round.addPass(createRemoveDeadState());
    if (failed(runPipeline(inlining, getOperation())))
      return signalPassFailure();
    replaceEmptyResults(getOperation());
    // Values that CSE merges may fold again; in practice two or three rounds suffice.
    constexpr int maxRounds = 16;
    OperationFingerPrint before(getOperation());
    for (int i = 0; i < maxRounds; ++i) {
      if (failed(runPipeline(round, getOperation())))
        return signalPassFailure();
      OperationFingerPrint after(getOperation());
      if (after == before)
        return;
      before = after;
    }
  }
};
} // namespace
