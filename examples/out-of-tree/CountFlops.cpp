//===- CountFlops.cpp - The pass example-count-flops ----------------------===//
//
// Remarks how many floating-point operations each matrix product of a module takes.
//
//===----------------------------------------------------------------------===//

#include "CountFlops.h"

#include "dialects/StableHLO/StableHLOOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

/// A multiplication and an addition for each element of the result and each contracted element.
static int64_t countFlops(stablehlo::DotGeneralOp op) {
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  int64_t flops = 2 * cast<RankedTensorType>(op.getType()).getNumElements();
  for (int64_t dimension : op.getDotDimensionNumbers().getLhsContractingDimensions())
    flops *= lhs.getDimSize(dimension);
  return flops;
}

namespace {
struct CountFlops : PassWrapper<CountFlops, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CountFlops)

  StringRef getArgument() const override { return "example-count-flops"; }
  StringRef getDescription() const override { return "Remarks the work of each matrix product"; }

  void runOnOperation() override {
    getOperation().walk([](stablehlo::DotGeneralOp op) {
      op.emitRemark() << "takes " << countFlops(op) << " floating-point operations";
    });
  }
};
} // namespace

void registerCountFlops() { PassRegistration<CountFlops>(); }
