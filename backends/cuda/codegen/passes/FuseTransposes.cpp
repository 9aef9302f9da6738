// Fused attention-like kernels write results in the order of dimensions in which they are read.
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/kernels/KernelParts.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_FUSETRANSPOSES
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::KernelOp;
namespace hlo = mlir::stablehlo;

namespace {
class FuseTransposesPass : public mlir::cuda::impl::FuseTransposesBase<FuseTransposesPass> {
public:
  void runOnOperation() override;

private:
  LogicalResult fuse(KernelOp kernel);
};
} // namespace

/// Returns the transpose of a kernel that only transposes its single input.
static hlo::TransposeOp getTranspose(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  if (kernel.getKind() != "copy" || kernel.getInputs().size() != 1 ||
      !llvm::hasSingleElement(body.without_terminator()))
    return {};
  auto transpose = dyn_cast<hlo::TransposeOp>(body.front());
  return transpose && body.getTerminator()->getOperands() == transpose->getResults()
             ? transpose
             : hlo::TransposeOp();
}

LogicalResult FuseTransposesPass::fuse(KernelOp kernel) {
  Operation *yield = kernel.getBody().front().getTerminator();
  for (OpResult result : kernel.getResults()) {
    const unsigned number = result.getResultNumber();
    Value yielded = yield->getOperand(number);
    auto user = result.hasOneUse() ? dyn_cast<KernelOp>(*result.user_begin()) : KernelOp();
    auto transpose = user ? getTranspose(user) : hlo::TransposeOp();
    if (!transpose || !yielded.getDefiningOp<hlo::DotGeneralOp>() || !yielded.hasOneUse())
      continue;
    if (failed(checkUnplanned(kernel, getArgument())))
      return failure();
    OpBuilder builder(yield);
    auto transposed = hlo::TransposeOp::create(builder, transpose.getLoc(), transpose.getType(),
                                               yielded, transpose.getPermutationAttr());
    yield->setOperand(number, transposed);
    result.setType(transposed.getType());
    user.getResult(0).replaceAllUsesWith(result);
    user.erase();
    ++numFused;
  }
  return success();
}

void FuseTransposesPass::runOnOperation() {
  SmallVector<KernelOp> kernels;
  getOperation()->walk([&](KernelOp kernel) {
    if (kernel.getKind() == "attention")
      kernels.push_back(kernel);
  });
  for (KernelOp kernel : kernels)
    if (failed(fuse(kernel)))
      return signalPassFailure();
}
