#include "passes/Kernels/Lowering/LowerTensorOps.h"
#include "dialects/St/IR/StDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/Kernels/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::st {
#define GEN_PASS_DEF_LOWERTENSOROPS
#include "passes/Kernels/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
struct LowerTensorOps : mlir::st::impl::LowerTensorOpsBase<LowerTensorOps> {
  void runOnOperation() override;
};
} // namespace

/// A transpose that only moves dimensions of size 1 as a reshape, and a transpose of a transpose as
/// one.
static Replacement lowerTranspose(Emitter &emit, stablehlo::TransposeOp op) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(op.getOperand());
  SmallVector<int64_t> large(op.getPermutation());
  llvm::erase_if(large, [&](int64_t dim) { return shape[dim] == 1; });
  if (llvm::is_sorted(large))
    return SmallVector<Value>{emit.reshape(op.getOperand(), Emitter::shapeOf(op.getResult()))};
  auto first = op.getOperand().getDefiningOp<stablehlo::TransposeOp>();
  if (!first)
    return std::nullopt;
  SmallVector<int64_t> order = llvm::map_to_vector(
      op.getPermutation(), [&](int64_t dim) { return first.getPermutation()[dim]; });
  return SmallVector<Value>{emit.transpose(first.getOperand(), order)};
}

static Replacement lower(Emitter &emit, Operation *op) {
  return TypeSwitch<Operation *, Replacement>(op)
      .Case([&](stablehlo::OptimizationBarrierOp barrier) {
        return Replacement(SmallVector<Value>(barrier->getOperands()));
      })
      .Case(
          [&](stablehlo::ConvolutionOp convolution) { return lowerConvolution(emit, convolution); })
      .Case([&](stablehlo::ReduceWindowOp window) { return lowerReduceWindow(emit, window); })
      .Case([&](stablehlo::SelectAndScatterOp pool) { return lowerSelectAndScatter(emit, pool); })
      .Case([&](stablehlo::SortOp sort) { return lowerSort(emit, sort); })
      .Case([&](chlo::TopKOp top) { return lowerTopK(emit, top); })
      .Case([&](stablehlo::ReduceOp reduce) { return lowerReduce(emit, reduce); })
      .Case([&](stablehlo::DynamicSliceOp slice) { return lowerDynamicSlice(emit, slice); })
      .Case([&](stablehlo::DynamicUpdateSliceOp update) {
        return lowerDynamicUpdateSlice(emit, update);
      })
      .Case([&](stablehlo::GatherOp gather) { return lowerGather(emit, gather); })
      .Case([&](stablehlo::ScatterOp scatter) { return lowerScatter(emit, scatter); })
      .Case([&](stablehlo::RngBitGeneratorOp bits) { return lowerRandomBits(emit, bits); })
      .Case([&](stablehlo::DotGeneralOp dot) { return lowerProduct(emit, dot); })
      .Case<stablehlo::BatchNormTrainingOp, stablehlo::BatchNormInferenceOp,
            stablehlo::BatchNormGradOp>([&](Operation *norm) { return lowerBatchNorm(emit, norm); })
      .Case([&](stablehlo::TransposeOp transpose) { return lowerTranspose(emit, transpose); })
      .Case([&](stablehlo::MapOp map) -> Replacement {
        return applyToElements(emit, map.getComputation(), map.getInputs());
      })
      .Default([&](Operation *other) { return lowerElementwise(emit, other); });
}

void LowerTensorOps::runOnOperation() {
  // The result of a lowering may need lowering too. This ends, because no op is lowered to an op of
  // the same form.
  bool changed = true;
  while (changed) {
    changed = false;
    SmallVector<Operation *> ops;
    auto addOps = [&](Block &block) {
      for (Operation &op : block)
        if (op.getNumResults() > 0)
          ops.push_back(&op);
    };
    getOperation().walk([&](Operation *parent) {
      if (isa<TaskOp, LoopOp, func::FuncOp>(parent))
        for (Block &block : parent->getRegion(0))
          addOps(block);
    });
    for (Operation *op : ops) {
      OpBuilder builder(op);
      Emitter emit(builder, op->getBlock(), op->getLoc());
      Replacement replacement = lower(emit, op);
      if (!replacement)
        continue;
      op->replaceAllUsesWith(*replacement);
      op->erase();
      ++numLowered;
      changed = true;
    }
  }
}
