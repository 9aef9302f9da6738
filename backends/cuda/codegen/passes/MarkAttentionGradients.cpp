// Marks gradients of attention that cuDNN may compute.
#include "backends/common/Passes.h"
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/attention/Attention.h"
#include "backends/cuda/codegen/attention/JoinedGradient.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Splat.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_MARKATTENTIONGRADIENTS
#include "backends/cuda/codegen/Passes.h.inc"

#include "mlir/IR/TypeUtilities.h"
} // namespace mlir::cuda

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::KernelOp;

namespace {
class MarkAttentionGradientsPass
    : public mlir::cuda::impl::MarkAttentionGradientsBase<MarkAttentionGradientsPass> {
public:
  void runOnOperation() override;
};
} // namespace

/// Returns true if cuDNN may compute a kernel: its products read 16 bits, and it has no dropout.
static bool mayBeComputedByCudnn(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto products = body.getOps<stablehlo::DotGeneralOp>();
  return !products.empty() && llvm::none_of(products, [](stablehlo::DotGeneralOp dot) {
    return getElementTypeOrSelf(dot.getLhs()).isF32();
  }) && llvm::none_of(body.getOps<stablehlo::SelectOp>(), [](stablehlo::SelectOp select) {
    return mlir::st::getSplat(select.getOnFalse()) == 0.0;
  });
}

void MarkAttentionGradientsPass::runOnOperation() {
  Builder builder(&getContext());
  const mlir::st::ReachingDefinitions definitions(getOperation());
  getOperation()->walk([&](KernelOp rows) {
    if (rows.getKind() != "attention" || rows->hasAttr(kGradientScaleAttr) ||
        !mayBeComputedByCudnn(rows))
      return;
    KernelOp columns;
    for (Operation *user : rows->getUsers())
      if (auto kernel = dyn_cast<KernelOp>(user); kernel && kernel.getKind() == "attention")
        columns = kernel;
    std::string reason;
    FailureOr<Attention> found = failure();
    if (columns)
      found = matchAttentionGradient(rows, columns, reason);
    if (failed(found))
      return;
    ++numMarked;
    if (!canJoinGradientKernels(rows, columns, definitions)) {
      rows->setAttr(mlir::st::kKeepsRowSumsAttr, builder.getUnitAttr());
      return;
    }
    for (KernelOp kernel : {rows, columns})
      kernel->setAttr(kGradientScaleAttr, builder.getF64FloatAttr(found->scale));
  });
}
