#include "backends/cuda/codegen/Passes.h"

#include "backends/cuda/IR/CudaDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_CONVERTMATHTOINTRINSICS
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;

namespace {
class ConvertMathToIntrinsicsPass
    : public mlir::cuda::impl::ConvertMathToIntrinsicsBase<ConvertMathToIntrinsicsPass> {
public:
  void runOnOperation() override;
};
} // namespace

static StringRef getIntrinsic(Operation *op) {
  return TypeSwitch<Operation *, StringRef>(op)
      .Case([](cuda::ApproximateOp approximate) {
        return approximate.getFunction() == cuda::Approximation::Exp2
                   ? "llvm.nvvm.ex2.approx.ftz"
                   : "llvm.nvvm.rcp.approx.ftz.f";
      })
      .Case([](math::AbsFOp) { return "llvm.fabs"; })
      .Case([](math::CeilOp) { return "llvm.ceil"; })
      .Case([](math::CopySignOp) { return "llvm.copysign"; })
      .Case([](math::FloorOp) { return "llvm.floor"; })
      .Case([](math::FmaOp) { return "llvm.fma"; })
      .Case([](math::RoundOp) { return "llvm.round"; })
      .Case([](math::RoundEvenOp) { return "llvm.roundeven"; })
      .Case([](math::SqrtOp) { return "llvm.sqrt"; })
      .Default([](Operation *) { return ""; });
}

void ConvertMathToIntrinsicsPass::runOnOperation() {
  getOperation()->walk([](Operation *op) {
    StringRef name = getIntrinsic(op);
    if (name.empty())
      return;
    OpBuilder builder(op);
    auto call = LLVM::CallIntrinsicOp::create(builder, op->getLoc(), op->getResult(0).getType(),
                                              builder.getStringAttr(name), op->getOperands());
    op->replaceAllUsesWith(call);
    op->erase();
  });
}
