// Moves conversions of 16-bit results of products into the kernels that read them.
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/kernels/KernelParts.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_SINKCONVERSIONS
#include "backends/cuda/codegen/Passes.h.inc"

#include "mlir/IR/TypeUtilities.h"
} // namespace mlir::cuda

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::KernelOp;
namespace hlo = mlir::stablehlo;

namespace {
class SinkConversionsPass : public mlir::cuda::impl::SinkConversionsBase<SinkConversionsPass> {
public:
  void runOnOperation() override;

private:
  LogicalResult sink(KernelOp kernel);
};
} // namespace

/// Returns true if a kernel only converts the floats of its single input to a wider type.
static bool widens(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  if (kernel.getKind() != "loop" || kernel.getInputs().size() != 1 || kernel.getNumResults() != 1 ||
      !llvm::hasSingleElement(body.without_terminator()))
    return false;
  auto convert = dyn_cast<hlo::ConvertOp>(body.front());
  if (!convert || body.getTerminator()->getOperand(0) != convert.getResult())
    return false;
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(convert.getOperand()));
  auto to = dyn_cast<FloatType>(getElementTypeOrSelf(convert.getResult()));
  return from && to && from.getWidth() < to.getWidth();
}

/// Makes a kernel convert one of its inputs itself.
static void convertInside(KernelOp user, unsigned input, Value narrow) {
  Block &body = user.getBody().front();
  BlockArgument argument = body.getArgument(input);
  Type wide = argument.getType();
  argument.setType(narrow.getType());
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  auto convert = hlo::ConvertOp::create(builder, user.getLoc(), wide, argument);
  argument.replaceAllUsesExcept(convert, convert);
  user->setOperand(input, narrow);
}

LogicalResult SinkConversionsPass::sink(KernelOp kernel) {
  if (failed(checkUnplanned(kernel, getArgument())))
    return failure();
  Value narrow = kernel.getInputs()[0];
  for (OpOperand &use : llvm::make_early_inc_range(kernel.getResult(0).getUses()))
    if (auto user = dyn_cast<KernelOp>(use.getOwner());
        user && (user.getKind() == "loop" || user.getKind() == "reduce")) {
      convertInside(user, use.getOperandNumber(), narrow);
      ++numSunk;
    }
  if (kernel.use_empty())
    kernel.erase();
  return success();
}

void SinkConversionsPass::runOnOperation() {
  SmallVector<KernelOp> kernels;
  getOperation()->walk([&](KernelOp kernel) {
    if (widens(kernel))
      kernels.push_back(kernel);
  });
  for (KernelOp kernel : kernels)
    if (failed(sink(kernel)))
      return signalPassFailure();
}
