// Joins the two kernels of a gradient of attention.
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/analysis/SimilarKernels.h"
#include "backends/cuda/codegen/attention/JoinedGradient.h"
#include "backends/cuda/codegen/kernels/KernelParts.h"
#include "dialects/StableHLO/StableHLOOps.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_JOINATTENTIONGRADIENTS
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::KernelOp;

namespace {
class JoinAttentionGradientsPass
    : public mlir::cuda::impl::JoinAttentionGradientsBase<JoinAttentionGradientsPass> {
public:
  void runOnOperation() override;
};
} // namespace

static bool hasReductions(KernelOp kernel) {
  return !kernel.getBody().front().getOps<stablehlo::ReduceOp>().empty();
}

void JoinAttentionGradientsPass::runOnOperation() {
  SmallVector<KernelOp> kernels;
  getOperation()->walk([&](KernelOp kernel) {
    if (kernel.getKind() == "attention")
      kernels.push_back(kernel);
  });
  const mlir::st::ReachingDefinitions definitions(getOperation());
  for (KernelOp columns : kernels) {
    KernelOp rows = findAttentionBefore(columns);
    if (!rows || rows->getNumResults() != 1 || hasReductions(rows) || hasReductions(columns) ||
        llvm::is_contained(columns.getInputs(), rows->getResult(0)) ||
        !canJoinGradientKernels(rows, columns, definitions))
      continue;
    if (failed(checkUnplanned(columns, getArgument())))
      return signalPassFailure();
    KernelOp joined = joinGradientKernels(rows, columns, definitions);
    rows->replaceAllUsesWith(joined->getResults().take_front(1));
    columns->replaceAllUsesWith(joined->getResults().drop_front(1));
    rows.erase();
    columns.erase();
    ++numJoined;
  }
}
