// Joins the two kernels of a gradient of attention.
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/attention/JoinedChain.h"
#include "dialects/StableHLO/StableHLOOps.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_JOINCHAINS
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::KernelOp;

namespace {
class JoinChainsPass : public mlir::cuda::impl::JoinChainsBase<JoinChainsPass> {
public:
  void runOnOperation() override;
};
} // namespace

static bool hasReductions(KernelOp chain) {
  return !chain.getBody().front().getOps<stablehlo::ReduceOp>().empty();
}

/// Returns the fused kernel before another one in its block.
static KernelOp findChainBefore(KernelOp chain) {
  for (Operation *op = chain->getPrevNode(); op; op = op->getPrevNode())
    if (auto kernel = dyn_cast<KernelOp>(op); kernel && kernel.getKind() == "chain")
      return kernel;
  return {};
}

void JoinChainsPass::runOnOperation() {
  SmallVector<KernelOp> chains;
  getOperation()->walk([&](KernelOp kernel) {
    if (kernel.getKind() == "chain")
      chains.push_back(kernel);
  });
  for (KernelOp columns : chains) {
    KernelOp rows = findChainBefore(columns);
    if (!rows || rows->getNumResults() != 1 || hasReductions(rows) || hasReductions(columns) ||
        llvm::is_contained(columns.getInputs(), rows->getResult(0)) ||
        !canJoinChains(rows, columns))
      continue;
    if (columns->hasAttr("st.addresses")) {
      columns.emitOpError("has its place in memory: expected join-chains before plan-memory");
      return signalPassFailure();
    }
    KernelOp whole = joinChains(rows, columns);
    rows->replaceAllUsesWith(whole->getResults().take_front(1));
    columns->replaceAllUsesWith(whole->getResults().drop_front(1));
    rows.erase();
    columns.erase();
    ++numJoined;
  }
}
