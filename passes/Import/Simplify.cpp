#include "dialects/St/IR/ModuleFacts.h"
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
