// Moves equal kernels with small results next to each other, so that one launch can run them.
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/analysis/SimilarKernels.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/St/Interfaces/Shapes.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_GROUPKERNELS
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;
using mlir::st::KernelOp;

/// Results of moved kernels occupy memory until their later users run.
static constexpr int64_t kMaxBytes = 16384;

namespace {
class GroupKernelsPass : public mlir::cuda::impl::GroupKernelsBase<GroupKernelsPass> {
public:
  using GroupKernelsBase::GroupKernelsBase;
  void runOnOperation() override;

private:
  void runOn(Block &block);
};
} // namespace

static int64_t bytesOf(Type type) {
  return isa<RankedTensorType>(type) ? mlir::st::getNumBytes(type) : kMaxBytes + 1;
}

static bool isSmall(KernelOp kernel) {
  int64_t bytes = 0;
  for (Type type : kernel->getResultTypes())
    bytes += bytesOf(type);
  return (kernel.getKind() == "loop" || kernel.getKind() == "reduce") && bytes <= kMaxBytes;
}

static bool areEqual(KernelOp a, KernelOp b) {
  constexpr auto kSameCode = OperationEquivalence::Flags(
      OperationEquivalence::IgnoreLocations | OperationEquivalence::IgnoreDiscardableAttrs);
  return a.getKind() == b.getKind() && a->getOperandTypes() == b->getOperandTypes() &&
         a->getResultTypes() == b->getResultTypes() &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(), kSameCode);
}

/// Returns true if all inputs of a kernel, ignoring reshapes, are computed before `place`.
static bool isReadyBefore(KernelOp kernel, Operation *place) {
  return llvm::all_of(kernel->getOperands(), [&](Value operand) {
    Operation *op = operand.getDefiningOp();
    while (auto reshape = dyn_cast_or_null<stablehlo::ReshapeOp>(op))
      op = reshape.getOperand().getDefiningOp();
    return !op || op->getBlock() != place->getBlock() || op->isBeforeInBlock(place);
  });
}

/// Moves the reshapes that an op reads up with it.
static void moveReshapes(Operation *op) {
  for (Value operand : op->getOperands())
    if (auto reshape = operand.getDefiningOp<stablehlo::ReshapeOp>();
        reshape && reshape->getBlock() == op->getBlock() && op->isBeforeInBlock(reshape)) {
      reshape->moveBefore(op);
      moveReshapes(reshape);
    }
}

void GroupKernelsPass::runOn(Block &block) {
  /// The last one of each set of equal kernels, by hash.
  DenseMap<size_t, SmallVector<KernelOp, 1>> groups;
  for (auto kernel : llvm::make_early_inc_range(block.getOps<KernelOp>())) {
    if (!isSmall(kernel))
      continue;
    auto &bucket = groups[mlir::cuda::hashKernel(kernel)];
    auto last = llvm::find_if(bucket, [&](KernelOp other) { return areEqual(other, kernel); });
    if (last == bucket.end()) {
      bucket.push_back(kernel);
      continue;
    }
    if (kernel->getPrevNode() != *last && isReadyBefore(kernel, *last)) {
      kernel->moveAfter(*last);
      moveReshapes(kernel);
      ++numMoved;
    }
    *last = kernel;
  }
}

void GroupKernelsPass::runOnOperation() {
  getOperation()->walk([&](mlir::st::TaskOp task) { runOn(task.getBody().front()); });
}
